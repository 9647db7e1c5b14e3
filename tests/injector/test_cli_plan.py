"""A whole plan from a file on the command line: what the site has runs at the keyboard."""

import json
from argparse import ArgumentParser

import pytest

from tests.injector.servers import OK_REPLY, always, scripted
from tests.values import plan_spec
from workers.injector import cli, cli_plan
from workers.injector.cli_tls import add_tls_options
from workers.injector.local_run import shared_orders

pytestmark = pytest.mark.pure


@pytest.fixture
def plan_file(tmp_path):
    """A file with such a plan."""

    def write(**given):
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(plan_spec() | given))
        return str(path)

    return write


def order_of(*arguments):
    return cli.make_order(cli.make_parser().parse_args(arguments))


def refusal(capsys, *arguments):
    assert cli.main(list(arguments)) == cli.REFUSED
    return capsys.readouterr().err


ADDRESS = "http://127.0.0.1:1/"
CLOSED = {"model": "closed", "connections": 2, "requests": 9}


@pytest.mark.sockets
def test_the_plan_is_sent_as_it_stands(plan_file):
    steps = [{"method": "GET", "path": f"/{name}"} for name in "abc"]
    with scripted(always(OK_REPLY)) as server:
        address = f"http://127.0.0.1:{server.port}/"
        cli.main([address, "--plan", plan_file(steps=steps, load=CLOSED)])
    assert server.n_requests == 9
    assert {request.split()[1] for request in server.requests} == {b"/a", b"/b", b"/c"}


def test_connections_are_those_of_the_plan_unless_an_option_says_otherwise(plan_file):
    plan = plan_file(load=CLOSED, connection_mode="new")
    assert order_of(ADDRESS, "--plan", plan)["connection_mode"] == "new"
    assert order_of(ADDRESS, "--plan", plan, "--keep-alive")["connection_mode"] == "keep-alive"


def test_a_load_of_each_injector_is_one_of_each_process(plan_file):
    plan = plan_file(load=CLOSED | {"per_injector": True})
    load = order_of(ADDRESS, "--plan", plan, "--processes", "3")["plan"]["load"]
    assert (load["connections"], load["requests"]) == (6, 27)


def test_credentials_of_a_plan_need_their_secret(plan_file, tmp_path, capsys):
    plan = plan_file(load=CLOSED, auth={"kind": "bearer"})
    assert "--secret-file" in refusal(capsys, ADDRESS, "--plan", plan)
    secret = tmp_path / "token"
    secret.write_text("abc")
    order = order_of(ADDRESS, "--plan", plan, "--secret-file", str(secret))
    assert order["secrets"] == {"auth": "abc"}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--rate=5", "--rate: --plan says that"),
        ("--step=/b", "--step: --plan says that"),
        ("--threshold=p95<1s", "--threshold: --plan says that"),
        ("--calls-per-session=3", "--calls-per-session: --plan says that"),
        ("--warm-up=3", "--warm-up: --plan says that"),
        ("--messages=3", "--messages: --plan says that"),
    ],
)
def test_nothing_else_may_say_what_the_plan_says(option, words, plan_file, capsys):
    assert words in refusal(capsys, ADDRESS, "--plan", plan_file(load=CLOSED), option)


def test_every_option_of_tls_may_stand_beside_a_plan():
    options = ArgumentParser(add_help=False)
    add_tls_options(options)
    assert vars(options.parse_args([])).keys() <= cli_plan._BESIDE_A_PLAN


def test_every_fault_of_a_plan_has_its_line(plan_file, capsys):
    plan = plan_file(load={"model": "open"}, http_version="3")
    said = refusal(capsys, ADDRESS, "--plan", plan)
    assert "--plan: http_version: " in said
    assert "--plan: load." in said
    assert all(": --plan: " in line for line in said.splitlines())


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"plan": 1}', "[" * 100_000])
def test_what_is_no_plan_is_refused(text, tmp_path, capsys):
    path = tmp_path / "plan.json"
    path.write_text(text)
    assert "--plan: " in refusal(capsys, ADDRESS, "--plan", str(path))


SHARED = {"model": "open", "rate_per_s": 5, "requests": 40, "shares": [2, 1, 1]}


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        (["--processes", "3"], [2, 1, 1]),
        (["--processes", "2", "--shares", "3,1"], [3, 1]),
    ],
)
def test_the_shares_are_the_plan_s_unless_said_otherwise(plan_file, options, weights):
    order = order_of(ADDRESS, "--plan", plan_file(load=SHARED), *options)
    shards = [each["shard"] for each in shared_orders(order, len(weights))]
    assert [shard["weights"] for shard in shards] == [weights] * len(weights)


def test_shares_for_another_number_of_processes_are_refused(capsys, plan_file):
    said = refusal(capsys, ADDRESS, "--plan", plan_file(load=SHARED), "--processes", "2")
    assert "--plan has shares for 3 processes" in said

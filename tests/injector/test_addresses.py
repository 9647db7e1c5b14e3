"""Load over all addresses of a name: connections in turns, and figures for each address."""

import contextlib

import pytest

from campaigns.domain.metrics.injector_end import totals_by_peer
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.turns import why_not_in_turns
from tests.injector.http2.h2_server import h2_server
from tests.injector.servers import OK_REPLY, after, always, closed, make_order, measure, scripted
from tests.injector.websocket.peers import echo
from tests.injector.websocket.peers import measure as measure_websocket
from workers.injector import guard
from workers.injector.order import Refusal
from workers.injector.summary import run_here

NAME = "shop.example"
ALL = {"resolve": "all_addresses"}
ADDRESSES = ["127.0.0.1", "127.0.0.2", "::1"]
NETWORKS = ["127.0.0.0/8", "::1/128"]


@pytest.fixture
def name_server(monkeypatch):
    def answer(*addresses):
        monkeypatch.setattr(guard, "look_up", lambda host, port: list(addresses))

    answer(*ADDRESSES)
    return answer


@contextlib.contextmanager
def three_servers(slow=0.002):
    """One at each address, on one port; the second takes so long to answer."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(scripted(after(0.002)))
        second = stack.enter_context(scripted(after(slow), address=ADDRESSES[1], port=first.port))
        third = stack.enter_context(scripted(after(0.002), address="::1", port=first.port))
        yield first, second, third


def spread(port, **fields):
    plan = {**ALL, **fields.pop("plan", {})}
    return measure(port, host=NAME, allow=NETWORKS, plan=plan, **fields)


def by_address(result):
    """The totals of the addresses in their order."""
    totals = totals_by_peer(result.ends)
    port = next(iter(totals)).rpartition(":")[2]
    peers = [f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for each in ADDRESSES]
    return [totals[each] for each in peers]


def test_connections_go_round_the_addresses_and_each_has_its_figures(name_server):
    for plan in [{}, {"session": {"cookies": True}}, {"redirects": "same_origin"}]:
        for mode in ["keep-alive", "new"]:
            with three_servers() as servers:
                load = {"model": "closed", "connections": 3, "duration_s": 0.5}
                result = spread(servers[0].port, load=load, mode=mode, plan=plan)
            totals = by_address(result)
            assert [each.count("ok") for each in totals] == [each.n_requests for each in servers]
            assert all(each.n_connections >= 1 for each in servers)
            assert sum(each.count("ok") for each in totals) == result.total.count("ok")
            whole = sum(each.timing("response").sum_us for each in totals)
            assert whole == result.total.timing("response").sum_us


def test_a_slow_address_is_told_apart(name_server):
    load = {"model": "open", "rate_per_s": 150, "requests": 90}
    with three_servers(slow=0.05) as servers:
        result = spread(servers[0].port, load=load, mode="new")
    medians = [each.timing("response").percentile_us(50_000) for each in by_address(result)]
    assert medians[1] > 50_000 > max(medians[0], medians[2])
    (note,) = (each for each in result.judgement.notes if each.code == "address_slow")
    assert note.text.startswith(f"127.0.0.2:{servers[0].port} against ")
    assert "by address" in result.report("plain", make_order(1))


def test_an_address_that_refuses_has_its_own_failures(name_server):
    with scripted(always(OK_REPLY)) as server:
        name_server("127.0.0.1", "127.0.0.2")
        result = spread(server.port, load=closed(60), mode="new")
    totals = totals_by_peer(result.ends)
    ok, other = (totals[f"127.0.0.{n}:{server.port}"] for n in (1, 2))
    assert (ok.count("ok"), ok.errors) == (30, {})
    assert (other.count("ok"), other.errors) == (0, {"connect_refused": 30})
    assert [each.code for each in result.judgement.notes if "address" in each.code] == [
        "address_failing"
    ]


def test_the_warm_up_is_in_no_figure_of_an_address(name_server):
    load = {"model": "open", "rate_per_s": 30, "duration_s": 1}
    with three_servers() as servers:
        result = spread(servers[0].port, load=load, mode="new", warm_up_s=1)
    assert sum(each.count("ok") for each in by_address(result)) == 30


def test_one_bad_address_among_good_ones_refuses_the_load(name_server):
    name_server("127.0.0.1", "169.254.169.254")
    order = make_order(8080, host=NAME, plan=ALL, allow=NETWORKS)
    with pytest.raises(Refusal) as refusal:
        run_here(order, lambda second: None)
    assert refusal.value.kind == "address_refused"


def test_a_single_address_needs_no_figures_of_its_own(name_server):
    name_server("127.0.0.1")
    with scripted(always(OK_REPLY)) as server:
        (end,) = spread(server.port, load=closed(3)).ends
    assert (end.by_peer, end.peers) == ({}, {f"127.0.0.1:{server.port}": 1})


def test_shards_begin_at_different_addresses(name_server):
    with three_servers() as servers:
        for index in range(3):
            order = {"shard": {"index": index, "count": 3}}
            spread(servers[0].port, load=closed(3, 3), **order)
    assert [each.n_connections for each in servers] == [1, 1, 1]


def test_streams_of_http_2_are_of_the_address_of_their_connection(name_server):
    name_server(*ADDRESSES[:2])
    plan = {**ALL, "http_version": "2", "streams": 4}
    load = {"model": "closed", "connections": 2, "requests": 80}
    with h2_server() as (server, first), contextlib.ExitStack() as stack:
        second = stack.enter_context(h2_server(address="127.0.0.2", port=server.port))[1]
        result = spread(server.port, load=load, plan=plan)
    totals = totals_by_peer(result.ends)
    counts = [totals[f"127.0.0.{n}:{server.port}"].count("ok") for n in (1, 2)]
    assert counts == [first.n_requests, second.n_requests]
    assert min(counts) > 0


def test_pipelined_requests_are_of_the_address_of_their_connection(name_server):
    with three_servers() as servers:
        plan = {"session": {"pipeline_depth": 4}}
        result = spread(servers[0].port, load=closed(90, 3), plan=plan)
    assert [each.count("ok") for each in by_address(result)] == [
        each.n_requests for each in servers
    ]


def test_websockets_go_round_the_addresses(name_server):
    name_server(*ADDRESSES[:2])
    with scripted(echo()) as first, scripted(echo(), address="127.0.0.2", port=first.port):
        result = measure_websocket(
            first.port, closed(6), {"messages": 1}, host=NAME, plan=ALL, allow=NETWORKS
        )
    totals = totals_by_peer(result.ends)
    assert {peer: each.count("ok") for peer, each in totals.items()} == {
        f"127.0.0.{n}:{first.port}": 3 for n in (1, 2)
    }


def test_arms_over_all_addresses_take_no_turns():
    """With kept connections one arm could go to another address than the other."""
    load = {"model": "open", "rate_per_s": 9, "requests": 9}
    order = make_order(80, host=NAME, plan=ALL, load=load)
    assert "addresses" in why_not_in_turns(Plan.from_json(order["plan"]))

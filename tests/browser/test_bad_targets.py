"""Targets that refuse, hang, reset or talk nonsense end as counted errors on a finished run."""

import socket

import pytest

EXPECTED = {
    "/fault/reset": {"reset"},
    "/fault/hang": {"first_byte_timeout"},
    "/fault/garbage": {"http_parse"},
    "/fault/half-body": {"eof_mid_body"},
    "/fault/two-lengths": {"http_parse"},
    "/?status=503": {"status_unexpected"},
}
REFUSED = "connect_refused"


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def campaign(site, new_project):
    """One run against each kind of bad target, all in one campaign."""
    rest = new_project()
    (good,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    (dead,) = rest.make_target(
        "dead", {"scheme": "http", "host": "127.0.0.1", "port": unused_port()}
    )
    load = {"model": "over", "requests": 10, "over_s": 0.5}
    plans = {rest.make_plan(path, path, **load): path for path in EXPECTED}
    refused = rest.make_plan("refused", **load)
    cells = [(plan, good) for plan in plans] + [(refused, dead)]
    number = rest.start("Every way to fail", *cells, keeps_going=True)
    runs = rest.wait_for_state(number, "done", 60)
    return rest, number, [(plans.get(run["plan"], "refused"), run) for run in runs]


def test_every_run_ends_complete_with_all_requests_counted_by_kind(campaign):
    rest, _, runs = campaign
    assert len(runs) == len(EXPECTED) + 1
    for path, run in runs:
        seconds = rest.get(f"runs/{run['id']}/seconds/")["results"]
        kinds = {kind for second in seconds for kind in second["errors"]}
        assert run["outcome"] == "complete", (path, run["reason"])
        assert kinds == EXPECTED.get(path, {REFUSED}), path
        counted = sum(sum(second["errors"].values()) for second in seconds)
        assert counted == 10, path


def test_the_pages_name_the_errors_in_words(campaign, signed_in):
    _, number, runs = campaign
    signed_in.goto(f"/campaigns/{number}/")
    signed_in.get_by_text("Run again").wait_for()
    refused = dict(runs)["refused"]
    signed_in.goto(f"/runs/{refused['id']}/")
    errors = signed_in.locator("[data-table=errors]").inner_text()
    assert "connection refused" in errors.lower()
    assert "10" in errors

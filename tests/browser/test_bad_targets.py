"""Targets that refuse, hang, reset or talk nonsense end as counted errors on a finished run."""

import socket
from collections import Counter, defaultdict

import pytest

# A step for each kind of bad target, and the kind of error that it is counted as.
EXPECTED = {
    "/fault/reset": "reset",
    "/fault/hang": "first_byte_timeout",
    "/fault/garbage": "http_parse",
    "/fault/half-body": "eof_mid_body",
    "/fault/two-lengths": "http_parse",
    "/?status=503": "status_unexpected",
}
REFUSED = "connect_refused"
EACH = 10


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def campaign(site, new_project):
    """A run whose every step finds another bad target, and one to a closed port."""
    rest = new_project()
    (good,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    (dead,) = rest.make_target(
        "dead", {"scheme": "http", "host": "127.0.0.1", "port": unused_port()}
    )
    every = rest.make_plan(
        "every way", *EXPECTED, model="over", requests=EACH * len(EXPECTED), over_s=1
    )
    refused = rest.make_plan("refused", model="over", requests=EACH, over_s=0.5)
    number = rest.start("Every way to fail", (every, good), (refused, dead), keeps_going=True)
    runs = rest.wait_for_state(number, "done", 60)
    return rest, number, {run["plan"]: run for run in runs}, every, refused


def test_the_runs_end_complete_with_all_requests_counted_by_kind(campaign):
    rest, _, runs, every, refused = campaign
    assert {run["outcome"] for run in runs.values()} == {"complete"}
    kinds = [Counter({kind: EACH}) for kind in EXPECTED.values()]
    assert errors_by_step(rest, runs[every]) == dict(enumerate(kinds))
    assert errors_by_step(rest, runs[refused]) == {0: Counter({REFUSED: EACH})}


def errors_by_step(rest, run: dict) -> dict[int, Counter]:
    found = defaultdict(Counter)
    for second in rest.get(f"runs/{run['id']}/seconds/?page_size=500")["results"]:
        found[second["step"]].update(second["errors"])
    return dict(found)


def test_the_pages_name_the_errors_in_words(campaign, signed_in):
    _, number, runs, _, refused = campaign
    signed_in.goto(f"/campaigns/{number}/")
    signed_in.get_by_role("button", name="Run again").wait_for()
    signed_in.goto(f"/runs/{runs[refused]['id']}/")
    errors = signed_in.locator("[data-table=errors]").inner_text()
    assert "connection refused" in errors.lower()
    assert str(EACH) in errors

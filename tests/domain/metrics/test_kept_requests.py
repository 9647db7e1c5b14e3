"""Single requests: how many a run keeps, how they are stored, and what is said of the slowest."""

from campaigns.domain.metrics.kept_requests import (
    KeptRequest,
    KeptRequests,
    most_kept,
    pack,
    requests_fault,
)
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.request_tables import drawn_columns, outlier_words, slowest_table
from tests.values import plan_spec

PLAN = Plan.from_json(
    plan_spec() | {"steps": [{"method": "GET", "path": f"/index{n}.html"} for n in range(1, 6)]}
)
LINE = {
    "is_all": True,
    "columns": {
        "number": [None, 1, 2],
        "step": [0, 0, 1],
        "start_us": [-500, 10, 900],
        "response_us": [100, 2000, 400],
        "status": [200, 200, 0],
        "kind": ["", "", "reset"],
        "lateness_us": [0, 5, 1],
        "connect_us": [None, 30, None],
    },
}


def request(number, response_us, injector=0, **more):
    at = {"step": 4, "start_us": 12_310_000, "status": 200, "kind": "", "injector": injector}
    return KeptRequest(number=number, response_us=response_us, **at | more)


def test_what_is_stored_is_what_the_injector_said():
    requests = KeptRequests.unpack(pack(LINE), injector=2)
    assert requests == KeptRequests.from_line(LINE, 2)
    assert requests.is_all
    _, first, second = requests.rows
    assert (first.number, first.connect_us, first.parts_us) == (
        1,
        30,
        {"lateness": 5, "connect": 30},
    )
    assert (second.kind, second.status, second.end_us) == ("reset", 0, 900 - 1 + 400)
    assert [len(requests.measured), len(requests.warm_up)] == [2, 1]


def test_a_line_that_could_not_be_read_again_is_refused():
    for change, words in [
        ({"columns": LINE["columns"] | {"status": [200]}}, "not of one length"),
        ({"columns": LINE["columns"] | {"kind": ["", "", "slow"]}}, "the column kind"),
        ({"columns": LINE["columns"] | {"step": [0, None, 1]}}, "the column step"),
        ({"columns": {"step": [0]}}, "the column number is missing"),
        ({"is_all": 1}, "is_all"),
    ]:
        assert requests_fault(LINE) is None
        assert words in requests_fault(LINE | change)


def test_a_plan_of_few_requests_keeps_each_and_one_of_many_the_slowest():
    for load, n_injectors, most in [
        ({"model": "closed", "connections": 2, "requests": 2000}, 3, 2000),
        ({"model": "closed", "connections": 2, "requests": 2001}, 3, 666),
        ({"model": "closed", "connections": 2, "duration_s": 5}, 4, 500),
        ({"model": "closed", "connections": 3, "requests": 15000, "start_offset_s": 1}, 3, 20000),
        ({"model": "closed", "connections": 3, "requests": 15000, "start_offset_s": 1}, 1, 2000),
    ]:
        assert most_kept(Plan.from_json(plan_spec(**load)), n_injectors) == most


def test_the_slowest_ten_of_all_injectors_stay_where_one_has_too_many():
    parts = [
        KeptRequests(tuple(request(n, 10 * n) for n in range(1, 31)), is_all=True),
        KeptRequests(tuple(request(n, 10 * n + 1, 1) for n in range(1, 11)), is_all=False),
    ]
    requests = KeptRequests.together(parts)
    assert not requests.is_all
    assert sorted(row.response_us for row in requests.rows) == [10 * n for n in range(21, 31)]


def test_the_one_of_eight_that_took_far_longer_is_named():
    times_us = [20_000] * 7 + [2_000_000]
    requests = KeptRequests(tuple(request(n, each) for n, each in enumerate(times_us, 1)))
    words = "1 request took longer than 500 ms: no. 8, step 5, at 12.3 s."
    assert outlier_words(requests, Timing.of(times_us), PLAN) == words
    brief = [200] * 7 + [20_000]  # nobody notices
    requests = KeptRequests(tuple(request(n, each) for n, each in enumerate(brief, 1)))
    assert outlier_words(requests, Timing.of(brief), PLAN) == ""


def test_no_request_is_named_where_none_or_where_many_are_slow():
    for slow in [[40_000] * 10, [1_000_000] * 10]:
        requests = KeptRequests(tuple(request(n, each) for n, each in enumerate(slow, 1)))
        assert outlier_words(requests, Timing.of([30_000] * 4999), PLAN) == ""


def test_the_table_says_which_request_it_was_and_whose():
    rows = (request(7, 2000, wait_us=1900), request(9, 8000, 1, kind="reset", status=0))
    table = slowest_table(KeptRequests(rows), PLAN)
    assert [row.label for row in table.rows] == ["no. 9 of process 2", "no. 7 of process 1"]
    assert [each.key for each in table.columns] == ["step", "begins", "response", "wait", "status"]
    (_, first), (_, second) = ((row.label, row.cells) for row in table.rows)
    assert [cell.value for cell in first] == [
        "GET /index5.html",
        12.31,
        8.0,
        None,
        "connection reset",
    ]
    assert [cell.value for cell in second][2:] == [2.0, 1.9, "200"]


def test_all_of_a_short_run_are_drawn_failed_ones_and_the_warm_up_apart():
    columns = drawn_columns(KeptRequests.from_line(LINE), PLAN)
    assert columns["mark"] == ["warm-up", "ok", "failed"]
    assert columns["s"] == [-0.0005, 0.00001, 0.0009]
    assert columns["ms"] == [0.1, 2.0, 0.4]
    assert drawn_columns(KeptRequests.from_line(LINE | {"is_all": False}), PLAN) == {}

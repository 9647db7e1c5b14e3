"""The estimate before the start: what is known is summed, what is not is said."""

from campaigns.domain.plan.estimates import estimate_campaign, estimate_test
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.presentation.cost_words import cost_notes
from tests.domain.plan.reading import read

NEW, KEEP_ALIVE = ConnectionMode.NEW, ConnectionMode.KEEP_ALIVE


def plan(warm_up_s=0, **load) -> Plan:
    return read(load=load, warm_up_s=warm_up_s)


def hundred_over_ten() -> Plan:
    return plan(model="over", requests=100, over_s=10)


def estimate(*tests, repeats=1, pause_s=0.0, injectors=1):
    tests = [(*test, injectors) for test in tests]
    return estimate_campaign(tests, repeats=repeats, pause_s=pause_s)


def test_it_sums_the_runs_and_the_pauses_between_them():
    cost = estimate((hundred_over_ten(), NEW), (hundred_over_ten(), NEW), repeats=3, pause_s=5)
    assert cost.n_runs == 6
    assert cost.requests == 600
    assert cost.duration_s == 6 * 10 + 6 * 2 + 5 * 5


def test_the_warm_up_takes_time_but_gives_no_requests():
    cost = estimate_test(plan(warm_up_s=10, model="open", rate_per_s=50, duration_s=60), NEW, 0, 1)
    assert (cost.duration_s, cost.requests) == (70, 3000)


def test_sessions_are_told_by_flow_where_their_number_is_known():
    for load, sessions, requests in [
        ({"arrival_unit": "session", "model": "over", "requests": 50, "over_s": 5}, (45, 5), 95),
        ({"model": "closed", "connections": 2, "requests": 190}, (90, 10), 190),
        ({"model": "closed", "connections": 2, "duration_s": 9}, (), None),
    ]:
        flows = [
            {"name": "browse", "share": 9, "steps": 2},
            {"name": "buy", "share": 1, "steps": 1},
        ]
        steps = [{"path": "/"}, {"path": "/list"}, {"path": "/pay"}]
        shop = read(steps=steps, load=load, flows=flows)
        cost = estimate((shop, KEEP_ALIVE), repeats=2)
        assert tuple(cost.sessions.values()) == tuple(2 * n for n in sessions)
        assert cost.most_in_a_run == requests
        assert any("by flow" in note for note in cost_notes(cost)) is bool(sessions)


def test_pooling_the_repeats_allows_a_higher_percentile():
    cost = estimate((hundred_over_ten(), NEW), repeats=10)
    assert cost.highest_of_a_run.label == "p90"
    assert cost.highest_pooled.label == "p99"


def test_ports_and_descriptors_are_enough_for_the_worst_target():
    for load, mode, name, most in [
        # New connections hold their ports for a minute; kept ones need one each.
        ({"model": "open", "rate_per_s": 1000, "duration_s": 120}, NEW, "ports", 60_000),
        ({"model": "closed", "connections": 100, "duration_s": 120}, KEEP_ALIVE, "ports", 100),
        # A target that never answers.
        (
            {"model": "open", "rate_per_s": 100, "duration_s": 600},
            NEW,
            "descriptors",
            100 * 30 + 64,
        ),
    ]:
        assert getattr(estimate((plan(**load), mode)), name) == most


def test_the_injector_with_the_largest_share_needs_the_most_ports():
    load = {"model": "open", "rate_per_s": 1000, "duration_s": 120, "shares": [2, 1, 1]}
    assert estimate((plan(**load), NEW), injectors=3).ports == 30_000


def test_every_second_of_every_injector_at_every_step_is_a_row():
    cost = estimate((plan(5, model="open", rate_per_s=10, duration_s=60), NEW), repeats=4)
    assert cost.rows == 65 * 4
    twice = estimate((plan(model="open", rate_per_s=10, duration_s=60), NEW), injectors=2)
    assert twice.rows == 120


def test_stages_are_estimated_by_their_integral_and_their_peak():
    stages = [
        {"duration_s": 60, "from_per_s": 0, "to_per_s": 100},
        {"duration_s": 60, "from_per_s": 100, "to_per_s": 100},
    ]
    cost = estimate((plan(warm_up_s=5, model="open", stages=stages), NEW))
    assert cost.requests == 9000
    assert cost.duration_s == 125 + 2
    assert cost.ports == 6000
    assert cost.descriptors == 100 * 30 + 64


def test_a_window_opens_every_connection_anew_and_holds_what_it_keeps():
    window = {"model": "window", "low": 25, "high": 50, "requests": 3000}
    cost = estimate((plan(**window), KEEP_ALIVE))
    assert (cost.ports, cost.descriptors) == (3000, 50 + 64)
    cost = estimate((plan(**window, hold="keep_until_all"), KEEP_ALIVE), injectors=3)
    assert cost.descriptors == 1000 + 64


SESSIONS = {"model": "open", "rate_per_s": 10, "duration_s": 30, "arrival_unit": "session"}


def sessions(**session) -> Plan:
    return read(load=SESSIONS, session=session)


def test_sessions_have_all_their_requests_and_as_many_connections_as_they_may_open():
    plan = sessions(calls_per_session=6, burst_length=3, connections_per_session=2)
    same, new = (estimate_test(plan, mode, 60, 1) for mode in (KEEP_ALIVE, NEW))
    assert same.requests == new.requests == 1800
    assert (same.ports, new.ports) == (600, 1800)
    # Within 30 s none may have answered.
    assert same.descriptors == 300 * 2 + 64


def test_sessions_that_think_for_long_stay_open_for_long():
    think = {"kind": "constant", "mean_s": 20}
    plan = sessions(calls_per_session=3, think_time=think)
    assert estimate_test(plan, KEEP_ALIVE, 60, 1).descriptors == 300 + 64
    slow = sessions(calls_per_session=3, think_time=think | {"mean_s": 100})
    assert estimate_test(slow, KEEP_ALIVE, 60, 1).descriptors == 300 + 64


def test_connections_that_arrive_or_that_a_window_opens_may_make_several_calls():
    load = SESSIONS | {"arrival_unit": "connection"}
    session = {"calls_per_connection": 4}
    cost = estimate_test(read(load=load, session=session), KEEP_ALIVE, 60, 1)
    assert (cost.requests, cost.ports) == (1200, 300)
    window = {"model": "window", "low": 2, "high": 4, "requests": 50}
    assert estimate_test(read(load=window, session=session), NEW, 60, 1).requests == 200

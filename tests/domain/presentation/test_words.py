"""Loads, costs, days and arms in words."""

import re
from datetime import UTC, datetime

from campaigns.domain.lifecycle import Outcome, RunState, TargetState, Trust
from campaigns.domain.plan.arrivals import NS, schedule
from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.presentation.badges import (
    GLYPHS,
    Answers,
    campaign_badge,
    glyph_of,
    run_badge,
)
from campaigns.domain.presentation.cost_words import duration_words, requests_words
from campaigns.domain.presentation.plan_words import (
    curve_unit,
    exchange_facts,
    load_facts,
    load_sentence,
    load_words,
    order_words,
    session_facts,
)
from campaigns.domain.presentation.sentences import ArmFacts, arm_names, shared_mode
from campaigns.domain.units import when_words
from tests.values import plan_spec

STEPS = [{"method": "GET", "path": "/"}]


def plan_of(session=None, **load):
    return Plan.from_json({"steps": STEPS, "load": load, "session": session or {}})


def test_even_arrivals_name_their_distance_the_first_and_the_last():
    plan = plan_of(model="over", requests=100, over_s=10)
    assert load_sentence(plan) == "One request every 100 ms; the first at 0 s, the last at 9.9 s."


def test_a_rate_keeps_its_gap_where_its_time_is_no_multiple_of_it():
    """As it is sent: the schedule's own last instant is the sentence's."""
    plan = plan_of(model="open", rate_per_s=0.5, duration_s=3)
    assert [due_ns for _, due_ns in schedule(plan.load)] == [0, 2 * NS]
    assert load_sentence(plan) == "One request every 2 s; the first at 0 s, the last at 2 s."
    assert curve_unit(plan) == "requests/s"


RAMP = {"from_per_s": 10, "to_per_s": 50, "duration_s": 60}
UNIFORM = {"distribution": "uniform", "uniform_min_s": 0.5, "uniform_max_s": 2}
WINDOW = {"model": "window", "low": 2, "high": 4}
MESSAGES = {"messages": 5, "texts": ["a", "b"], "reply": "text: c", "deflate": "context_takeover"}


def numbers(words: str) -> list[str]:
    return re.findall(r"\d[\d,.]*\d|\d", words)


def test_a_load_is_told_by_its_own_numbers():
    for load, of_list, of_sentence in [
        ({"model": "open", "stages": [RAMP]}, "1,800 60 50", "1,800 1"),
        ({"model": "open", "stages": [RAMP, RAMP]}, "3,600 2 120 50", "3,600 2 2"),
        ({"model": "open", **UNIFORM, "requests": 9}, "0.5 2 9", "9 500 2 11.2"),
        ({"model": "over", "requests": 1, "over_s": 5}, "1 5", "0"),
        ({**WINDOW, "requests": 9}, "2 4 9", "4 4 2 9"),
        ({**WINDOW, "duration_s": 7, "hold": "keep_s", "hold_s": 3}, "2 4 7", "4 4 2 7"),
        ({"model": "closed", "connections": 3, "requests": 8, "ramp_up_s": 6}, "3 6 8", "3 8 6"),
        ({"model": "sequential", "requests": 1}, "1", "1"),
    ]:
        plan = plan_of(**load)
        assert numbers(load_words(plan.load)) == of_list.split(), load_words(plan.load)
        assert numbers(load_sentence(plan)) == of_sentence.split(), load_sentence(plan)


def test_the_facts_of_a_load_have_what_its_words_leave_out():
    for load, name, value in [
        ({"model": "open", "stages": [RAMP]}, "Stage 1", "60 10 50"),
        (
            {"model": "open", "rate_per_s": 5, "duration_s": 9, "max_in_flight": 70},
            "Max in flight",
            "70",
        ),
        ({**WINDOW, "requests": 9}, "Marks per injector process", "2 4"),
        ({**WINDOW, "requests": 9, "hold": "keep_s", "hold_s": 3}, "Open connections", "3"),
        ({**BY_TIME, "ramp_up_s": 6}, "Ramp-up", "6"),
    ]:
        assert numbers(dict(load_facts(plan_of(**load).load))[name]) == value.split()


def test_order_pauses_messages_and_credentials_are_facts_of_a_plan():
    two = [{"method": "GET", "path": path} for path in ("/a", "/b")]
    spec = {"steps": two, "load": BY_TIME}
    for order, value in [
        ({"kind": "blocks", "block_repeat": 3}, "3"),
        ({"kind": "weighted", "weights": [1, 3]}, "1 3"),
    ]:
        assert numbers(order_words(Plan.from_json(spec | {"order": order}))) == value.split()
    for session, value in [
        ({"think_time": {"kind": "constant", "mean_s": 2}}, "2"),
        ({"think_time": {"kind": "uniform", "min_s": 1, "max_s": 4}}, "1 4"),
        ({"think_time": {"kind": "exponential", "mean_s": 7}}, "7"),
    ]:
        facts = session_facts(Plan.from_json(spec | {"session": session}), has_secret=False)
        assert numbers(dict(facts)["Think time"]) == value.split()
    bearer = Plan.from_json(spec | {"auth": {"kind": "bearer"}})
    with_secret, without = (session_facts(bearer, has_secret=each) for each in (True, False))
    assert dict(with_secret)["Credentials"] != dict(without)["Credentials"]
    exchange = Plan.from_json({"load": BY_COUNT, "exchange": MESSAGES}).exchange
    facts = dict(exchange_facts(exchange))
    assert numbers(facts["Messages"]) == ["5", "2"]
    assert "c" in facts["Echoes"]
    assert "Compression" in facts
    silent = Plan.from_json({"load": BY_COUNT, "exchange": {"messages": 0}}).exchange
    assert "Echoes" not in dict(exchange_facts(silent))


BY_TIME = {"model": "closed", "connections": 2, "duration_s": 10}
BY_COUNT = {"model": "closed", "connections": 2, "requests": 500}


def test_what_only_the_target_decides_is_never_a_number():
    for loads, lasts, requests in [
        ([BY_TIME], "12 s", "depends on the target"),
        ([BY_COUNT], "depends on the target", "500"),
        ([BY_TIME, BY_COUNT], "more than 14 s", "more than 500"),
    ]:
        plans = [Plan.from_json(plan_spec(**load)) for load in loads]
        tests = [(plan, ConnectionMode.NEW, 1) for plan in plans]
        estimate = estimate_campaign(tests, repeats=1, pause_s=0)
        assert (duration_words(estimate), requests_words(estimate)) == (lasts, requests)


NOW = datetime(2026, 12, 18, 15, 0, tzinfo=UTC)  # a Friday


def test_it_says_the_day_as_people_do():
    for then, words in [
        (datetime(2026, 12, 18, 2, 0, tzinfo=UTC), "today 02:00"),
        (datetime(2026, 12, 17, 23, 59, tzinfo=UTC), "yesterday 23:59"),
        (datetime(2026, 12, 15, 2, 0, tzinfo=UTC), "Tue 15 Dec 02:00"),
        (datetime(2026, 12, 11, 2, 0, tzinfo=UTC), "Fri 11 Dec 02:00, last week"),
        (datetime(2026, 12, 4, 2, 0, tzinfo=UTC), "Fri 4 Dec 02:00"),
        (datetime(2025, 12, 4, 2, 0, tzinfo=UTC), "Thu 4 Dec 2025"),
    ]:
        assert when_words(then, NOW) == words


def arm(**fields) -> ArmFacts:
    usual = {
        "plan": "100 over 5 s",
        "target": "nginx",
        "scheme": "http",
        "host": "10.0.0.1",
        "port": 8080,
        "connection_mode": "new",
        **fields,
    }
    return ArmFacts(**usual)


def test_two_arms_have_the_shortest_names_that_tell_them_apart():
    for baseline, candidate, names in [
        (arm(), arm(scheme="https", port=8443), ("HTTP", "HTTPS")),
        (arm(), arm(port=8443), ("nginx :8080", "nginx :8443")),
        (arm(), arm(host="10.0.0.2"), ("nginx 10.0.0.1", "nginx 10.0.0.2")),
        (arm(), arm(target="apache", port=81), ("nginx", "apache")),
        (arm(), arm(target="apache", scheme="https"), ("nginx HTTP", "apache HTTPS")),
        (arm(), arm(plan="100 over 1 s"), ("100 over 5 s", "100 over 1 s")),
        (
            arm(scheme="https"),
            arm(scheme="https", tls_profile="TLS 1.2 only"),
            ("standard TLS", "TLS 1.2 only"),
        ),
        (arm(), arm(), ("the baseline", "the candidate")),
    ]:
        assert arm_names(baseline, candidate) == names


def test_a_resumed_session_is_the_twin_of_http_on_a_new_connection():
    http, https = arm(), arm(scheme="https", port=8443, connection_mode="resumed")
    assert arm_names(http, https) == ("HTTP", "HTTPS")
    assert shared_mode(http, https) == "resumed"


def test_two_modes_are_told_by_the_names():
    new, same = arm(scheme="https"), arm(scheme="https", connection_mode="keep-alive")
    assert shared_mode(new, same) == ""
    assert arm_names(new, same) == ("HTTPS new connection", "HTTPS keep-alive")


SAID = [*RunState, *Outcome, Trust.TRUSTED, Trust.BUSY, *TargetState, "passed"]


def test_no_state_an_outcome_or_an_answer_is_without_a_glyph():
    for state in SAID:
        assert glyph_of(state) != "dash"


def test_no_two_glyphs_have_the_same_shape():
    shapes = [
        tuple((stroke.element, stroke.attributes, stroke.ink == "dots") for stroke in strokes)
        for strokes in GLYPHS.values()
    ]
    assert len(set(shapes)) == len(shapes)


def test_a_run_shows_its_state_then_how_it_ended_and_only_what_was_not_well():
    for state, outcome, trust, target_state, glyph, word in [
        ("queued", "", "", "", "queued", "Queued"),
        ("done", "complete", "trusted", "failing", "bad", "Complete, target failing"),
        ("done", "complete", "busy", "", "warn", "Complete, busy machine"),
        ("done", "complete", "no_answer", "", "dash", "Complete, no answer"),
        ("done", "partial", "trusted", "healthy", "partial", "Partial"),
        ("done", "stopped", "no_answer", "", "stopped", "Stopped, no answer"),
    ]:
        badge = run_badge(state, outcome, Answers(trust, target_state))
        assert (badge.glyph, badge.word) == (glyph, word)


def test_a_campaign_shows_its_state_then_the_worst_of_its_tests():
    for state, trust, target_state, is_stopped, glyph, word in [
        ("running", "busy", "", False, "running", "Running"),
        ("done", "trusted", "overloaded", False, "over", "Complete, target overloaded"),
        ("done", "busy", "failing", False, "bad", "Complete, target failing, busy machine"),
        ("done", "no_answer", "failing", False, "dash", "Complete, no answer, target failing"),
        ("done", "", "", True, "stopped", "Stopped"),
    ]:
        badge = campaign_badge(state, Answers(trust, target_state), is_stopped=is_stopped)
        assert (badge.glyph, badge.word) == (glyph, word)


def test_a_campaign_with_tests_that_can_be_used_is_not_thrown_away():
    badge = campaign_badge("done", Answers("no_answer", is_usable_in_part=True), is_stopped=False)
    assert (badge.glyph, badge.word) == ("warn", "Complete, no answer in part")


def test_a_badge_says_whether_the_thresholds_were_kept():
    for answers, glyph, word in [
        (Answers("trusted", "healthy", "kept"), "good", "Complete, thresholds kept"),
        (Answers("trusted", "healthy", "broken"), "bad", "Complete, threshold broken"),
        (Answers("busy", "", "kept"), "warn", "Complete, busy machine"),
    ]:
        badge = run_badge("done", "complete", answers)
        assert (badge.glyph, badge.word) == (glyph, word)


def test_overload_is_the_finding_where_the_limit_was_looked_for():
    answers = Answers("trusted", "overloaded", finds_limit=True)
    badge = run_badge("done", "complete", answers)
    assert (badge.glyph, badge.word) == ("done", "Complete, limit found")

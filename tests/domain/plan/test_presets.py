"""Presets and questions are plans like others, and have names like others."""

from campaigns.domain.plan.arrivals import share_fault
from campaigns.domain.plan.load_rules import load_for
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS, PROPOSALS, proposal_for
from campaigns.domain.plan.questions import QUESTIONS, recommended


def test_every_preset_is_a_valid_plan_in_its_stored_form():
    for key in PRESETS:
        spec = PRESETS[key].spec
        assert Plan.from_json(spec).to_json() == spec


def test_r99_begins_its_clients_a_second_apart():
    load = whole_load("r99-1")
    assert (load.start_offset_s, load.ramp_up_s) == (1, 0)
    assert (load.connections, load.requests) == (3, 15_000)


def test_every_study_s_campaign_can_share_its_plan():
    for key in PROPOSALS:
        load = Plan.from_json(PRESETS[key].spec).load
        assert [
            share_fault(load, n) for n in PROPOSALS[key].injectors if share_fault(load, n)
        ] == []


def whole_load(key):
    """The load of all injectors of the proposed campaign."""
    return load_for(Plan.from_json(PRESETS[key].spec).load, max(proposal_for(key).injectors))


STEP = {"method": "GET", "path": "/prices", "headers": [], "body": ""}


def test_its_plan_sends_the_request_that_was_tried():
    for key in QUESTIONS:
        spec = QUESTIONS[key].spec(STEP, {"kind": "basic", "user": "ann"})
        plan = Plan.from_json(spec)
        assert (plan.steps[0].path, plan.auth.user) == ("/prices", "ann")


def test_its_arms_are_on_what_answers():
    for key, schemes, arms in [
        ("works", ["http", "https"], [("http", "keep-alive"), ("https", "keep-alive")]),
        ("works", ["https"], [("https", "keep-alive")]),
        ("https", ["https"], []),
        ("https", [], []),
        (
            "https",
            ["https", "http"],
            [
                ("http", "new"),
                ("http", "keep-alive"),
                ("https", "new"),
                ("https", "resumed"),
                ("https", "keep-alive"),
            ],
        ),
        ("limit", ["http", "https"], [("https", "keep-alive")]),
        ("limit", ["http"], [("http", "keep-alive")]),
        ("limit", [], []),
        ("layers", ["http", "https"], [("https", "new")]),
        ("layers", ["https"], []),
    ]:
        assert QUESTIONS[key].arms(schemes) == arms


def test_one_question_is_recommended():
    for schemes, key in [([], ""), (["http"], "works"), (["http", "https"], "https")]:
        assert recommended(schemes) == key


def test_only_the_question_about_the_limit_is_a_search_and_no_load_of_theirs_is_flat_out():
    assert [key for key, each in QUESTIONS.items() if each.is_search] == ["limit"]
    plans = [Plan.from_json(each.spec(STEP, {})) for each in QUESTIONS.values()]
    assert not any(plan.seeks_limit for plan in plans)


def test_two_presets_look_for_the_limit_and_one_of_them_is_flat_out():
    plans = {key: Plan.from_json(each.spec) for key, each in PRESETS.items()}
    assert [key for key, plan in plans.items() if plan.seeks_limit] == ["stress", "capacity"]
    assert [key for key, plan in plans.items() if plan.is_flat_out] == ["capacity"]


def test_one_connection_or_a_number_of_requests_is_no_search_for_the_limit():
    for change in [{"connections": 1}, {"duration_s": None, "requests": 1000}]:
        capacity = PRESETS["capacity"].spec
        assert Plan.from_json(capacity).seeks_limit
        spec = capacity | {"load": capacity["load"] | change}
        assert not Plan.from_json(spec).seeks_limit

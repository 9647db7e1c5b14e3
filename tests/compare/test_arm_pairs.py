"""Any two tests of a campaign, compared by choice."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.compare.queries.arm_pairs import chosen_tests
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.sentences import plain_text
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
from tests.measured import https_campaign, run_in_blocks
from tests.values import plan_spec

FAST, SLOW = [10_000, 10_100, 9_900], [11_200, 11_250, 11_180]


def over(over_s: int) -> dict:
    return plan_spec(model="over", requests=2000, over_s=over_s)


@pytest.fixture
def nginx(project):
    return make_target(project, "nginx")


@pytest.fixture
def campaign(project):
    return make_campaign(project, **just_now())


def two_ports(project, campaign, nginx):
    version = make_plan(project, spec=over(10))
    return [
        make_test(campaign, version, endpoint=make_endpoint(nginx, port=port))
        for port in (8080, 8443)
    ]


def compare_arms(campaign, candidate, baseline):
    answer = campaign_answer(campaign, (candidate.pk, baseline.pk))
    (overhead,) = answer.overheads
    return overhead, plain_text(answer.sentence).replace("\u202f", " ")


def test_two_ports_get_a_verdict_with_its_interval_in_the_sentence(project, campaign, nginx):
    first, second = two_ports(project, campaign, nginx)
    run_in_blocks([first, second], [FAST, SLOW])
    overhead, sentence = compare_arms(campaign, second, first)
    assert overhead.word == "slower"
    assert sentence == (
        "nginx :8443 is 12 % slower than nginx :8080 on new connections (10 to 14 %)."
    )
    assert compare_arms(campaign, first, second)[0].word == "faster"


def test_two_ports_get_no_verdict_unless_they_are_chosen(project, campaign, nginx):
    run_in_blocks(two_ports(project, campaign, nginx), [FAST, SLOW])
    assert campaign_answer(campaign).overheads == []


def test_two_targets_differ_by_choice_and_get_their_verdict(project, campaign, nginx):
    version = make_plan(project, spec=over(10))
    targets = (nginx, make_target(project, "apache"))
    tests = [make_test(campaign, version, endpoint=make_endpoint(each)) for each in targets]
    run_in_blocks(tests, [FAST, SLOW])
    overhead, _ = compare_arms(campaign, tests[1], tests[0])
    assert overhead.word == "slower"
    assert ["target", "nginx", "apache"] in overhead.like_for_like["different"]


def test_two_plans_are_compared_although_their_loads_differ(project, campaign, nginx):
    endpoint = make_endpoint(nginx)
    plans = [make_plan(project, f"2,000 over {s} s", spec=over(s)) for s in (10, 5)]
    tests = [make_test(campaign, version, endpoint=endpoint) for version in plans]
    run_in_blocks(tests, [FAST, SLOW])
    assert compare_arms(campaign, tests[1], tests[0])[0].word == "slower"


def test_what_differs_by_accident_still_forbids_a_verdict(project, campaign, nginx):
    first, second = two_ports(project, campaign, nginx)
    run_in_blocks([first], [FAST], statuses={"200": 200})
    run_in_blocks([second], [SLOW], statuses={"404": 200})
    overhead, _ = compare_arms(campaign, second, first)
    assert overhead.word == ""


def test_a_chosen_pair_replaces_the_default_one(project):
    campaign, tests = https_campaign(project, modes=("new", "keep-alive"), **just_now())
    run_in_blocks(tests, [SLOW, SLOW, FAST, FAST])
    overhead, _ = compare_arms(campaign, tests[2], tests[0])
    assert overhead.is_chosen
    assert overhead.word == "faster"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"compare": "x", "with": "1"}, "compare"),
        ({"compare": "{0}"}, "with"),
        ({"compare": "{0}", "with": "{0}"}, "with"),
        ({"compare": "{0}", "with": "0"}, "with"),
    ],
)
def test_anything_but_two_tests_of_the_campaign_is_refused(project, campaign, query, field):
    test = make_test(campaign)
    with pytest.raises(InvalidFields) as refusal:
        chosen_tests(campaign, {name: text.format(test.pk) for name, text in query.items()})
    assert field in refusal.value.errors


def test_a_test_of_another_campaign_is_refused(project, campaign):
    ours, theirs = make_test(campaign), make_test(make_campaign(project))
    with pytest.raises(InvalidFields, match="a test of this campaign"):
        chosen_tests(campaign, {"compare": str(ours.pk), "with": str(theirs.pk)})

"""A reference that both sides measured tells the target from the environment."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.references import reference_sentence
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import THIN
from campaigns.models import Campaign
from campaigns.runs.services import keep_figures
from tests.compare.test_compared_tests import FAST, SLOW, campaigns
from tests.compare.test_compared_tests import compare as compare
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.measured import run_in_blocks, same_again
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
ECHO, SLOWER_ECHO = [2_000, 2_010, 1_990], [2_300, 2_310, 2_290]
WILD_ECHO = [2_000, 2_400, 1_700]


@pytest.fixture
def tests(project):
    """A test of a target, and the same plan on the reference."""
    version = make_plan(project, spec=plan_spec(model="over", requests=2000, over_s=10))
    campaign = make_campaign(project)
    targets = [make_target(project), make_target(project, "echo", tags=["reference"])]
    return [make_test(campaign, version, endpoint=make_endpoint(each)) for each in targets]


@pytest.fixture
def against(tests, compare):
    """Last week's campaign against one in which target and reference took this long."""

    def against(target, echo):
        run_in_blocks(tests, [FAST, ECHO])
        later = same_again(tests)
        run_in_blocks(later, [target, echo])
        return compare(*campaigns(tests, later))

    return against


def sentence(comparison) -> str:
    return plain_text(comparison.sentences[0])


def test_a_reference_that_did_not_move_leaves_the_target(against):
    comparison = against(SLOW, ECHO)
    (test,) = comparison.tests
    assert test.said == "slower"
    assert test.can_be_confirmed
    assert "(0.0" in sentence(comparison)


def test_a_reference_that_moved_leaves_the_environment(against):
    comparison = against(SLOW, SLOWER_ECHO)
    assert comparison.tests[0].said == "environment"
    assert "(+15.0" in sentence(comparison)


def test_a_reference_that_tells_nothing_leaves_both(against):
    assert against(SLOW, WILD_ECHO).tests[0].said == "slower, or the environment"


def test_a_reference_is_never_counted(against):
    comparison = against(SLOW, SLOWER_ECHO)
    assert len(comparison.tests) == 1
    assert [str(test.label) for test in comparison.references] != []
    assert [row.note for row in comparison.table.rows] == ["", "reference, not counted"]


def end_on(tests, day: int) -> Campaign:
    """Their campaign, which began on that day and is over."""
    start = timezone.now() - timedelta(days=30 - day)
    campaigns = Campaign.objects.filter(pk=tests[0].campaign_id)
    campaigns.update(started_at=start, finished_at=start + timedelta(minutes=1))
    keep_figures([test.pk for test in tests])
    return campaigns.get()


def test_it_is_none_of_the_tests_of_an_answer(tests):
    run_in_blocks(tests, [FAST, WILD_ECHO])
    answer = campaign_answer(end_on(tests, day=1))
    assert [test.test_id for test in answer.tests] == [tests[0].pk]
    assert [test.test_id for test in answer.references] == [tests[1].pk]
    assert answer.matrix is None
    assert "echo" not in plain_text(answer.sentence)
    assert answer.tests[0].label == "HTTP new connection"
    assert answer.n_runs == 6


def test_a_campaign_tells_its_reference_and_whether_that_moved(tests):
    run_in_blocks(tests, [FAST, ECHO])
    first = end_on(tests, day=1)
    assert reference_sentence(first) == f"Reference: 2.00{THIN}ms"
    sentences = {}
    for day, echo in [(2, ECHO), (3, SLOWER_ECHO)]:
        later = same_again(tests)
        run_in_blocks(later, [FAST, echo])
        sentences[day] = reference_sentence(end_on(later, day=day))
    assert sentences[2].startswith(f"Reference: 2.00{THIN}ms, ")
    assert sentences[3].startswith(f"Reference: 2.30{THIN}ms, ")
    assert sentences[2].partition(", ")[2] != sentences[3].partition(", ")[2]
    empty = same_again(tests)
    assert reference_sentence(Campaign.objects.get(pk=empty[0].campaign_id)) == ""


def test_references_alone_are_tests(tests):
    alone = tests[1:]
    Campaign.objects.get(pk=tests[0].campaign_id).tests.filter(pk=tests[0].pk).delete()
    run_in_blocks(alone, [ECHO])
    answer = campaign_answer(end_on(alone, day=1))
    assert [test.test_id for test in answer.tests] == [tests[1].pk]

"""Who was the limit of a run, by what is stored of it."""

import pytest

from campaigns.domain.lifecycle import Outcome
from campaigns.queries.machines import limit_of_run
from tests.factories import make_campaign, make_plan, make_run, make_test
from tests.queries.measured import measure
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.COMPLETE, "All requests were sent as planned, and the target kept up."),
        (Outcome.STOPPED, "Until it ended, requests were sent as planned, and the target kept up."),
    ],
)
def test_a_run_that_ended_early_is_not_said_to_have_sent_all_that_was_planned(
    project, outcome, said
):
    plan = make_plan(project, spec=plan_spec(model="open", rate_per_s=200, duration_s=10))
    run = make_run(make_test(make_campaign(project), plan))
    measure(run, 10_000, n=2000 if outcome == Outcome.COMPLETE else 200, outcome=outcome)
    assert limit_of_run(run, [], 200.0).note == said

"""A test's page: every run of its history, and the reference below its charts."""

from datetime import timedelta

import pytest

from campaigns.domain.lifecycle import Trust
from campaigns.models import Run
from tests.factories import make_endpoint, make_plan, make_target
from tests.histories import BEGIN, make_history
from tests.services.test_triage import CALM
from tests.views.test_history import opened as opened

pytestmark = pytest.mark.django_db
ECHO = [2.0, 2.01, 1.99, 2.0, 2.02, 1.98, 2.0, 2.01]


def runs_of(response) -> list[Run]:
    return [row["run"] for row in response.context["run_rows"]]


def test_every_run_of_every_campaign_is_listed_the_newest_first(opened, project):
    (test,) = make_history(project, [20.0, 30.0])
    response = opened(test)
    assert [run.campaign.name for run in runs_of(response)] == ["night 1"] * 3 + ["night 0"] * 3
    row = response.context["run_rows"][0]
    assert row["times"] == ("18.2", "15.2", "30.3", "45.5")
    assert row["errors"].startswith("0.1")


def test_runs_are_paged_by_the_last_one_of_a_page(opened, project):
    (test,) = make_history(project, CALM * 2)
    first = opened(test)
    second = opened(test, runs=first.context["runs"].next)
    both = [*runs_of(first), *runs_of(second)]
    assert sorted(run.pk for run in both) == sorted(Run.objects.values_list("pk", flat=True))
    assert len(runs_of(second)) == 48 - 25


def test_campaigns_are_paged_by_the_last_one_seen(opened, project):
    (test,) = make_history(project, CALM * 4)
    name = opened(test).context["page"].next
    make_history(
        project,
        [26.0],
        tests=[(test.plan_version, test.endpoint, "new")],
        begin=BEGIN + timedelta(days=60),
    )
    points = [row["point"] for row in opened(test, page=name).context["rows"]]
    assert [point.campaign_name for point in points] == [f"night {n}" for n in range(6, -1, -1)]


def test_a_run_that_is_not_usable_has_its_figures_on_its_own_page(opened, project):
    (test,) = make_history(project, [20.0], trust=Trust.NOT_USABLE)
    row = opened(test).context["run_rows"][0]
    assert set(row["times"]) == {"–"}
    assert row["why"]


@pytest.fixture
def echo(project):
    return make_endpoint(make_target(project, "echo", tags=["reference"]))


def make_both(project, echo, values=CALM, reference=ECHO):
    """A test, and the same plan on the reference in campaigns of the same nights."""
    plan = make_plan(project)
    (test,) = make_history(
        project, values, tests=[(plan, make_endpoint(make_target(project)), "new")]
    )
    make_history(project, reference, tests=[(plan, echo, "new")])
    return test


def test_the_reference_is_drawn_over_the_same_days(opened, project, echo):
    test = make_both(project, echo, reference=[*ECHO, 2.0, 2.0])
    chart = opened(test).context["chart"]
    assert chart["reference"]["value"] == pytest.approx(ECHO)
    assert chart["reference"]["time"] == chart["time"]


def test_the_reference_of_most_of_its_campaigns_is_taken(opened, project, echo):
    plan, endpoint = make_plan(project), make_endpoint(make_target(project))
    make_history(project, [1.0] * 8, tests=[(make_plan(project), echo, "keep-alive")])
    tests = [(plan, endpoint, "new"), (plan, echo, "keep-alive")]
    test, _ = make_history(project, CALM, tests=tests)
    assert opened(test).context["reference"].plan == plan.plan

"""The overview of many tests: each is a dot on one line. Those that are folded are in
test_history_folds.py."""

import csv
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.models import PlanVersion
from tests.factories import make_endpoint, make_plan, make_target
from tests.histories import make_history
from tests.services.test_triage import CALM, SLOWER, nights_ago
from tests.views.test_history import overview as overview
from tests.views.test_history import rows_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def targets(project):
    return [make_target(project, name) for name in ("media", "search")]


def calm_tests(project, targets, n=24):
    """Half of them on each target."""
    ends = [make_endpoint(target) for target in targets]
    tests = [(make_plan(project, f"Plan {i}"), ends[i % len(ends)], "new") for i in range(n)]
    return make_history(project, CALM, begin=nights_ago(20), tests=tests)


def names(response) -> list[str]:
    return [
        row["fold"].target if "fold" in row else row["named"].plan.name for row in rows_of(response)
    ]


def test_what_moved_with_its_plan_has_direction_and_cause_everywhere(overview, client, project):
    version, endpoint = make_plan(project), make_endpoint(make_target(project))
    newer = PlanVersion.objects.create(plan=version.plan, number=2, spec=version.spec)
    make_history(project, SLOWER[:8], begin=nights_ago(20), tests=[(version, endpoint, "new")])
    make_history(project, SLOWER[8:], begin=nights_ago(12), tests=[(newer, endpoint, "new")])
    assert "moved: +9.6 % since version 2 of the plan" in text_of(overview())
    (test,) = client.get(f"/api/v1/projects/{project.pk}/history/").json()["tests"]
    assert (test["standing"], test["change"]["direction"]) == ("moved", "slower")
    text = client.get(reverse("history-csv", args=[project.pk])).content.decode()
    (row,) = csv.DictReader(StringIO(text))
    assert (row["direction"], row["causes"]) == ("slower", "Plan version: v1 to v2")


def test_without_a_figure_there_is_no_line_of_dots(overview, project):
    make_history(project, CALM, begin=nights_ago(20), trust="not_usable")
    assert overview().context["dots"] is None


def test_the_newest_value_has_its_interval_between_runs(overview, project):
    make_history(project, CALM, begin=nights_ago(20))
    (row,) = rows_of(overview())
    # Three runs 1 % apart: t(2, 97.5 %) · 0.257 / √3 = 4.303 · 0.148
    assert row["half_interval"].replace("\u202f", " ") == "± 0.64"
    make_history(project, CALM, begin=nights_ago(20), spread=(1.0,))
    assert "–" in [row["half_interval"] for row in rows_of(overview())]

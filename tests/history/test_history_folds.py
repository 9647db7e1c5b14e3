"""The overview of 24 tests that never changed: they are folded, grouped, and a dot each."""

import re

import pytest

from campaigns.models import Test, TriageChange, TriageEntry
from tests.factories import make_endpoint, make_plan, make_target
from tests.histories import make_history
from tests.history.test_triage_services import CALM, SLOWER, nights_ago
from tests.history.test_views import overview as overview
from tests.history.test_views import rows_of
from tests.kept_cast import project as project
from tests.kept_cast import vera as vera
from tests.pages import shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def targets_of_the_file(project_of_the_file):
    targets = [make_target(project_of_the_file, name) for name in ("media", "search")]
    ends = [make_endpoint(target) for target in targets]
    plans = [make_plan(project_of_the_file, f"Plan {i}") for i in range(24)]
    tests = [(plan, ends[i % 2], "new") for i, plan in enumerate(plans)]
    make_history(project_of_the_file, CALM, begin=nights_ago(20), tests=tests)
    return targets


def names(response) -> list[str]:
    return [
        row["fold"].target if "fold" in row else row["named"].plan.name for row in rows_of(response)
    ]


@pytest.fixture
def targets(targets_of_the_file, project):
    """Each has half of the calm tests."""
    return targets_of_the_file


def test_unchanged_tests_are_a_line_for_each_target(overview, project, targets):
    make_history(project, SLOWER, begin=nights_ago(20), tests=[slow_on(project, targets[0])])
    response = overview()
    assert names(response) == ["Slow", "media", "search"]
    page = shown_text(response)
    assert "1 slower of 25 tests; 24 unchanged." in page
    assert page.count("12 unchanged tests") == 2
    assert rows_of(response)[1]["spark"].path.endswith("Z")  # a band, not a line
    assert re.search(r"Slower 1 .*Unchanged 24 ", page)


def slow_on(project, target):
    return make_plan(project, "Slow"), make_endpoint(target, "https"), "keep-alive"


def test_a_test_with_an_open_change_is_never_folded(overview, project, targets):
    test = Test.objects.filter(plan_version__plan__name="Plan 5").latest("pk")
    entry = TriageEntry.objects.create(project=project, target=targets[1])
    at = test.campaign.started_at
    TriageChange.objects.create(
        entry=entry,
        plan=test.plan_version.plan,
        endpoint=test.endpoint,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
        **dict.fromkeys(("since_at", "after_at", "until_at"), at),
        **CHANGE,
    )
    assert names(overview()) == ["Plan 5", "media", "search"]


CHANGE = {
    "p_value": 0.0001,
    "ratio": 1.1,
    "low": 1.05,
    "high": 1.15,
    "before_us": 10.0,
    "after_us": 11.0,
}


def test_every_test_is_a_dot_at_its_ratio_on_a_logarithmic_axis(overview, project, targets):
    endpoint = make_endpoint(targets[0], "https")
    for values, name in ((SLOWER, "Slow"), ([1000 / each for each in SLOWER], "Fast")):
        tests = [(make_plan(project, name), endpoint, "new")]
        make_history(project, values, begin=nights_ago(20), tests=tests)
    (chart,) = overview().context["dots"].panels
    changes, usual = chart.series
    assert (len(changes.x), len(usual.x)) == (2, 24)
    assert [text.split()[0] for text in changes.texts] == ["Fast", "Slow"]
    assert "Slow HTTPS new, +9." in changes.labels[1]
    assert changes.x[0] * changes.x[1] == pytest.approx(1, abs=0.01)
    assert chart.x.scale == "log"


def headings(response) -> list[tuple[str, int, str]]:
    return [(each["title"], each["n"], each["note"]) for each in response.context["groups"]]


def test_tests_are_grouped_by_what_the_address_says(overview, project, targets):
    make_history(project, SLOWER, begin=nights_ago(20), tests=[slow_on(project, targets[1])])
    by_target = overview(group="target")
    assert headings(by_target) == [
        ("search", 13, "1 slower, 12 unchanged"),
        ("media", 12, "12 unchanged"),
    ]
    assert names(by_target) == ["Slow", "search", "media"]
    assert headings(overview(group="arm"))[0] == ("HTTPS keep-alive", 1, "1 slower")
    assert names(overview(group="arm"))[1] == "2 targets"
    assert len(headings(overview(group="plan"))) == 25
    assert headings(overview(group="moon")) == headings(overview())

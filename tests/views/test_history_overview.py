"""The overview of many tests: unchanged ones are folded, and each is a dot on one line."""

import csv
import re
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.models import PlanVersion, TriageChange, TriageEntry
from tests.factories import make_endpoint, make_plan, make_target
from tests.histories import make_history
from tests.services.test_triage import CALM, SLOWER, nights_ago
from tests.views.test_history import overview as overview
from tests.views.test_history import rows_of, text_of

pytestmark = pytest.mark.django_db

ODD = [*CALM, 33.0]


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


def test_unchanged_tests_are_a_line_for_each_target(overview, project, targets):
    calm_tests(project, targets)
    make_history(project, SLOWER, begin=nights_ago(20), tests=[slow_on(project, targets[0])])
    response = overview()
    assert names(response) == ["Slow", "media", "search"]
    page = text_of(response)
    assert "1 slower of 25 tests; 24 unchanged." in page
    assert page.count("12 unchanged tests") == 2
    assert rows_of(response)[1]["spark"].path.endswith("Z")  # a band, not a line
    assert re.search(r"Slower 1 .*Unchanged 24 ", page)


def slow_on(project, target):
    return make_plan(project, "Slow"), make_endpoint(target, "https"), "keep-alive"


def test_a_line_opens_its_tests_by_the_address_and_closes_them_again(overview, project, targets):
    calm_tests(project, targets)
    folded = overview(metric="p50")
    media = rows_of(folded)[0]
    assert f'href="?{media["query"].replace("&", "&amp;")}#' in folded.content.decode()
    opened = overview(**dict(pair.split("=") for pair in media["query"].split("&")))
    assert (names(opened)[0], names(opened)[-1]) == ("media", "search")
    assert len(rows_of(opened)) == 14
    assert 'aria-expanded="true"' in opened.content.decode()
    assert rows_of(opened)[0]["query"] == "metric=p50"


def test_few_tests_are_all_in_sight(overview, project, targets):
    calm_tests(project, targets, n=20)
    assert len(names(overview())) == 20


def test_a_test_with_an_open_change_is_never_folded(overview, project, targets):
    tests = calm_tests(project, targets)
    test = tests[5]
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


def test_what_moved_with_its_plan_has_direction_and_cause_everywhere(overview, client, project):
    version, endpoint = make_plan(project), make_endpoint(make_target(project))
    newer = PlanVersion.objects.create(plan=version.plan, number=2, spec=version.spec)
    make_history(project, SLOWER[:8], begin=nights_ago(20), tests=[(version, endpoint, "new")])
    make_history(project, SLOWER[8:], begin=nights_ago(12), tests=[(newer, endpoint, "new")])
    page = text_of(overview())
    assert "1 moved with plan or environment (1 slower) of 1 test" in page
    assert "moved: +9.6 % since version 2 of the plan" in page
    (test,) = client.get(f"/api/v1/projects/{project.pk}/history/").json()["tests"]
    assert (test["standing"], test["change"]["direction"]) == ("moved", "slower")
    assert "Moved: slower by 9.6" in test["sentence"]
    text = client.get(reverse("history-csv", args=[project.pk])).content.decode()
    (row,) = csv.DictReader(StringIO(text))
    assert (row["direction"], row["causes"]) == ("slower", "Plan version: v1 to v2")


def test_every_test_is_a_dot_at_its_ratio_on_a_logarithmic_axis(overview, project, targets):
    calm_tests(project, targets)
    endpoint = make_endpoint(targets[0], "https")
    for values, name in ((SLOWER, "Slow"), ([1000 / each for each in SLOWER], "Fast")):
        tests = [(make_plan(project, name), endpoint, "new")]
        make_history(project, values, begin=nights_ago(20), tests=tests)
    dots = overview().context["dots"]
    assert len(dots.dots) == 26
    fast, *usual, slow = dots.dots
    assert (fast.kind, slow.kind, {dot.kind for dot in usual}) == ("moved", "moved", {"usual"})
    assert "Slow HTTPS new, +9." in slow.text
    assert slow.x - dots.axis.one == pytest.approx(dots.axis.one - fast.x, abs=0.5)
    assert [name.text[:4] for name in dots.names] == ["Fast", "Slow"]


def test_dots_at_one_place_are_stacked_and_lead_to_their_rows(overview, project, targets):
    calm_tests(project, targets)
    found = overview().context["dots"].dots
    assert len({(dot.x, dot.y) for dot in found}) > len({dot.x for dot in found})
    dot = found[0]
    there = overview(**dict(pair.split("=") for pair in dot.query.split("&")))
    assert f'id="test-{dot.test}"' in there.content.decode()


def test_tests_that_moved_together_have_one_name(overview, project, targets):
    endpoint = make_endpoint(targets[0], "https")
    tests = [(make_plan(project), endpoint, "new") for _ in range(3)]
    make_history(project, SLOWER, begin=nights_ago(20), tests=tests)
    (name,) = overview().context["dots"].names
    assert name.text.startswith("3 tests of media +")


def test_every_target_that_moved_is_named_however_alike_they_moved(overview, project):
    begin, found = nights_ago(20), [f"a server with a rather long name {n}" for n in range(6)]
    for name in found:
        endpoint = make_endpoint(make_target(project, name))
        tests = [(make_plan(project), endpoint, "new") for _ in range(2)]
        make_history(project, SLOWER, begin=begin, tests=tests)
    named = overview().context["dots"].names
    assert sorted(each.text.partition(" +")[0] for each in named) == [
        f"2 tests of {name}" for name in found
    ]
    assert len({each.y for each in named}) == 6


def test_an_odd_test_is_a_ring(overview, project):
    make_history(project, ODD, begin=nights_ago(20))
    (dot,) = overview().context["dots"].dots
    assert dot.kind == "odd"


def test_without_a_figure_there_is_no_line_of_dots(overview, project):
    make_history(project, CALM, begin=nights_ago(20), trust="not_usable")
    response = overview()
    assert response.context["dots"] is None
    assert "All tests at a glance" not in text_of(response)


def test_pages_are_named_by_rows_and_say_what_follows(overview, project, targets):
    calm_tests(project, targets, n=130)
    media = targets[0].pk
    first = overview(open=media)
    assert "1 to 50 of 67" in text_of(first)
    second = overview(open=media, page=first.context["page"].next)
    assert "51 to 67 of 67" in text_of(second)
    assert not {row["named"].newest_test for row in rows_of(first)[1:]} & {
        row["named"].newest_test for row in rows_of(second) if "named" in row
    }


def headings(response) -> list[tuple[str, int, str]]:
    return [(each["title"], each["n"], each["note"]) for each in response.context["groups"]]


def test_tests_are_grouped_by_what_the_address_says(overview, project, targets):
    calm_tests(project, targets)
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


def test_a_fold_of_a_group_opens_and_the_grouping_stays(overview, project, targets):
    calm_tests(project, targets)
    fold = rows_of(overview(group="arm"))[0]
    response = overview(**dict(pair.split("=") for pair in fold["query"].split("&")))
    assert len(rows_of(response)) == 25
    page = response.content.decode()
    assert '<input type="hidden" name="group" value="arm">' in page
    assert '<a href="?group=plan">plan</a>' in page


def test_the_newest_value_has_its_interval_between_runs(overview, project):
    make_history(project, CALM, begin=nights_ago(20))
    (row,) = rows_of(overview())
    # Three runs 1 % apart: t(2, 97.5 %) · 0.257 / √3 = 4.303 · 0.148
    assert row["half_interval"].replace("\u202f", " ") == "± 0.64"
    make_history(project, CALM, begin=nights_ago(20), spread=(1.0,))
    assert "–" in [row["half_interval"] for row in rows_of(overview())]

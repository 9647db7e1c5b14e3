"""The history of tests: the page of one with every run, a project's overview, hostile queries."""

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.lifecycle import Trust
from campaigns.items import forms
from campaigns.models import Campaign, PlanVersion, Run, Test, TimeMark, TriageEntry
from tests.charts import labels_in_lanes, marked_points, panel
from tests.factories import make_endpoint, make_plan, make_target
from tests.histories import BEGIN, make_history
from tests.history.test_triage_services import CALM, SLOWER, nights_ago, note_history
from tests.history.test_triage_views import page as page
from tests.pages import csv_rows, shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def page_of(client, vera):
    client.force_login(vera)

    def page_of(test, **query):
        return client.get(reverse("history-test", args=[test.pk]), query)

    return page_of


@pytest.fixture
def overview(client, vera, project):
    client.force_login(vera)

    def overview(**query):
        return client.get(reverse("history", args=[project.pk]), query)

    return overview


def test_another_tls_library_draws_its_line_and_explains_a_change(page_of, project):
    (test,) = upgrade(project, tls_end("OpenSSL 4.0.3"), tls_end("OpenSSL 4.0.4"))
    page = page_of(test)
    words = "TLS library changed from OpenSSL 4.0.3 to OpenSSL 4.0.4"
    assert re.search(rf"Moved: slower by 9.6 % \[.*\] since {words}", shown_text(page))
    ((lane, text, _),) = labels_in_lanes(page.context["charts"])
    assert (lane, text) == ("environment", "TLS library")


def test_an_injector_that_begins_to_name_its_library_draws_no_line_for_that(page_of, project):
    (test,) = upgrade(project, tls_end(None), tls_end("OpenSSL 4.0.4"))
    page = page_of(test)
    assert "TLS library" not in shown_text(page)
    assert list(labels_in_lanes(page.context["charts"])) == []


def upgrade(project, before, after) -> list[Test]:
    """A history over TLS whose injectors had another end from the ninth campaign on."""
    endpoint = make_endpoint(make_target(project), "https")
    same = {"tests": [(make_plan(project), endpoint, "new")]}
    make_history(project, SLOWER[:8], end=before, **same)
    begin = BEGIN + timedelta(days=8)
    return make_history(project, SLOWER[8:], begin=begin, end=after, **same)


def tls_end(library, **agreement) -> dict:
    tls = [{"version": "TLSv1.3", "cipher": "AES", "count": 9, **agreement}]
    return {"tls": tls, "tls_library": library}


def test_versions_of_a_plan_are_one_history_with_a_mark(page_of, project):
    first, endpoint = make_plan(project), make_endpoint(make_target(project))
    second = PlanVersion.objects.create(plan=first.plan, number=2, spec=first.spec)
    make_history(project, CALM, tests=[(first, endpoint, "new")])
    later = BEGIN + timedelta(days=8)
    (test,) = make_history(project, CALM, tests=[(second, endpoint, "new")], begin=later)
    ((lane, text, at),) = labels_in_lanes(page_of(test).context["charts"])
    assert (lane, text) == ("plan", "v2")
    assert (later - timedelta(days=1)).timestamp() < at < later.timestamp()


def test_runs_that_are_not_usable_are_drawn_apart_and_never_count(page_of, project):
    same = {"tests": [(make_plan(project), make_endpoint(make_target(project)), "new")]}
    make_history(project, CALM, **same)
    (test,) = make_history(
        project, [90.0], begin=BEGIN + timedelta(days=8), trust=Trust.NO_ANSWER, **same
    )
    charts = page_of(test).context["charts"]
    value, last = panel(charts, "value"), charts.places.x[-1]
    assert marked_points(value, "bad") == [(last, 0)], "a cross at the foot"
    assert last not in [x for x, _ in marked_points(value, "http")]


def test_a_history_is_a_file_with_a_row_for_each_campaign(client, vera, project):
    client.force_login(vera)
    (test,) = make_history(project, SLOWER)
    rows = csv_rows(client.get(reverse("history-test-csv", args=[test.pk])))
    assert len(rows) == len(SLOWER)
    assert [float(row["value_us"]) for row in rows] == pytest.approx([v * 1000 for v in SLOWER])
    assert [bool(row["change"]) for row in rows] == [index == 8 for index in range(len(SLOWER))]


def rows_of(response) -> list[dict]:
    """Of the overview, under all its headings."""
    return [row for group in response.context["groups"] for row in group["rows"]]


def test_the_overview_has_what_changed_first(overview, project):
    calm = make_history(project, CALM, begin=nights_ago(20))
    slow = make_history(project, SLOWER, begin=nights_ago(20))
    fast = make_history(project, [1000 / each for each in SLOWER], begin=nights_ago(20))
    response = overview()
    pks = [row["named"].newest_test for row in rows_of(response)]
    assert pks == [slow[0].pk, fast[0].pk, calm[0].pk]


def test_the_overview_shows_ninety_days_unless_asked(overview, project):
    make_history(project, CALM, begin=nights_ago(200))
    assert rows_of(overview()) == []
    assert len(rows_of(overview(since="2020-01-01"))) == 1


def test_the_overview_narrows_by_target_plan_arm_and_tag(overview, project):
    (one,) = make_history(project, CALM, begin=nights_ago(20), tags=["nightly"])
    endpoint = make_endpoint(make_target(project), "https")
    tests = [(make_plan(project), endpoint, "keep-alive")]
    (two,) = make_history(project, CALM, begin=nights_ago(20), tests=tests)

    def pks(**query):
        return {row["named"].newest_test for row in rows_of(overview(**query))}

    assert pks() == {one.pk, two.pk}
    assert pks(target=endpoint.target_id) == {two.pk}
    assert pks(plan=one.plan_version.plan_id) == {one.pk}
    assert pks(arm="https keep-alive") == {two.pk}
    assert pks(tag="nightly") == {one.pk}


def test_what_moved_with_its_plan_has_direction_and_cause_everywhere(overview, client, project):
    version, endpoint = make_plan(project), make_endpoint(make_target(project))
    newer = PlanVersion.objects.create(plan=version.plan, number=2, spec=version.spec)
    make_history(project, SLOWER[:8], begin=nights_ago(20), tests=[(version, endpoint, "new")])
    make_history(project, SLOWER[8:], begin=nights_ago(12), tests=[(newer, endpoint, "new")])
    assert "moved: +9.6 % since version 2 of the plan" in shown_text(overview())
    (test,) = client.get(f"/api/v1/projects/{project.pk}/history/").json()["tests"]
    assert (test["standing"], test["change"]["direction"]) == ("moved", "slower")
    (row,) = csv_rows(client.get(reverse("history-csv", args=[project.pk])))
    assert (row["direction"], row["causes"]) == ("slower", "Plan version: v1 to v2")


def test_without_a_figure_there_is_no_line_of_dots(overview, project):
    make_history(project, CALM, begin=nights_ago(20), trust="no_answer")
    assert overview().context["dots"] is None


def test_the_newest_value_has_its_interval_between_runs(overview, project):
    make_history(project, CALM, begin=nights_ago(20))
    (row,) = rows_of(overview())
    # Three runs 1 % apart: t(2, 97.5 %) · 0.257 / √3 = 4.303 · 0.148
    assert row["interval"] == "25.1 to 26.3"
    make_history(project, CALM, begin=nights_ago(20), spread=(1.0,))
    assert "–" in [row["interval"] for row in rows_of(overview())]


def test_percentiles_have_both_ends_on_pages_in_files_and_over_rest(page_of, overview, project):
    """Of the runs on a quiet machine; of a busy one's where there is no other."""
    busy = {"trust": Trust.BUSY, "lows_us": {"p50": 11e3, "p95": 20e3}}
    arm = [(make_plan(project), make_endpoint(make_target(project)), "new")]
    calm = {"tests": arm, "lows_us": {"p95": 24e3}}
    make_history(project, CALM, begin=nights_ago(20), **calm)
    (test,) = make_history(project, [40.0], begin=nights_ago(2), tests=arm, **busy)
    page = page_of(test, metric="p95")
    last, before = (row for row in page.context["rows"][:2])
    assert (last["value"], last["others"]) == ("20.0 to 40.0", ["11.0 to 20.0", "60.0"])
    assert "busy" in last["why"]
    assert before["value"] == f"24.0 to {CALM[-1]:.1f}"
    rest = page.client.get(f"/api/v1/tests/{test.pk}/history/").json()["points"][-1]
    assert (rest["p95_low_us"], rest["p95_us"], rest["p99_low_us"]) == (20e3, 40e3, None)
    *_, row = csv_rows(page.client.get(reverse("history-test-csv", args=[test.pk])))
    assert (row["p95_low_us"], row["p95_us"], row["p99_low_us"]) == ("20000.0", "40000.0", "")
    (row,) = rows_of(overview(metric="p95"))
    assert row["newest"] == "20.0 to 40.0"
    # Every run has its own.
    assert page.context["run_rows"][0]["times"][2].startswith("20.0 to ")


def add_deploy(project, night: float, text="version 1.4.2", **fields) -> TimeMark:
    """Some nights after the first campaign."""
    at = BEGIN + timedelta(days=night)
    return TimeMark.objects.create(project=project, text=text, key=text, at=at, **fields)


def test_a_deploy_is_a_line_in_the_chart_and_a_row_in_the_table(page_of, project):
    (test,) = make_history(project, SLOWER)
    mark = add_deploy(project, 7.5, link="https://ci.example/12")
    add_deploy(project, 3, "of another target", target=make_target(project))
    response = page_of(test)
    assert list(labels_in_lanes(response.context["charts"])) == [
        ("deploys", "version 1.4.2", int(mark.at.timestamp()))
    ]
    marks = [row.get("mark") for row in response.context["rows"]]
    assert marks[:7] == [None] * 6 + [mark]
    assert 'href="https://ci.example/12"' in response.content.decode()


def test_the_file_names_the_marks_before_each_campaign(client, vera, project):
    client.force_login(vera)
    (test,) = make_history(project, CALM)
    add_deploy(project, 2.5), add_deploy(project, 2.6, "version 1.4.3")
    rows = csv_rows(client.get(reverse("history-test-csv", args=[test.pk])))
    assert [row["marks"] for row in rows[2:5]] == ["", "version 1.4.2; version 1.4.3", ""]


def test_a_long_history_has_its_older_campaigns_week_by_week(page_of, project):
    (test,) = make_history(project, CALM * 20)
    charts = page_of(test).context["charts"]
    assert 60 + 100 / 7 <= len(charts.places.x) <= 60 + 100 / 7 + 2
    value = panel(charts, "value")
    (whiskers,) = [each for each in value.series if each.low]
    assert (whiskers.low[1], whiskers.high[1]) == (25.7, 26.3)
    assert charts.places.links[1] == "?since=2026-11-02&until=2026-11-08&metric=typical"
    assert "7 campaigns" in value.reads[1]
    week = page_of(test, since="2026-11-02", until="2026-11-08").context["charts"]
    assert len(week.places.x) == 7


def test_the_same_words_on_another_day_are_another_mark(client, bob, project, monkeypatch):
    client.force_login(bob)
    address, deploy = reverse("mark-list", args=[project.pk]), {"text": "deploy"}
    client.post(address, deploy)
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(forms, "timezone", SimpleNamespace(now=lambda: tomorrow))
    for _ in range(2):  # pressed twice
        client.post(address, deploy)
        assert TimeMark.objects.count() == 2


ECHO = [2.0, 2.01, 1.99, 2.0, 2.02, 1.98, 2.0, 2.01]


def runs_of(response) -> list[Run]:
    return [row["run"] for row in response.context["run_rows"]]


def test_every_run_of_every_campaign_is_listed_the_newest_first(page_of, project):
    (test,) = make_history(project, [20.0, 30.0])
    response = page_of(test)
    assert [run.campaign.name for run in runs_of(response)] == ["night 1"] * 3 + ["night 0"] * 3
    row = response.context["run_rows"][0]
    assert row["times"] == ("18.2", "15.2", "30.3", "45.5")
    assert row["errors"].startswith("0.1")


def test_runs_are_paged_by_the_last_one_of_a_page(page_of, project):
    (test,) = make_history(project, CALM * 2)
    first = page_of(test)
    second = page_of(test, runs=first.context["runs"].next)
    both = [*runs_of(first), *runs_of(second)]
    assert sorted(run.pk for run in both) == sorted(Run.objects.values_list("pk", flat=True))
    assert len(runs_of(second)) == 48 - 25


def test_campaigns_are_paged_by_the_last_one_seen(page_of, project):
    (test,) = make_history(project, CALM * 4)
    name = page_of(test).context["page"].next
    make_history(
        project,
        [26.0],
        tests=[(test.plan_version, test.endpoint, "new")],
        begin=BEGIN + timedelta(days=60),
    )
    points = [row["point"] for row in page_of(test, page=name).context["rows"]]
    assert [point.campaign_name for point in points] == [f"night {n}" for n in range(6, -1, -1)]


def test_a_run_that_is_not_usable_has_its_figures_on_its_own_page(page_of, project):
    (test,) = make_history(project, [20.0], trust=Trust.NO_ANSWER)
    row = page_of(test).context["run_rows"][0]
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


def test_the_reference_is_drawn_over_the_same_days(page_of, project, echo):
    charts = page_of(make_both(project, echo, reference=[*ECHO, 2.0, 2.0])).context["charts"]
    x, y = zip(*marked_points(panel(charts, "reference"), "ink-2"), strict=True)
    assert list(y) == pytest.approx(ECHO)
    assert list(x) == charts.places.x


def test_the_reference_of_most_of_its_campaigns_is_taken(page_of, project, echo):
    plan, endpoint = make_plan(project), make_endpoint(make_target(project))
    make_history(project, [1.0] * 8, tests=[(make_plan(project), echo, "keep-alive")])
    tests = [(plan, endpoint, "new"), (plan, echo, "keep-alive")]
    test, _ = make_history(project, CALM, tests=tests)
    assert page_of(test).context["named"].reference.plan == plan.plan


def test_a_query_that_makes_no_sense_shows_all(overview, project):
    make_history(project, CALM, begin=nights_ago(20))
    for query in [
        {"group": "moon", "open": "<b>"},
        {"page": "with.test-0"},
        {"page": "after."},
        {"tag": "\0"},
        {"plan": "9" * 30},
        {"target": "-1", "arm": "gopher new", "metric": "p7"},
    ]:
        response = overview(**query)
        assert response.context["n_tests"] == 1
        assert "<b>" not in response.content.decode().split("<form")[1]


def test_a_change_that_is_no_entry_of_this_test_shows_the_newest_one(page, project):
    (test,) = note_history(project, SLOWER)
    response = page("history-test", test.pk, change="x")
    assert response.context["triage"]["row"]["entry"] == TriageEntry.objects.get()


def test_an_entry_whose_campaigns_are_gone_can_be_acknowledged(client, page, project):
    note_history(project, SLOWER)
    Campaign.objects.all().delete()
    (row,) = page("history", project.pk).context["triage"]["rows"]
    assert (row["url"], row["can_acknowledge"]) == ("", True)
    client.post(reverse("triage-edit", args=[row["entry"].pk]), {"acknowledged": "on"})
    assert TriageEntry.objects.get().acknowledged_at


def test_of_very_many_campaigns_the_newest_are_shown_and_the_others_said(
    page_of, project, monkeypatch
):
    monkeypatch.setattr("campaigns.history.queries.history.MOST_CAMPAIGNS", 8)
    (test,) = make_history(project, [26.0] * 11)
    assert "the newest 8; 3 older ones are left out" in shown_text(page_of(test))

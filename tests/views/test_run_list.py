"""The list of runs: filters in the address, rows, pages."""

from datetime import UTC, datetime
from html import escape

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Run
from tests.factories import (
    make_run,
    make_test_of,
)
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(project):
    """A finished run of plan A on target one, a waiting one of plan B on target two."""
    made = [make_run(make_test_of(project, *names)) for names in (("A", "one"), ("B", "two"))]
    measure(made[0], 12_000)
    return made


@pytest.fixture
def listed(client, vera, project):
    client.force_login(vera)

    def listed(**query):
        response = client.get(reverse("run-list", args=[project.pk]), query)
        return {run.pk for run, _ in response.context["rows"]}

    return listed


def test_filters_narrow_by_target_plan_campaign_state_and_time(listed, runs):
    finished, waiting = runs
    assert listed(target=finished.target_id) == {finished.pk}
    assert listed(plan=waiting.test.plan_version.plan_id) == {waiting.pk}
    assert listed(campaign=finished.campaign_id) == {finished.pk}
    assert listed(state="going") == {waiting.pk}
    assert listed(state="complete") == {finished.pk}
    assert listed(measurement=finished.trust) == {finished.pk}
    assert listed(target_state=finished.target_state) == {finished.pk}
    assert listed(precision=finished.precision) == {finished.pk}
    assert listed(measurement="not_usable") == set()
    assert listed(since="1") == {finished.pk, waiting.pk}


def test_a_filter_that_makes_no_sense_filters_nothing(listed, runs):
    assert listed(target="x", plan="99999", state="blue", since="forever") == {r.pk for r in runs}


def test_figures_are_those_of_the_summary_and_a_dash_says_why(client, vera, project, runs):
    client.force_login(vera)
    rows = dict(client.get(reverse("run-list", args=[project.pk])).context["rows"])
    n, rate, p50, *_ = rows[runs[0]]
    assert (n.text, rate.text, p50.text) == ("2,000", "200", "12.0")
    assert rows[runs[1]][0].text == "–"


def test_a_row_names_its_run_escaped_and_when_it_ended(client, vera, project, runs):
    client.force_login(vera)
    named = "<b>nightly & more</b>"
    Campaign.objects.filter(pk=runs[0].campaign_id).update(name=named)
    ended = datetime(2026, 9, 3, 14, 5, 6, tzinfo=UTC)
    Run.objects.filter(pk=runs[0].pk).update(ended_at=ended)
    address = reverse("run-list", args=[project.pk])
    page = client.get(address, {"candidate": runs[0].pk}).content.decode()
    _, waiting, finished = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")
    assert f'href="{reverse("run-detail", args=[runs[0].pk])}">{runs[0].label}</a>' in finished
    assert escape(named) in finished
    assert named not in finished
    assert '<td class="num" title="3 Sep 2026 14:05:06">3 Sep 14:05</td>' in finished
    assert f'value="{runs[0].pk}" checked' in finished
    assert f'value="{runs[1].pk}" aria-label="Compare run {runs[1].label}">' in waiting
    assert '<td class="num">–</td></tr>' in waiting

"""Triage on the pages: what is open in a project, beside a test's history, and all entries."""

import csv
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.models import TriageEntry
from tests.history.test_triage_services import SLOWER, SLOWER_STILL, arm_on, noted
from tests.history.test_triage_services import target as target
from tests.pages import shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, bob):
    client.force_login(bob)
    return lambda name, *args, **query: client.get(reverse(name, args=args), query)


@pytest.fixture
def judge(client, bob):
    def judge(**given):
        client.force_login(bob)
        entry = TriageEntry.objects.latest("pk")
        path = reverse("triage-judge", args=[entry.pk])
        return client.post(path, {"seen": entry.state, **given}, follow=True)

    return judge


def test_the_overview_begins_with_what_is_open(page, project, target):
    noted(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    shown = shown_text(page("history", project.pk))
    assert "+9.6 % on checkout-api, 2 tests" in shown
    assert "26.0 → 28.5 ms" in shown


def test_an_acknowledged_change_is_quiet_until_the_test_moves_again(page, project, target, judge):
    arms = [arm_on(target)]
    noted(project, SLOWER, tests=arms)
    assert "1 slower" in shown_text(page("history", project.pk))
    judge(state="acknowledged")
    assert "No change in 1 test." in shown_text(page("history", project.pk))
    (chart,) = page("history", project.pk).context["dots"].panels
    assert [words for _, words in chart.keys] == ["unchanged"]
    noted(project, SLOWER_STILL, tests=arms, begin=6)
    assert "1 slower" in shown_text(page("history", project.pk))


def test_a_tests_page_has_evidence_form_and_log(page, project, target, judge):
    _, other = noted(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    response = judge(state="expected", why="Tax is looked up.", link="https://x.y/9", test=other.pk)
    assert response.redirect_chain[0][0].startswith(reverse("history-test", args=[other.pk]))
    shown = shown_text(response)
    assert "26.0 → 28.5 ms" in shown
    assert "“Tax is looked up.” https://x.y/9" in shown


def test_all_entries_are_listed_by_state(page, project, judge):
    noted(project, SLOWER)
    judge(state="not_real", why="Noise.")
    noted(project, SLOWER)
    switches = page("triage-list", project.pk).context["switches"]
    assert [each[:2] for each in switches] == [("all", 2), ("open", 1), ("not real", 1)]
    response = page("triage-list", project.pk, state="not_real")
    assert [row["state"] for row in response.context["rows"]] == ["not real"]


def test_all_entries_are_a_file_with_a_row_for_each_change(page, project, target, judge):
    noted(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    judge(state="fixed", why="=1+1")
    text = page("triage-csv", project.pk).content.decode()
    rows = list(csv.DictReader(StringIO(text)))
    assert [(row["state"], row["who"], row["why"]) for row in rows] == [
        ("fixed", "bob", "'=1+1")
    ] * 2
    assert float(rows[0]["change"]) == pytest.approx(0.096, abs=0.002)

"""Triage on the pages: what is open in a project, beside a test's history, and all entries."""

import pytest
from django.urls import reverse

from campaigns.models import TriageEntry
from tests.history.test_triage_services import SLOWER, SLOWER_STILL, arm_on, note_history
from tests.history.test_triage_services import target as target
from tests.pages import csv_rows, shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, bob):
    client.force_login(bob)
    return lambda name, *args, **query: client.get(reverse(name, args=args), query)


@pytest.fixture
def edit(client, bob):
    def edit(**fields):
        client.force_login(bob)
        entry = TriageEntry.objects.latest("pk")
        return client.post(reverse("triage-edit", args=[entry.pk]), fields, follow=True)

    return edit


def test_the_overview_begins_with_what_is_open(page, project, target):
    note_history(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    text = shown_text(page("history", project.pk))
    assert "+9.6 % on checkout-api, 2 tests" in text
    assert "26.0 → 28.5 ms" in text


def test_an_acknowledged_change_is_quiet_until_the_test_moves_again(page, project, target, edit):
    arms = [arm_on(target)]
    note_history(project, SLOWER, tests=arms)
    assert "1 slower" in shown_text(page("history", project.pk))
    edit(acknowledged="on")
    assert "No change in 1 test." in shown_text(page("history", project.pk))
    (chart,) = page("history", project.pk).context["dots"].panels
    assert [words for _, words in chart.keys] == ["unchanged"]
    note_history(project, SLOWER_STILL, tests=arms, begin=6)
    assert "1 slower" in shown_text(page("history", project.pk))


def test_a_tests_page_has_evidence_and_what_people_said(page, project, target, edit):
    _, other = note_history(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    words = {"note": "Tax is looked up.", "link": "https://x.y/9"}
    response = edit(**words, acknowledged="on", test=other.pk)
    assert response.redirect_chain[0][0].startswith(reverse("history-test", args=[other.pk]))
    assert response.context["triage"]["form"] == {"acknowledged": True, **words}
    assert "26.0 → 28.5 ms" in shown_text(response)


def test_one_click_in_a_list_acknowledges_and_keeps_the_note(page, project, edit):
    note_history(project, SLOWER)
    edit(note="Known.", link="")
    edit(acknowledged="on")
    entry = TriageEntry.objects.get()
    assert (entry.acknowledged_at is None, entry.note) == (False, "Known.")


def test_what_was_typed_and_refused_is_typed_once(page, project, edit):
    note_history(project, SLOWER)
    form = edit(note="Known.", link="nowhere").context["triage"]["form"]
    assert (form["note"], form["link"]) == ("Known.", "nowhere")
    assert TriageEntry.objects.get().note == ""


def test_all_entries_are_listed_or_only_the_open_ones(page, project, edit):
    note_history(project, SLOWER)
    edit(acknowledged="on")
    note_history(project, SLOWER)
    switches = page("triage-list", project.pk).context["switches"]
    assert [each[:2] for each in switches] == [("all", 2), ("open", 1), ("acknowledged", 1)]
    (row,) = page("triage-list", project.pk, acknowledged="false").context["rows"]
    assert row["entry"] == TriageEntry.objects.latest("pk")


def test_all_entries_are_a_file_with_a_row_for_each_change(page, project, target, edit):
    note_history(project, SLOWER, tests=[arm_on(target), arm_on(target, "https")])
    edit(acknowledged="on", note="=1+1")
    rows = csv_rows(page("triage-csv", project.pk))
    assert [(row["acknowledged_by"], row["note"]) for row in rows] == [("bob", "'=1+1")] * 2
    assert float(rows[0]["change"]) == pytest.approx(0.096, abs=0.002)

"""A reference in histories and triage is no test: it tells whether the environment moved."""

import pytest
from django.urls import reverse

from campaigns.models import TriageEntry
from tests.factories import make_target
from tests.history.test_triage_services import CALM, SLOWER, arm_on, note_history
from tests.history.test_triage_views import page as page
from tests.history.test_views import rows_of
from tests.pages import csv_rows, shown_text

pytestmark = pytest.mark.django_db

ECHO_MOVED = [each / 10 for each in SLOWER]
AS_WELL = "or the environment: the reference moved by +9.6 % as well"
LONG_CALM = [*CALM, *CALM[:6]]


@pytest.fixture
def api(client, bob):
    client.force_login(bob)
    return lambda path, **query: client.get(f"/api/v1/{path}", query)


@pytest.fixture
def nights(project):
    """A test and the reference with these p95, noted; the newest test of both."""

    def nights(values, of_reference):
        names = {"checkout-api": (values, []), "echo": (of_reference, ["reference"])}
        targets = {name: make_target(project, name, tags=tags) for name, (_, tags) in names.items()}
        return [
            note_history(project, levels, tests=[arm_on(targets[name])])[0]
            for name, (levels, _) in names.items()
        ]

    return nights


def test_where_only_the_reference_moved_nothing_is_open(page, api, project, nights):
    nights(LONG_CALM, ECHO_MOVED)
    response = page("history", project.pk)
    assert "No change in 1 test." in shown_text(response)
    assert [row["named"].is_of_reference for row in rows_of(response)] == [False, True]
    assert len(response.context["dots"].places.x) == 1
    assert api(f"projects/{project.pk}/triage/").json() == []


def test_where_both_moved_it_may_be_the_environment(page, project, nights):
    test, _ = nights(SLOWER, ECHO_MOVED)
    overview, of_test = page("history", project.pk), page("history-test", test.pk)
    assert "1 slower of 1 test." in shown_text(overview)
    for response in (overview, of_test, page("triage-list", project.pk)):
        assert AS_WELL in shown_text(response)


def test_programs_are_told_as_well(page, api, project, nights):
    test, echo = nights(SLOWER, ECHO_MOVED)
    ratio = pytest.approx(1.096, abs=0.002)
    (entry,) = api(f"projects/{project.pk}/triage/").json()
    assert (entry["target_name"], entry["changes"][0]["reference_ratio"]) == ("checkout-api", ratio)
    history = api(f"projects/{project.pk}/history/", target=test.endpoint.target_id).json()
    assert [each["test"] for each in history["tests"]] == [test.pk]
    assert [each["test"] for each in history["references"]] == [echo.pk]
    assert history["tests"][0]["change"]["reference_ratio"] == ratio
    assert api(f"tests/{test.pk}/history/").json()["changes"][0]["reference_ratio"] == ratio
    rows = csv_rows(page("history-csv", project.pk))
    assert [row["is_reference"] for row in rows] == ["", "yes"]
    (row,) = csv_rows(page("triage-csv", project.pk))
    assert float(rows[0]["reference_change"]) == pytest.approx(float(row["reference_change"]))


def test_a_reference_has_no_entry_to_judge(client, page, api, project, nights):
    _, echo = nights(LONG_CALM, ECHO_MOVED)
    entry = TriageEntry.objects.get()
    assert page("history-test", echo.pk).context["triage"] == {}
    assert api(f"triage/{entry.pk}/").status_code == 404
    fields = {"acknowledged": "on"}
    assert client.post(reverse("triage-edit", args=[entry.pk]), fields).status_code == 404

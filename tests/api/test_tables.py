"""Tables over REST: JSON and CSV have the same figures, and the description has every field."""

import csv
import re
from io import StringIO

import pytest
from django.utils import timezone

from campaigns.api.tables import CampaignTablesSerializer, RowSerializer
from campaigns.domain.shown.metrics import METRICS
from campaigns.models import Campaign
from campaigns.services.summaries import summarise_run
from tests.api.conftest import client_of
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import https_campaign, run_in_blocks
from tests.values import make_second


@pytest.fixture
def campaign(project) -> Campaign:
    """HTTP against HTTPS, three repeats of each."""
    now = timezone.now()
    campaign, tests = https_campaign(project, started_at=now, finished_at=now)
    run_in_blocks(tests, [[9_630, 9_643, 9_656], [12_347, 12_360, 12_373]])
    return campaign


def as_number(text: str) -> float | str | None:
    """A cell's text as the value that it stands for."""
    text = text.removeprefix("~")
    if text in {"–", ""}:
        return None
    plain = text.replace(",", "").replace("\u2212", "-")
    return float(plain) if re.fullmatch(r"[+-]?\d+(\.\d+)?", plain) else text


def values_of(table: dict) -> list[list]:
    keys = [column["key"] for column in table["columns"]]
    return [[row["values"][key] for key in keys] for row in table["rows"]]


def rows_of_csv(text: str) -> list[list[str]]:
    """The rows that hold figures, without titles, heads and blank lines."""
    blocks = re.split(r"\r\n\r\n", text.strip())
    return [row[1:] for block in blocks for row in list(csv.reader(StringIO(block)))[2:]]


def tables_in(answer: dict) -> list[dict]:
    if "tables" in answer:
        return answer["tables"]
    return [each["table"] for each in (*answer["tests"], *answer["overheads"])]


@pytest.fixture(params=["campaigns", "runs"])
def noun_and_pk(request, campaign):
    if request.param == "campaigns":
        return "campaigns", campaign.pk
    return "runs", campaign.runs.order_by("position").last().pk


def test_csv_has_the_figures_of_json(api, noun_and_pk):
    noun, pk = noun_and_pk
    tables = tables_in(api.get(f"/api/v1/{noun}/{pk}/tables/").json())
    answer = api.get(f"/api/v1/{noun}/{pk}/tables.csv?format=blocks")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment;")
    written = [[as_number(cell) for cell in row] for row in rows_of_csv(answer.content.decode())]
    told = [row for table in tables for row in values_of(table)]
    # Some tables have a note after their figures.
    without_notes = [row[: len(values)] for row, values in zip(written, told, strict=True)]
    assert without_notes == told


def test_csv_is_the_file_that_the_page_offers(api, alice, noun_and_pk):
    noun, pk = noun_and_pk
    from_page = client_of(alice).get(f"/{noun}/{pk}/tables.csv")
    assert from_page.getvalue() == api.get(f"/api/v1/{noun}/{pk}/tables.csv").getvalue()


def test_the_file_of_runs_takes_the_filters_of_the_list(api, campaign):
    test = campaign.tests.first()
    text = api.get(f"/api/v1/runs.csv?test={test.pk}").getvalue().decode()
    rows = list(csv.DictReader(StringIO(text)))
    assert {row["test_id"] for row in rows} == {str(test.pk)}
    assert len(rows) == 3
    assert api.get("/api/v1/runs.csv?tset=1").status_code == 400


@pytest.mark.parametrize("asked", ["page=2", "page_size=1", "format=blocks"])
def test_the_file_of_runs_has_no_pages_and_one_format(api, campaign, asked):
    answer = api.get(f"/api/v1/runs.csv?{asked}")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"].keys() == {asked.partition("=")[0]}


def test_the_description_has_every_field_of_the_answer(api, campaign):
    told = api.get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()
    assert set(told) == set(CampaignTablesSerializer().fields)
    rows = [row for table in tables_in(told) for row in table["rows"]]
    assert set().union(*rows) <= set(RowSerializer().fields)


def test_the_description_has_every_field_of_a_failure_s_row(api, project):
    now = timezone.now()
    test = make_test(make_campaign(project))
    run = make_run(test, state="done", outcome="complete", t0=now, ended_at=now)
    store_second(run, make_second(0, counters={"failed": 2}, errors={"timeout_total": 2}))
    summarise_run(run)
    tables = api.get(f"/api/v1/runs/{run.pk}/tables/").json()["tables"]
    rows = [row for table in tables for row in table["rows"]]
    assert {"error", "status"} < set().union(*rows) <= set(RowSerializer().fields)


def test_a_draft_has_an_answer_without_figures(api, project):
    draft = make_campaign(project)
    make_test(draft)
    answer = api.get(f"/api/v1/campaigns/{draft.pk}/tables/").json()
    assert answer["n_done"] == 0
    assert answer["has_word"] is False


def test_a_run_that_waits_has_tables_without_figures(api, project):
    run = make_run(make_test(make_campaign(project)))
    assert api.get(f"/api/v1/runs/{run.pk}/tables/").status_code == 200
    assert api.get(f"/api/v1/runs/{run.pk}/tables.csv").status_code == 200


def test_every_column_is_a_metric_of_the_registry(api, campaign, noun_and_pk):
    noun, pk = noun_and_pk
    known = {row["key"] for row in api.get("/api/v1/metrics/").json()}
    assert known == set(METRICS)
    for table in tables_in(api.get(f"/api/v1/{noun}/{pk}/tables/").json()):
        if table["key"] != "vitals":  # that one has a column for each injector
            unknown = {column["key"] for column in table["columns"]} - known
            assert not unknown, table["title"]


def test_a_refusal_at_a_csv_address_is_json_all_the_same(client, campaign):
    answer = client.get(
        f"/api/v1/campaigns/{campaign.pk}/tables.csv", headers={"Accept": "text/csv"}
    )
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"

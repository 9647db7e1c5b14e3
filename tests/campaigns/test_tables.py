"""Tables over REST: page, JSON and CSV say the same of campaigns, sweeps and searches."""

import csv
import re
from dataclasses import asdict
from io import StringIO

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.api.tables import CampaignTablesSerializer, RowSerializer
from campaigns.domain.analysis.capacity import RULE_VERSION
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.metrics import METRICS
from campaigns.models import Campaign, Endpoint, PlanVersion
from campaigns.runs.services import summarise_run
from tests.cast import client_of
from tests.engine.scenes import host
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.kept_cast import alice as alice
from tests.kept_cast import project as project
from tests.machines.test_queries import tell
from tests.measured import https_campaign, run_in_blocks
from tests.pages import csv_rows
from tests.searches import end_trial, make_judgement, searching
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def campaign_of_the_file(project_of_the_file) -> Campaign:
    """HTTP against HTTPS, three repeats of each."""
    campaign, tests = https_campaign(project_of_the_file, **just_now())
    run_in_blocks(tests, [[9_630, 9_643, 9_656], [12_347, 12_360, 12_373]])
    return campaign


@pytest.fixture
def campaign(campaign_of_the_file, project) -> Campaign:
    return Campaign.objects.get(pk=campaign_of_the_file.pk)


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


def test_csv_is_the_file_that_the_page_offers(api, alice, noun_and_pk):
    noun, pk = noun_and_pk
    from_page = client_of(alice).get(f"/{noun}/{pk}/tables.csv")
    assert from_page.getvalue() == api.get(f"/api/v1/{noun}/{pk}/tables.csv").getvalue()


def test_the_file_of_runs_takes_the_filters_of_the_list(api, campaign):
    test = campaign.tests.first()
    rows = csv_rows(api.get(f"/api/v1/runs.csv?test={test.pk}"))
    assert {row["test_id"] for row in rows} == {str(test.pk)}
    assert len(rows) == 3
    assert api.get("/api/v1/runs.csv?tset=1").status_code == 400


@pytest.mark.parametrize("query", ["page=2", "page_size=1", "format=blocks"])
def test_the_file_of_runs_has_no_pages_and_one_format(api, campaign, query):
    answer = api.get(f"/api/v1/runs.csv?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"].keys() == {query.partition("=")[0]}


def test_the_description_has_every_field_of_the_answer(api, campaign):
    answer = api.get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()
    assert set(answer) == set(CampaignTablesSerializer().fields)
    rows = [row for table in tables_in(answer) for row in table["rows"]]
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
    keys = {row["key"] for row in api.get("/api/v1/metrics/").json()}
    assert keys == set(METRICS)
    for table in tables_in(api.get(f"/api/v1/{noun}/{pk}/tables/").json()):
        if table["key"] != "vitals":  # that one has a column for each injector
            unknown = {column["key"] for column in table["columns"]} - keys
            assert not unknown, table["title"]


def test_a_refusal_at_a_csv_address_is_json_all_the_same(client, campaign):
    answer = client.get(
        f"/api/v1/campaigns/{campaign.pk}/tables.csv", headers={"Accept": "text/csv"}
    )
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"


MEANS_US = {"apache": {1: 10_000, 2: 20_000}, "nginx": {1: 8_000, 2: 22_000}}


@pytest.fixture
def shape(request, project):
    """Two targets at two plans (a matrix), or one plan with two numbers of injectors (sweeps)."""
    campaign = make_campaign(project, repeats=3, **just_now())
    versions = {1: make_plan(project, "one"), 2: make_plan(project, "two")}
    tests, means = [], []
    for name, values in MEANS_US.items():
        endpoint = make_endpoint(make_target(project, name))
        for n, mean_us in values.items():
            fields = {"version": versions[n]} if request.param == "matrix" else {"injectors": n}
            version = fields.pop("version", versions[1])
            tests.append(make_test(campaign, version, endpoint=endpoint, **fields))
            means.append([mean_us, 1.01 * mean_us, 1.005 * mean_us])
    run_in_blocks(tests, means, n=200)
    return campaign


def shape_tables(api, campaign, query: str = "") -> list[dict]:
    answer = api.get(f"/api/v1/campaigns/{campaign.pk}/tables/{query}").json()
    return [answer["matrix"]] if answer["matrix"] else answer["sweeps"]


@pytest.mark.parametrize("query", ["", "?relative=2"])
@pytest.mark.parametrize("shape", ["matrix", "sweep"], indirect=True)
def test_csv_of_a_shape_has_the_figures_of_json(api, shape, query):
    with_format = f"?format=blocks{query.replace('?', '&')}"
    text = api.get(f"/api/v1/campaigns/{shape.pk}/tables.csv{with_format}").content.decode()
    rows = [[as_number(_plain(cell)) for cell in row] for row in rows_of_csv(text)]
    rows_of_json = [row for table in shape_tables(api, shape, query) for row in values_of(table)]
    assert rows_of_json
    for row in rows_of_json:
        assert row in [each[: len(row)] for each in rows]


@pytest.mark.parametrize("address", ["tables/?", "tables.csv?format=blocks&"])
@pytest.mark.parametrize("shape", ["matrix", "sweep"], indirect=True)
def test_a_column_that_is_none_is_refused_by_field(api, shape, address):
    for column in ("3", "0", "nginx", ""):
        answer = api.get(f"/api/v1/campaigns/{shape.pk}/{address}relative={column}")
        assert answer.status_code == 400, column
        assert answer.json()["error"]["fields"].keys() == {"relative"}


def _plain(cell: str) -> str:
    """The number of trusted runs, of all that ended: 3 of 3."""
    return cell.partition(" of ")[0]


def test_the_page_and_csv_of_a_search_have_the_trials_of_json(as_searcher, capacity_search):
    trials = as_searcher.get(f"/api/v1/campaigns/{capacity_search.pk}/search/").json()["trials"]
    rows = csv_rows(as_searcher.get(f"/api/v1/campaigns/{capacity_search.pk}/search.csv"))
    names = ("trial", "rate_per_s", "result")
    of_csv = [tuple(row[name] for name in names) for row in rows]
    assert of_csv == [tuple(str(trial[name]) for name in names) for trial in trials]
    page = as_searcher.get(f"/campaigns/{capacity_search.pk}/?trials=all").content.decode()
    assert all(f'id="trial-{trial["trial"]}"' in page for trial in trials)


@pytest.fixture
def body(project):
    host(slots=8)
    endpoint = make_endpoint(make_target(project))
    cell = {"plan": make_plan(project).plan_id, "endpoint": endpoint.pk}
    rates = {"start_per_s": 50, "limit_per_s": 2000}
    return {"project": project.pk, "name": "how much", "cell": cell, **rates}


def post(api, body: dict):
    return api.post("/api/v1/searches/", body, format="json")


def test_a_search_is_started_with_its_objective(api, body):
    answer = post(api, body | {"objective": ["p95 < 300 ms", "errors < 1 %"]})
    assert answer.status_code == 201
    search = answer.json()
    assert search["objective"] == ["p95 < 300 ms", "errors < 1 %"]
    assert (search["sentence"], search["ending"]) == ("Searching… no results yet.", None)
    assert Campaign.objects.get(pk=search["campaign"]).runs.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"start_per_s": 500, "limit_per_s": 100}, "start_per_s"),
        ({"longest_s": 1}, "longest_s"),
        ({"objective": ["p95 <"]}, "objective"),
    ],
)
def test_what_could_not_start_has_no_estimate_and_the_same_sentence(api, body, wrong, field):
    request = {**body, "objective": ["p95 < 300 ms"], **wrong}
    refusal = post(api, request)
    estimate = api.post("/api/v1/searches/estimate/", request, format="json")
    assert (refusal.status_code, estimate.status_code) == (400, 400)
    assert field in refusal.json()["error"]["fields"]
    assert estimate.json() == refusal.json()


def test_the_estimate_is_the_one_beside_the_form_and_starts_nothing(api, client, alice, body):
    request = body | {"trial_s": 10, "longest_s": 300}
    estimate = api.post("/api/v1/searches/estimate/", request, format="json").json()
    endpoint = Endpoint.objects.get(pk=body["cell"]["endpoint"])
    fields = {
        "plans": PlanVersion.objects.get(plan=body["cell"]["plan"]).pk,
        "targets": endpoint.target_id,
        "endpoints": endpoint.pk,
        "modes": "new",
        "limit_per_s": 2000,
    }
    client.force_login(alice)
    address = reverse("search-estimate", args=[body["project"]])
    context = client.post(address, fields | {"trial_s": 10, "longest_min": 5}).context
    cost = asdict(context["cost"])
    assert {name: estimate[name] for name in cost} == cost
    assert [each["text"] for each in estimate["checks"]] == [
        each.text for each in context["checks"]
    ]
    assert estimate["missing_s"] > 0
    assert not Campaign.objects.filter(name=body["name"]).exists()


def test_the_answer_has_its_interval_and_every_trial(as_searcher, capacity_search):
    answer = as_searcher.get(f"/api/v1/campaigns/{capacity_search.pk}/search/").json()
    assert answer["ending"] == "found"
    assert answer["capacity"]["low"] < 1850 < answer["capacity"]["high"]
    assert len(answer["trials"]) == capacity_search.runs.count()
    first = answer["trials"][0]
    assert (first["trial"], first["search"], first["rate_per_s"]) == (1, 0, 100)
    assert (answer["rule"], answer["limited_by"]["word"]) == (RULE_VERSION, "target side")


def test_a_trial_that_does_not_count_says_why_in_the_csv(api, project):
    campaign = searching(project)
    end_trial(campaign, 500, make_judgement(Trust.BUSY, "inj-2 ran 14.8 ms late."))
    end_trial(campaign, 758)
    head, busy, failed = (
        api.get(f"/api/v1/campaigns/{campaign.pk}/search.csv").content.decode().splitlines()
    )
    assert head.startswith("trial,search,run,rate_per_s,result,reason")
    assert "untrusted,inj-2 ran 14.8 ms late." in busy
    assert "failed,p95 758" in failed


def test_a_trial_of_few_requests_names_its_weak_percentiles_in_json_and_csv(api, project):
    campaign = searching(project, start=30)
    end_trial(campaign, 20)
    address = f"/api/v1/campaigns/{campaign.pk}/search"
    assert [each["weak"] for each in api.get(f"{address}/").json()["trials"]] == [["p99_us"]]
    (row,) = csv_rows(api.get(f"{address}.csv"))
    assert (row["requests"], row["p99_us"], row["weak"]) == ("600", "30000.0", "p99_us")


def test_each_trial_says_how_busy_everyone_was_in_json_and_csv(api, project):
    campaign = searching(project)
    run = end_trial(campaign, 900)
    tell(run, range(20), user_s=1.5, system_s=0.3, idle_s=0.2)
    search = api.get(f"/api/v1/campaigns/{campaign.pk}/search/").json()
    (trial,) = search["trials"]
    assert trial["target_cpu"] == pytest.approx(0.9)
    assert (trial["injector_cpu"], trial["network"]) == (0.46, None)
    assert search["limited_by"]["word"] == "target CPU"
    (values,) = csv_rows(api.get(f"/api/v1/campaigns/{campaign.pk}/search.csv"))
    assert float(values["target_cpu"]) == pytest.approx(0.9)
    assert (values["injector_cpu"], values["network"]) == ("0.46", "")


def test_a_campaign_that_is_no_search_has_none(api, campaign):
    assert api.get(f"/api/v1/campaigns/{campaign.pk}/search/").status_code == 404

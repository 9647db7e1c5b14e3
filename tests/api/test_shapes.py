"""Matrix, sweep and search: page, JSON and CSV say the same."""

import csv
from io import StringIO

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.api.conftest import client_of
from tests.api.test_tables import as_number, rows_of_csv, values_of
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import run_in_blocks
from tests.searches import limit_of, search_through, searching

MEANS_US = {"apache": {1: 10_000, 2: 20_000}, "nginx": {1: 8_000, 2: 22_000}}


@pytest.fixture
def shape(request, project):
    """Two targets at two plans (a matrix), or one plan with two numbers of injectors (sweeps)."""
    now = timezone.now()
    campaign = make_campaign(project, repeats=3, started_at=now, finished_at=now)
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


def told(api, campaign, asked: str = "") -> list[dict]:
    answer = api.get(f"/api/v1/campaigns/{campaign.pk}/tables/{asked}").json()
    return [answer["matrix"]] if answer["matrix"] else answer["sweeps"]


@pytest.mark.parametrize("asked", ["", "?relative=2"])
@pytest.mark.parametrize("shape", ["matrix", "sweep"], indirect=True)
def test_csv_has_the_figures_of_json(api, shape, asked):
    with_format = f"?format=blocks{asked.replace('?', '&')}"
    written = api.get(f"/api/v1/campaigns/{shape.pk}/tables.csv{with_format}").content.decode()
    rows = [[as_number(_plain(cell)) for cell in row] for row in rows_of_csv(written)]
    expected = [row for table in told(api, shape, asked) for row in values_of(table)]
    assert expected
    for row in expected:
        assert row in [each[: len(row)] for each in rows]


@pytest.mark.parametrize("address", ["tables/?", "tables.csv?format=blocks&"])
@pytest.mark.parametrize("shape", ["matrix", "sweep"], indirect=True)
def test_a_column_that_is_none_is_refused_by_field(api, shape, address):
    for typed in ("3", "0", "nginx", ""):
        answer = api.get(f"/api/v1/campaigns/{shape.pk}/{address}relative={typed}")
        assert answer.status_code == 400, typed
        assert answer.json()["error"]["fields"].keys() == {"relative"}


def _plain(cell: str) -> str:
    """The number of trusted runs, of all that ended: 3 of 3."""
    return cell.partition(" of ")[0]


@pytest.mark.parametrize("shape", ["sweep"], indirect=True)
def test_the_page_of_a_sweep_has_the_figures_of_json(api, alice, shape):
    page = client_of(alice).get(reverse("campaign-detail", args=[shape.pk]))
    (group,) = page.context["sweeps"]
    shown = [table.to_json() for table in group["tables"]]
    assert [values_of(each) for each in shown] == [values_of(each) for each in told(api, shape)]
    against = told(api, shape)[1]
    for row, json_row in zip(group["side"].rows, against["rows"], strict=True):
        assert as_number(row.against[0].difference.split()[0]) == json_row["values"]["difference"]
        assert row.against[0].word == json_row["values"]["word"]


@pytest.mark.parametrize("shape", ["matrix"], indirect=True)
def test_the_page_of_a_matrix_has_the_figures_of_json(api, alice, shape):
    page = client_of(alice).get(reverse("campaign-detail", args=[shape.pk]))
    cells = [cell for _, row in page.context["matrix"]["rows"] for _, cell in row if cell]
    (table,) = told(api, shape)
    means = [row["values"]["mean"] for row in table["rows"]]
    assert [as_number(cell.mean) for cell in cells] == means
    differences = [row["values"]["difference"] for row in table["rows"]]
    shown = [as_number(cell.difference.rstrip("%").strip()) for cell in cells]
    assert shown == differences


def test_the_page_and_csv_of_a_search_have_the_trials_of_json(api, alice, project):
    search = search_through(searching(project), limit_of(1850))
    trials = api.get(f"/api/v1/campaigns/{search.pk}/search/").json()["trials"]
    text = api.get(f"/api/v1/campaigns/{search.pk}/search.csv").content.decode()
    rows = list(csv.DictReader(StringIO(text)))
    names = ("trial", "rate_per_s", "result")
    of_csv = [tuple(row[name] for name in names) for row in rows]
    assert of_csv == [tuple(str(trial[name]) for name in names) for trial in trials]
    page = client_of(alice).get(f"/campaigns/{search.pk}/?trials=all").content.decode()
    assert all(f'id="trial-{trial["trial"]}"' in page for trial in trials)

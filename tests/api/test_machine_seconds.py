"""The seconds of target machines, as a program reads them."""

import json

import pytest

from campaigns.api import schema
from campaigns.models import MachineSecond, RunUse
from tests.factories import make_run, make_test
from tests.queries.measured import measure


@pytest.fixture
def told(campaign):
    """Three seconds of two machines."""
    run = measure(make_run(make_test(campaign)), 10_000)
    MachineSecond.objects.bulk_create(
        MachineSecond(run=run, source=source, second=second, lasted_s=1, did={"user_s": 0.5})
        for source in ("shop-2", "shop-1")
        for second in (-1, 0, 1)
    )
    return run


def address(run, end: str = "/") -> str:
    return f"/api/v1/runs/{run.pk}/machine-seconds{end}"


def keys(answer) -> list[tuple[str, int]]:
    return [(row["source"], row["second"]) for row in answer.json()["results"]]


def test_they_come_by_machine_and_in_order(api, told):
    answer = api.get(address(told))
    assert keys(answer) == [(f"shop-{n}", second) for n in (1, 2) for second in (-1, 0, 1)]
    assert answer.json()["results"][0]["did"] == {"user_s": 0.5}


def test_a_program_can_ask_for_one_machine_and_for_what_is_new(api, told):
    answer = api.get(address(told), {"source": "shop-2", "after": 0})
    assert keys(answer) == [("shop-2", 1)]


def test_csv_and_ndjson_have_the_same_seconds(api, told):
    lines = api.get(address(told, ".csv")).getvalue().decode().splitlines()
    assert lines[:2] == ["source,second,lasted_s,user_s", "shop-1,-1,1.0,0.5"]
    answer = api.get(address(told, ".ndjson"))
    assert answer["Content-Type"] == "application/x-ndjson; charset=utf-8"
    objects = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
    assert len(objects) == len(lines) - 1 == 6
    assert objects[5] == {"source": "shop-2", "second": 1, "lasted_s": 1, "did": {"user_s": 0.5}}


@pytest.mark.parametrize("end", ["/", ".csv", ".ndjson"])
def test_seconds_that_are_gone_by_age_are_410(api, told, end):
    project = told.campaign.project
    RunUse.objects.create(run=told, project=project, thinned_at="2026-11-01T00:00:00Z")
    answer = api.get(address(told, end))
    assert answer.status_code == 410
    described = json.loads(schema.described())["paths"]
    (path,) = (each for each in described if each.endswith(f"/machine-seconds{end}"))
    assert "410" in described[path]["get"]["responses"]

"""Machines of targets over REST: their exporters, what these tell, and who reads it."""

import json

import pytest

from campaigns.models import Exporter, MachineSecond, RunUse
from campaigns.projects.services import decrypt
from campaigns.rest import schema
from tests.factories import make_run, make_target, make_test
from tests.measured import https_campaign, measure, run_in_blocks


def test_tables_have_what_the_pages_say_of_the_machine(api, project):
    campaign, tests = https_campaign(project, repeats=1)
    runs = run_in_blocks(tests, [[10_000], [20_000]])
    path = f"/api/v1/campaigns/{campaign.pk}/tables/"
    answer = api.get(path).json()
    assert (answer["cpu"], answer["bytes"]) == ([], [])
    did = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "idle_s": 1.6, "cores": [20, 20]}
    did |= {"received_bytes": 20_000.0, "sent_bytes": 80_000.0}
    MachineSecond.objects.bulk_create(
        MachineSecond(run=run, source="shop-1", second=second, lasted_s=1, busy_s=0.4, did=did)
        for run in runs
        for second in range(10)
    )
    answer = api.get(path).json()
    (costs, _), (n_bytes, _) = answer["cpu"], answer["bytes"]
    assert [row["values"]["cost"] for row in costs["rows"]] == [2.0, 2.0]
    assert [row["values"]["cost"] for row in n_bytes["rows"]] == [500.0, 500.0]
    tables = api.get(f"/api/v1/runs/{runs[0].pk}/tables/").json()["tables"]
    machine = next(table for table in tables if table["key"] == "machine-shop-1")
    assert machine["rows"][0]["values"] == {"mean": 2.0, "max": None}


URL = "https://shop.internal:9100/metrics"


@pytest.fixture
def target(project):
    return make_target(project, "shop")


@pytest.fixture
def path(target) -> str:
    return f"/api/v1/targets/{target.pk}/exporters/"


def test_one_is_set_listed_changed_and_removed(api, path, target):
    answer = api.post(path, {"url": "shop.internal:9100", "name": "shop-1"}, format="json")
    assert answer.status_code == 201
    fields = answer.json()
    assert (fields["target"], fields["name"]) == (target.pk, "shop-1")
    assert fields["url"] == "http://shop.internal:9100/metrics"
    assert fields["asked_at"]
    assert [each["id"] for each in api.get(path).json()["results"]] == [fields["id"]]
    one = f"/api/v1/exporters/{fields['id']}/"
    reply = api.put(one, {"url": URL, "verify_tls": False, "is_server": True}, format="json")
    assert reply.json()["name"] == "shop.internal:9100"
    assert (reply.json()["verify_tls"], reply.json()["is_server"]) == (False, True)
    assert api.get(one).json()["url"] == URL
    assert api.delete(one).status_code == 204
    assert api.get(path).json()["results"] == []


def test_a_token_is_write_only(api, path):
    answer = api.post(path, {"url": URL, "token": "s3cret"}, format="json").json()
    assert answer["has_token"] is True
    assert "token" not in answer
    one = f"/api/v1/exporters/{answer['id']}/"
    assert "s3cret" not in api.get(one).content.decode()
    api.put(one, {"url": URL}, format="json")
    assert decrypt(Exporter.objects.get().token) == "s3cret"
    api.put(one, {"url": URL, "token": ""}, format="json")
    assert api.get(one).json()["has_token"] is False


@pytest.fixture
def measured_run(campaign):
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


def test_they_come_by_machine_and_in_order(api, measured_run):
    answer = api.get(address(measured_run))
    assert keys(answer) == [(f"shop-{n}", second) for n in (1, 2) for second in (-1, 0, 1)]
    assert answer.json()["results"][0]["did"] == {"user_s": 0.5}


def test_a_program_can_ask_for_one_machine_and_for_what_is_new(api, measured_run):
    answer = api.get(address(measured_run), {"source": "shop-2", "after": 0})
    assert keys(answer) == [("shop-2", 1)]


def test_csv_and_ndjson_have_the_same_seconds(api, measured_run):
    lines = api.get(address(measured_run, ".csv")).getvalue().decode().splitlines()
    assert lines[:2] == ["source,second,lasted_s,user_s", "shop-1,-1,1.0,0.5"]
    answer = api.get(address(measured_run, ".ndjson"))
    assert answer["Content-Type"] == "application/x-ndjson; charset=utf-8"
    objects = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
    assert len(objects) == len(lines) - 1 == 6
    assert objects[5] == {"source": "shop-2", "second": 1, "lasted_s": 1, "did": {"user_s": 0.5}}


@pytest.mark.parametrize("end", ["/", ".csv", ".ndjson"])
def test_seconds_that_are_gone_by_age_are_410(api, measured_run, end):
    project = measured_run.campaign.project
    RunUse.objects.create(run=measured_run, project=project, thinned_at="2026-11-01T00:00:00Z")
    answer = api.get(address(measured_run, end))
    assert answer.status_code == 410
    paths = json.loads(schema.described())["paths"]
    (path,) = (each for each in paths if each.endswith(f"/machine-seconds{end}"))
    assert "410" in paths[path]["get"]["responses"]

"""What an agent's program sends, and what it is answered."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from campaigns.models import Campaign, MachineSecond, Run
from campaigns.services.agents import create_agent, revoke_agent
from tests.api.conftest import token_client
from tests.factories import make_target
from tests.queries.measured import https_campaign, run_in_blocks

ADDRESS = "/api/v1/agents/seconds/"


@pytest.fixture
def made(as_bob, project):
    return create_agent(by=as_bob, target=make_target(project, "shop"))


def agent_client(text: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def post(client: APIClient, **fields):
    return client.post(ADDRESS, {"host": "shop-1", "seconds": [], **fields}, format="json")


def test_an_empty_report_is_answered_with_the_sites_clock(made):
    answer = post(agent_client(made[1]))
    assert answer.status_code == 200
    assert answer.json()["now"] == pytest.approx(time.time(), abs=2)
    assert answer.json()["stored"] == 0


def test_seconds_of_a_run_are_stored(made, run):
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(target=made[0].target, t0=now - timedelta(seconds=10))
    did = {"user_s": 0.5, "system_s": 0.1, "interrupts_s": 0}
    answer = post(agent_client(made[1]), seconds=[{"at_s": now.timestamp() - 5, "did": did}])
    assert answer.json()["stored"] == 1
    assert MachineSecond.objects.get(run=run).busy_s == pytest.approx(0.6)


def test_the_answer_says_what_to_count_while_a_run_is_loading(made, run):
    client = agent_client(made[1])
    assert post(client).json()["perf"] == ""
    Run.objects.filter(pk=run.pk).update(target=made[0].target)
    Campaign.objects.filter(pk=run.campaign_id).update(perf="machine")
    wanted = {"queued": "", "preparing": "machine"}
    for state, of in wanted.items():
        Run.objects.filter(pk=run.pk).update(state=state)
        assert post(client).json()["perf"] == of


def test_a_revoked_token_is_refused(made, as_bob):
    agent, text = made
    revoke_agent(by=as_bob, agent=agent)
    assert post(agent_client(text)).status_code == 401


def test_neither_a_personal_token_nor_a_session_reports(alice, client):
    assert post(token_client(alice)).status_code == 401
    client.force_login(alice)
    assert client.post(ADDRESS, {}, content_type="application/json").status_code == 401


def test_an_agents_token_reads_nothing(made):
    for address in ("projects/", "targets/", "runs/", "injectors/"):
        assert agent_client(made[1]).get(f"/api/v1/{address}").status_code == 401


def test_a_faulty_report_is_refused_by_field(made):
    answer = post(agent_client(made[1]), seconds=[{"at_s": 1e9, "did": {"user_s": -1}}])
    assert answer.status_code == 400
    assert "report.seconds.0.did.user_s" in answer.json()["error"]["fields"]


@pytest.mark.parametrize(
    "body",
    [
        '{"host": "shop-1", "seconds": ' + "[" * 20_000 + "]" * 20_000 + "}",
        '{"host": "shop-1", "seconds": [{"at_s": 1e999}]}',
        '{"host": "shop-1", "seconds": [{"at_s": NaN}]}',
        '{"host": "shop\\u00001", "seconds": []}',
        "[]",
        "",
    ],
)
def test_a_hostile_body_is_refused_with_a_sentence(made, body):
    answer = agent_client(made[1]).post(ADDRESS, body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


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
    (costs, _), (moved, _) = answer["cpu"], answer["bytes"]
    assert [row["values"]["cost"] for row in costs["rows"]] == [2.0, 2.0]
    assert [row["values"]["cost"] for row in moved["rows"]] == [500.0, 500.0]
    tables = api.get(f"/api/v1/runs/{runs[0].pk}/tables/").json()["tables"]
    machine = next(table for table in tables if table["key"] == "machine-shop-1")
    assert machine["rows"][0]["values"] == {"mean": 2.0, "max": None}

"""A plan of megabytes is stored once, however many runs it has."""

import secrets

import pytest
from django.db import connection

from campaigns.services.campaigns import CampaignCell, start_campaign
from campaigns.services.dispatch import admit_runs
from campaigns.services.plans import create_plan, edit_plan
from campaigns.services.shards import claim_shard
from tests.api.conftest import client_of
from tests.factories import make_endpoint, make_target
from tests.services.engine import create, host, owner_of
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
REPEATS = 20
# Nothing that PostgreSQL could compress well.
BODY = secrets.token_hex(200_000)


@pytest.fixture
def campaign(project):
    spec = plan_spec()
    spec["steps"][0] |= {"method": "POST", "body": BODY}
    version = create_plan(by=owner_of(project), project=project, name="large", spec=spec)
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    made = create(owner_of(project), project, cells=[cell], repeats=REPEATS, order="listed")
    start_campaign(by=owner_of(project), campaign=made, anyway=True)
    return made


def test_its_runs_take_a_fraction_of_it(campaign):
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_column_size(r.*)) FROM campaigns_run r")
        taken = cursor.fetchone()[0]
    assert campaign.runs.count() == REPEATS
    assert taken < len(BODY) / 4


def test_each_run_sends_and_shows_all_of_it(campaign, project, bob):
    host(slots=1)
    admit_runs()
    assert claim_shard(worker="w", host="host 1").order["plan"]["steps"][0]["body"] == BODY
    run = campaign.runs.last()
    assert run.frozen.plan.steps[0].body == BODY
    shown = client_of(bob).get(f"/api/v1/runs/{run.pk}/").json()["snapshot"]["plan"]
    assert shown == run.frozen.plan_json
    assert shown["steps"][0]["body"] == BODY
    assert "parts_of" not in shown


def test_a_later_edit_of_the_plan_is_no_part_of_its_runs(campaign, project):
    plan = campaign.tests.get().plan_version.plan
    edit_plan(by=owner_of(project), plan=plan, name=plan.name, spec=plan_spec())
    assert campaign.runs.first().frozen.plan.steps[0].body == BODY


def test_many_of_its_runs_are_listed_with_its_body_read_once(
    campaign, django_assert_max_num_queries
):
    with django_assert_max_num_queries(2):
        bodies = {run.frozen.plan.steps[0].body for run in campaign.runs.all()}
    assert bodies == {BODY}

"""The secret of a plan's credentials goes to the injector and to nothing and nobody else."""

import json
import logging
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.models import PlanSecret, Run, Shard
from campaigns.permissions import Actor
from campaigns.services import shards
from campaigns.services.campaigns import CampaignCell, start_campaign
from campaigns.services.plans import create_plan
from campaigns.services.tokens import create_share
from campaigns.services.vault import order_secrets
from tests.api.conftest import client_of
from tests.factories import make_endpoint, make_target
from tests.services.engine import create
from tests.values import plan_spec

SECRET = "hunter2-and-more"
pytestmark = pytest.mark.django_db


def signing_spec() -> dict:
    return plan_spec() | {"auth": {"kind": "basic", "user": "ann"}}


@pytest.fixture
def by(bob) -> Actor:
    return Actor(bob)


@pytest.fixture
def version(by, project):
    return create_plan(by=by, project=project, name="P", spec=signing_spec(), secret=SECRET)


@pytest.fixture
def run(by, project, version) -> Run:
    endpoint = make_endpoint(make_target(project))
    cell = CampaignCell(version, endpoint, "new")
    campaign = create(by, project, name="C", cells=[cell], repeats=1)
    start_campaign(by=by, campaign=campaign)
    Run.objects.update(state="preparing")
    return Run.objects.get()


def every_row() -> str:
    """All that the database holds, as text."""
    with connection.cursor() as cursor:
        texts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{table}" t')  # noqa: S608
            texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def test_the_launcher_gets_it_and_the_order_of_the_lease_does_not_have_it(run):
    lease = shards.claim_shard(worker="w", host="h")
    assert SECRET not in json.dumps(lease.order)
    assert order_secrets(run_id=lease.run_id) == {"secrets": {"auth": SECRET}}


def test_no_row_of_the_database_has_it(run):
    assert PlanSecret.objects.count() == 1
    assert SECRET not in every_row()


def test_no_page_and_no_answer_of_the_api_shows_it(run, version, client, bob, by):
    _, token = create_share(by=by, project=run.campaign.project, campaign=run.campaign, days=1)
    client.force_login(bob)
    plan, campaign = version.plan_id, run.campaign_id
    pages = [
        reverse("plan-detail", args=[plan]),
        reverse("plan-edit", args=[plan]),
        reverse("plan-list", args=[run.campaign.project_id]),
        reverse("campaign-detail", args=[campaign]),
        reverse("campaign-csv", args=[campaign]),
        reverse("run-detail", args=[run.pk]),
        reverse("run-csv", args=[run.pk]),
        reverse("run-seconds-csv", args=[run.pk]),
        reverse("share-view", args=[token]),
    ]
    for address in pages:
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert SECRET not in answer.getvalue().decode(), address
    api = client_of(bob)
    for address in (
        "plans/", f"plans/{plan}/", f"plans/{plan}/versions/", f"plans/{plan}/versions/1/",
        "campaigns/", f"campaigns/{campaign}/", "runs/", f"runs/{run.pk}/",
    ):  # fmt: skip
        answer = api.get(f"/api/v1/{address}")
        assert answer.status_code == 200, address
        assert SECRET not in answer.content.decode(), address
    assert api.get(f"/api/v1/plans/{plan}/").json()["has_secret"] is True


def test_a_form_that_is_wrong_elsewhere_does_not_send_it_back(client, bob, project):
    client.force_login(bob)
    fields = {"name": "P", "path": "wrong", "auth_kind": "bearer", "secret": SECRET}
    answer = client.post(reverse("plan-new", args=[project.pk]), fields)
    assert answer.status_code == 422
    assert SECRET not in answer.content.decode()


def test_the_api_takes_it_and_keeps_it_until_it_is_emptied(bob, project):
    api = client_of(bob)
    body = {"project": project.pk, "name": "A", "spec": signing_spec(), "secret": SECRET}
    made = api.post("/api/v1/plans/", body, format="json")
    assert made.status_code == 201
    assert SECRET not in made.content.decode()
    address = f"/api/v1/plans/{made.json()['id']}/"
    body.pop("project")
    body.pop("secret")
    assert api.put(address, body, format="json").json()["has_secret"] is True
    emptied = api.put(address, body | {"secret": ""}, format="json")
    assert emptied.json()["has_secret"] is False


def test_the_form_keeps_changes_and_forgets_it(client, bob, version):
    from campaigns.forms.plans import initial_of

    client.force_login(bob)
    address = reverse("plan-edit", args=[version.plan_id])
    data = initial_of("P", version.value().to_json())
    before = PlanSecret.objects.get().ciphertext
    client.post(address, data)
    assert PlanSecret.objects.get().ciphertext == before
    client.post(address, data | {"secret": "another"})
    assert PlanSecret.objects.get().ciphertext != before
    client.post(address, data | {"forget_secret": "on"})
    assert not PlanSecret.objects.exists()
    assert version.plan.versions.count() == 1


@pytest.mark.parametrize("secret", ["a\nb", "x" * 5000])
def test_what_no_header_can_carry_is_refused_without_repeating_it(secret, by, project):
    with pytest.raises(InvalidFields) as refusal:
        create_plan(by=by, project=project, name="P", spec=signing_spec(), secret=secret)
    assert secret not in str(refusal.value.errors)


def test_a_campaign_without_the_secret_is_not_started(by, project):
    version = create_plan(by=by, project=project, name="P", spec=signing_spec())
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    campaign = create(by, project, cells=[cell])
    with pytest.raises(Refused, match="has no secret"):
        start_campaign(by=by, campaign=campaign)


def test_a_rotation_leaves_nothing_under_the_old_key(settings, version, run):
    settings.VAULT_KEYS = ["new", *settings.VAULT_KEYS]
    call_command("rotate_vault")
    settings.VAULT_KEYS = ["new"]
    assert order_secrets(run_id=run.pk)["secrets"]["auth"] == SECRET
    settings.VAULT_KEYS = ["lost"]
    with pytest.raises(Refused, match="enter the secret again"):
        order_secrets(run_id=run.pk)


@pytest.mark.django_db(transaction=True)
def test_the_launcher_hands_it_over_and_neither_log_nor_spool_has_it(
    run, settings, tmp_path, caplog
):
    from workers import launcher

    settings.SPOOL_DIR = tmp_path / "spool"
    seen = tmp_path / "order"
    program = (
        "import sys, pathlib;"
        f"pathlib.Path({str(seen)!r}).write_text(sys.stdin.readline());"
        'print(\'{"type": "refused", "kind": "bad_order", "reason": "seen"}\')'
    )
    with caplog.at_level(logging.DEBUG):
        launcher.launch_one(worker="w", host="h", command=(sys.executable, "-c", program))
    assert json.loads(seen.read_text())["secrets"] == {"auth": SECRET}
    kept = [path.read_bytes() for path in Path(settings.SPOOL_DIR).rglob("*") if path.is_file()]
    assert all(SECRET.encode() not in data for data in kept)
    assert SECRET not in caplog.text
    assert SECRET not in every_row()
    assert Shard.objects.get().reason == "seen"


@pytest.mark.django_db(transaction=True)
def test_a_secret_that_no_key_reads_ends_the_shard_in_words(run, settings, tmp_path):
    from workers import launcher

    settings.SPOOL_DIR = tmp_path
    settings.VAULT_KEYS = ["lost"]
    launcher.launch_one(worker="w", host="h", command=(sys.executable, "-c", ""))
    assert "BENCHSITE_VAULT_KEYS" in Shard.objects.get().reason

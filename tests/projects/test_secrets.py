"""Secrets go where who entered them sent them, and to nothing and nobody else. Client certificates:
the key is checked, encrypted, handed to injectors and to nobody else."""

import json
import logging
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.permissions import Actor, Role
from campaigns.domain.errors import InvalidFields, InvalidTarget, Refused
from campaigns.engine.services import shards
from campaigns.models import AuditEntry, Endpoint, PlanSecret, Run, Shard
from campaigns.plans.services import create_plan, edit_plan
from campaigns.probes.services.probes import order_of, request_probe, try_cells
from campaigns.projects.services import (
    decrypt,
    encrypt,
    encrypt_anew,
    keep_secret,
    rotate_secrets,
    secret_of,
    share_secret,
    with_secrets,
)
from campaigns.targets.services import create_target, edit_target
from tests.cast import client_of
from tests.engine.scenes import create, machine
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_membership,
    make_run,
    make_target,
    make_test,
    make_user,
)
from tests.injector.authority import CLIENT, issue
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


SECRET = "hunter2-and-more"


def signing_spec() -> dict:
    return plan_spec() | {"auth": {"kind": "basic", "user": "ann"}}


@pytest.fixture
def version(as_bob, project):
    return create_plan(by=as_bob, project=project, name="P", spec=signing_spec(), secret=SECRET)


@pytest.fixture
def run(as_bob, project, version) -> Run:
    endpoint = make_endpoint(make_target(project))
    cell = CampaignCell(version, endpoint, "new")
    campaign = create(as_bob, project, name="C", cells=[cell], repeats=1)
    start_campaign(by=as_bob, campaign=campaign)
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
    assert with_secrets({}, lease.runs) == {"secrets": {"auth": SECRET}}


def test_no_row_of_the_database_has_it(run):
    assert PlanSecret.objects.count() == 1
    assert SECRET not in every_row()


def test_no_page_and_no_answer_of_the_api_shows_it(run, version, client, bob, as_bob):
    _, token = create_share(by=as_bob, project=run.campaign.project, campaign=run.campaign, days=1)
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


def test_the_api_takes_it_and_keeps_it_until_it_is_emptied(bob, project):
    api = client_of(bob)
    body = {"project": project.pk, "name": "A", "spec": signing_spec(), "secret": SECRET}
    answer = api.post("/api/v1/plans/", body, format="json")
    assert answer.status_code == 201
    assert SECRET not in answer.content.decode()
    address = f"/api/v1/plans/{answer.json()['id']}/"
    body.pop("project")
    body.pop("secret")
    assert api.put(address, body, format="json").json()["has_secret"] is True
    after = api.put(address, body | {"secret": ""}, format="json")
    assert after.json()["has_secret"] is False


def test_the_form_keeps_changes_and_forgets_it(client, bob, version):
    from campaigns.plans.forms.plans import initial_of

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
def test_what_no_header_can_carry_is_refused_without_repeating_it(secret, as_bob, project):
    with pytest.raises(InvalidFields) as refusal:
        create_plan(by=as_bob, project=project, name="P", spec=signing_spec(), secret=secret)
    assert secret not in str(refusal.value.errors)


def test_a_campaign_without_the_secret_is_not_started(as_bob, project):
    version = create_plan(by=as_bob, project=project, name="P", spec=signing_spec())
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    campaign = create(as_bob, project, cells=[cell])
    with pytest.raises(Refused, match="has no secret"):
        start_campaign(by=as_bob, campaign=campaign)


def test_a_rotation_leaves_nothing_under_the_old_key(settings, version, run):
    settings.VAULT_KEYS = ["new", *settings.VAULT_KEYS]
    call_command("rotate_vault")
    settings.VAULT_KEYS = ["new"]
    assert with_secrets({}, [run.pk])["secrets"]["auth"] == SECRET
    settings.VAULT_KEYS = ["lost"]
    with pytest.raises(Refused, match="enter the secret again"):
        with_secrets({}, [run.pk])


@pytest.mark.django_db(transaction=True)
def test_the_launcher_hands_it_over_and_neither_log_nor_spool_has_it(
    run, settings, tmp_path, caplog
):
    from workers import launcher

    settings.SPOOL_DIR = tmp_path / "spool"
    order_path = tmp_path / "order"
    program = (
        "import sys, pathlib;"
        f"pathlib.Path({str(order_path)!r}).write_text(sys.stdin.readline());"
        'print(\'{"type": "refused", "kind": "bad_order", "reason": "seen"}\')'
    )
    with caplog.at_level(logging.DEBUG):
        launcher.launch_one(worker="w", host="h", command=(sys.executable, "-c", program))
    assert json.loads(order_path.read_text())["secrets"] == {"auth": SECRET}
    files = [path.read_bytes() for path in Path(settings.SPOOL_DIR).rglob("*") if path.is_file()]
    assert all(SECRET.encode() not in data for data in files)
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


@pytest.fixture
def eve(project) -> Actor:
    """Another editor of the project."""
    user = make_user("eve")
    make_membership(project, user, Role.EDITOR)
    return Actor(user)


def signing(by: Actor, project, secret: str | None = SECRET, name: str = "P"):
    spec = plan_spec() | {"auth": {"kind": "bearer"}}
    return create_plan(by=by, project=project, name=name, spec=spec, secret=secret)


@pytest.fixture
def bobs_plan(as_bob, project):
    return signing(as_bob, project)


@pytest.fixture
def shop(project) -> Endpoint:
    return make_endpoint(make_target(project, "shop"), host=machine(1))


@pytest.fixture
def own(project) -> Endpoint:
    """Eve's own server."""
    return make_endpoint(make_target(project, "own"), host=machine(2))


def measure(by: Actor, bobs_plan, *endpoints: Endpoint) -> None:
    cells = [CampaignCell(bobs_plan, endpoint, "new") for endpoint in endpoints]
    campaign = create(by, bobs_plan.plan.project, cells=cells, repeats=1)
    start_campaign(by=by, campaign=campaign, anyway=True)


def try_one(by: Actor, bobs_plan, endpoint: Endpoint):
    return request_probe(by=by, endpoint=endpoint, request={"path": "/"}, credentials_of=bobs_plan)


def try_first(by: Actor, bobs_plan, endpoint: Endpoint) -> None:
    try_cells(by=by, cells=[(bobs_plan, endpoint)])


def secret_sent_by(probe) -> str:
    return order_of(probe)["secrets"]["auth"]


def test_who_entered_it_sends_it_anywhere_and_others_only_there(bobs_plan, as_bob, eve, shop, own):
    measure(as_bob, bobs_plan, shop)
    measure(eve, bobs_plan, shop)
    assert with_secrets({}, [Run.objects.latest("pk").pk])["secrets"]["auth"] == SECRET
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, bobs_plan, shop, own)
    assert PlanSecret.objects.get().origins == [shop.origin]


@pytest.mark.parametrize("ask", [try_one, try_first])
def test_no_single_request_takes_it_elsewhere(bobs_plan, as_bob, eve, shop, own, ask):
    assert secret_sent_by(try_one(as_bob, bobs_plan, shop)) == SECRET
    assert secret_sent_by(try_one(eve, bobs_plan, shop)) == SECRET
    with pytest.raises(Refused, match="enter it again"):
        ask(eve, bobs_plan, own)


def test_another_port_or_scheme_of_the_host_is_another_origin(bobs_plan, as_bob, eve, shop):
    try_one(as_bob, bobs_plan, shop)
    for other in ({"port": 8082}, {"scheme": "https"}):
        endpoint = make_endpoint(shop.target, host=shop.host, **other)
        with pytest.raises(Refused, match="was not entered for"):
            try_one(eve, bobs_plan, endpoint)


def test_a_run_whose_endpoint_was_not_named_gets_no_secret(bobs_plan, as_bob, shop):
    measure(as_bob, bobs_plan, shop)
    PlanSecret.objects.update(origins=["https://elsewhere.example:443"])
    with pytest.raises(Refused, match="was not entered for"):
        with_secrets({}, [Run.objects.get().pk])


def test_a_copy_of_the_secret_for_another_plan_is_as_limited(bobs_plan, as_bob, eve, project, own):
    copy = signing(as_bob, project, secret=None, name="copy")
    share_secret(by=eve, source=bobs_plan.plan_id, plan=copy.plan)
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, copy, own)


def test_a_secret_entered_by_another_person_begins_with_no_origin(
    bobs_plan, as_bob, eve, shop, own
):
    """Eve names her server for a secret of hers, and waits until Bob enters the real one."""
    keep_secret(by=eve, plan=bobs_plan.plan, secret="nothing worth")
    measure(eve, bobs_plan, own)
    keep_secret(by=as_bob, plan=bobs_plan.plan, secret=SECRET)
    assert PlanSecret.objects.get().origins == []
    with pytest.raises(Refused, match="was not entered for"):
        measure(eve, bobs_plan, own)


def test_who_enters_it_anew_or_knows_it_keeps_its_origins(bobs_plan, as_bob, eve, shop):
    measure(as_bob, bobs_plan, shop)
    edit_plan(by=as_bob, plan=bobs_plan.plan, name="P", spec=bobs_plan.spec, secret="rotated")
    keep_secret(by=eve, plan=bobs_plan.plan, secret="rotated")
    assert PlanSecret.objects.get().origins == [shop.origin]
    measure(eve, bobs_plan, shop)


def test_it_is_noted_who_named_an_origin_and_the_api_tells_it(bobs_plan, bob, as_bob, shop):
    measure(as_bob, bobs_plan, shop)
    entry = AuditEntry.objects.get(deed="secret_bound")
    assert shop.origin in entry.what
    assert SECRET not in entry.what
    plan = client_of(bob).get(f"/api/v1/plans/{bobs_plan.plan_id}/").json()
    assert plan["secret_origins"] == [shop.origin]


TEXT = "correct horse é"


def test_what_is_stored_does_not_show_the_secret_and_differs_each_time(settings):
    settings.VAULT_KEYS = ["first"]
    ciphertext = encrypt(TEXT)
    assert TEXT not in ciphertext
    assert ciphertext != encrypt(TEXT)
    assert decrypt(ciphertext) == TEXT


def test_an_older_key_still_reads_and_can_leave_after_a_rotation(settings):
    settings.VAULT_KEYS = ["old"]
    ciphertext = encrypt(TEXT)
    settings.VAULT_KEYS = ["new", "old"]
    assert decrypt(ciphertext) == TEXT
    anew = encrypt_anew(ciphertext)
    settings.VAULT_KEYS = ["new"]
    assert decrypt(anew) == TEXT
    with pytest.raises(Refused, match="BENCHSITE_VAULT_KEYS"):
        decrypt(ciphertext)


def test_a_damaged_secret_is_refused_in_words(settings):
    settings.VAULT_KEYS = ["first"]
    with pytest.raises(Refused, match="enter the secret again"):
        decrypt(encrypt(TEXT)[:-4])


ISSUED = issue(usage=CLIENT)
HTTPS = {"scheme": "https", "host": "10.0.0.5", "port": 443}
SHOWN = {"client_certificate_pem": ISSUED.pem}


@pytest.fixture
def target(as_bob, project):
    return create_target(
        by=as_bob, project=project, name="shop", environment=[], endpoints=[_with_key()]
    )


def _with_key(**fields):
    return {**HTTPS, "tls": SHOWN, "client_key_pem": ISSUED.key_pem, **fields}


def edit(target, by, **endpoint):
    edit_target(by=by, target=target, name="shop", environment=[], endpoints=[endpoint])
    return target.endpoints.get()


def test_the_key_is_stored_encrypted_and_goes_with_orders_only(target):
    endpoint = target.endpoints.get()
    assert "PRIVATE KEY" not in endpoint.client_key
    assert secret_of(endpoint) == {"client_key": ISSUED.key_pem.strip()}
    assert endpoint.frozen().to_json()["tls"] == {"client_certificate_pem": ISSUED.pem.strip()}
    assert "PRIVATE" not in repr(endpoint.frozen())


def test_the_audit_log_tells_who_stored_and_deleted_it(target, as_alice, as_bob):
    what = f"client key of https://10.0.0.5:443 of target {target.pk}: shop"
    edit(target, as_bob, **HTTPS, tls=SHOWN)  # keeps it
    edit(target, as_alice, **HTTPS)
    edit(target, as_bob, **_with_key())
    edit(target, as_alice, scheme="http", host="10.0.0.5", port=80)
    entries = AuditEntry.objects.order_by("pk").values_list("deed", "who", "what")
    assert list(entries) == [
        ("secret_stored", "bob", what),
        ("secret_deleted", "alice", what),
        ("secret_stored", "bob", what),
        ("secret_deleted", "alice", what),
    ]


def test_a_probe_gets_the_key(target, as_bob):
    probe = request_probe(by=as_bob, endpoint=target.endpoints.get(), request={"path": "/"})
    assert order_of(probe)["secrets"]["client_key"] == ISSUED.key_pem.strip()
    assert "PRIVATE" not in str(probe.request)


def test_a_launcher_gets_the_key(target, project):
    run = make_run(make_test(make_campaign(project)))
    assert with_secrets({}, [run.pk]) == {}
    endpoint = run.test.endpoint
    endpoint.client_key = target.endpoints.get().client_key
    endpoint.save()
    assert with_secrets({}, [run.pk]) == {"secrets": {"client_key": ISSUED.key_pem.strip()}}


def test_a_key_that_is_left_out_stays_and_none_without_a_certificate(target, as_bob):
    before = target.endpoints.get().client_key
    assert edit(target, as_bob, **HTTPS, tls=SHOWN).client_key == before
    assert edit(target, as_bob, **HTTPS).client_key == ""


def test_a_new_key_of_the_vault_rewrites_what_is_stored(target, settings):
    before = target.endpoints.get().client_key
    settings.VAULT_KEYS = ["new", *settings.VAULT_KEYS]
    assert rotate_secrets() == 1
    settings.VAULT_KEYS = ["new"]
    endpoint = target.endpoints.get()
    assert endpoint.client_key != before
    assert secret_of(endpoint)["client_key"] == ISSUED.key_pem.strip()


# secp112r1, which OpenSSL knows and cryptography does not.
ODD_KEY = """-----BEGIN PRIVATE KEY-----
ME4CAQAwEAYHKoZIzj0CAQYFK4EEAAYENzA1AgEBBA7IZDzTr2lN+OaVwfe6GaEg
Ax4ABIDuA7kbvNVG2djoIFBrGgkLd8zw1UAfQ2R+nIM=
-----END PRIVATE KEY-----
"""
ODD_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBITCB7KADAgECAhR/bhtobL0ZcuKHpWkHEFFXWPrMEDAKBggqhkjOPQQDAjAM
MQowCAYDVQQDDAF4MB4XDTI2MTEyNzE5MzEwNFoXDTI2MTIwMjE5MzEwNFowDDEK
MAgGA1UEAwwBeDAyMBAGByqGSM49AgEGBSuBBAAGAx4ABIDuA7kbvNVG2djoIFBr
GgkLd8zw1UAfQ2R+nIOjUzBRMB0GA1UdDgQWBBRaBYC4WjqYPCkQOep830wrqMV6
OTAfBgNVHSMEGDAWgBRaBYC4WjqYPCkQOep830wrqMV6OTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCAyQAMCECDwC0xedSNhmzuXAmbY/hQAIOfE6dkzvVprLj
YNDOMI4=
-----END CERTIFICATE-----
"""


def test_a_key_that_does_not_fit_is_refused(as_bob, project):
    for tls, key, words in [
        (SHOWN, "", "needs its private key"),
        (SHOWN, "hello", "not a private key in PEM format"),
        (SHOWN, issue(usage=CLIENT).key_pem, "does not belong to the certificate"),
        (SHOWN, ODD_KEY, "Keys of this kind are not supported"),
        ({"client_certificate_pem": ODD_CERTIFICATE}, ISSUED.key_pem, "does not belong"),
    ]:
        endpoints = [_with_key(tls=tls, client_key_pem=key)]
        with pytest.raises(InvalidTarget) as refusal:
            create_target(by=as_bob, project=project, name="x", environment=[], endpoints=endpoints)
        assert words in refusal.value.errors["endpoints.0.client_key_pem"]
        assert not project.targets.exists()

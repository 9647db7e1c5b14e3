"""Setting exporters of a target, and what may be done with their tokens."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.core import queue
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.machines import services as machines
from campaigns.machines.services import add_exporter, ask_check, change_exporter, remove_exporter
from campaigns.models import AuditEntry, Exporter, LoadControl
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import decrypt, rotate_secrets
from tests.factories import make_target
from tests.injector.authority import authority

URL = "https://shop.internal:9100/metrics"
TOKEN = "s3cret-scrape-token"
CA = authority().pem.strip()


@pytest.fixture
def target(project):
    return make_target(project, "shop")


@pytest.fixture(autouse=True)
def calls(monkeypatch) -> list:
    """What workers are asked to do."""
    calls = []
    monkeypatch.setattr(queue, "enqueue", lambda name, args: calls.append((name, args)))
    return calls


def add(by, target, **fields) -> Exporter:
    return add_exporter(by=by, target=target, **{"url": URL, "name": "shop-1", **fields})


def test_an_exporter_is_set_and_a_worker_asks_it_what_it_offers(as_bob, target, calls):
    exporter = add(as_bob, target, url="10.0.0.5:9100", name="")
    row = Exporter.objects.get(pk=exporter.pk)
    assert (row.name, row.url) == ("10.0.0.5:9100", "http://10.0.0.5:9100/metrics")
    assert row.asked_at
    assert calls == [(queue.EXPORTER, [exporter.pk])]


def test_one_that_was_removed_meanwhile_does_not_come_back_with_its_token(as_bob, target):
    before = add(as_bob, target, token=TOKEN)
    remove_exporter(by=as_bob, exporter=Exporter.objects.get(pk=before.pk))
    with pytest.raises(Refused, match="was removed"):
        change_exporter(by=as_bob, exporter=before, url=URL, name="shop-2")
    assert not Exporter.objects.exists()


def test_a_token_that_was_removed_meanwhile_does_not_come_back(as_bob, target):
    before = add(as_bob, target, token=TOKEN)
    change_exporter(by=as_bob, exporter=Exporter.objects.get(pk=before.pk), url=URL, token="")
    change_exporter(by=as_bob, exporter=before, url=URL, name="shop-2")
    assert Exporter.objects.get().token == ""


def test_the_audit_log_says_who_did_it(as_bob, target, project):
    exporter = add(as_bob, target, token=TOKEN)
    change_exporter(by=as_bob, exporter=exporter, url=URL, name="shop-2", token="")
    number = exporter.pk
    remove_exporter(by=as_bob, exporter=exporter)
    entries = AuditEntry.objects.filter(project=project.pk).order_by("pk")
    first, second = (f"exporter {number}: {name} of shop, {URL}" for name in ("shop-1", "shop-2"))
    assert list(entries.values_list("deed", "what", "who")) == [
        (AuditEvent.EXPORTER_SET, first, "bob"),
        (AuditEvent.SECRET_STORED, first, "bob"),
        (AuditEvent.EXPORTER_SET, second, "bob"),
        (AuditEvent.SECRET_DELETED, second, "bob"),
        (AuditEvent.DELETED, second, "bob"),
    ]
    assert TOKEN not in repr(list(AuditEntry.objects.values()))


def test_a_target_has_each_name_once(as_bob, target):
    add(as_bob, target)
    other = add(as_bob, target, name="shop-2")
    with pytest.raises(InvalidFields, match="already has a machine with this name"):
        add(as_bob, target)
    with pytest.raises(InvalidFields, match="already has a machine with this name"):
        change_exporter(by=as_bob, exporter=other, url=URL, name="shop-1")
    assert add(as_bob, make_target(target.project), name="shop-1")


def test_a_token_is_stored_encrypted_and_kept_by_a_change_without_one(as_bob, target):
    exporter = add(as_bob, target, token=TOKEN)
    change_exporter(by=as_bob, exporter=exporter, url=f"{URL}?collect[]=cpu", name="new name")
    assert TOKEN not in repr(list(Exporter.objects.values()))
    exporter.refresh_from_db()
    assert (exporter.name, decrypt(exporter.token)) == ("new name", TOKEN)


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://evil.example:9100/metrics"},
        {"url": URL, "verify_tls": False},
        {"url": URL, "ca_pem": CA},
    ],
)
def test_a_stored_token_goes_to_no_other_origin(as_bob, target, change):
    """Whoever may edit could read it there."""
    exporter = add(as_bob, target, token=TOKEN)
    with pytest.raises(InvalidFields, match="Enter it again"):
        change_exporter(by=as_bob, exporter=exporter, **change)
    assert Exporter.objects.get(pk=exporter.pk).url == URL
    change_exporter(by=as_bob, exporter=exporter, **change, token="")
    assert Exporter.objects.get(pk=exporter.pk).token == ""


def test_what_another_address_told_is_forgotten(as_bob, target):
    exporter = add(as_bob, target)
    now = timezone.now()
    Exporter.objects.update(told_at=now, offers=["CPU"], problem="It was away.", problem_at=now)
    exporter.refresh_from_db()
    change_exporter(by=as_bob, exporter=exporter, url="http://10.0.0.6:9100")
    row = Exporter.objects.get()
    assert (row.told_at, row.offers, row.problem, row.problem_at) == (
        None,
        [],
        "",
        None,
    )


def test_a_check_is_asked_for_once_in_a_moment(as_bob, target, calls):
    exporter = add(as_bob, target)
    with pytest.raises(Refused, match="a moment ago"):
        ask_check(by=as_bob, exporter=exporter)
    Exporter.objects.update(asked_at=timezone.now() - timedelta(minutes=1))
    ask_check(by=as_bob, exporter=exporter)
    assert len(calls) == 2


def test_those_in_use_are_asked_again_some_at_a_time(as_bob, target, monkeypatch):
    sent = []
    monkeypatch.setattr(queue, "send", lambda name, args, **more: sent.append((name, *args)))
    old = make_target(target.project, archived_at=timezone.now())
    unused = Exporter.objects.create(target=old, name="unused", url=URL)
    pks = {add(as_bob, target, name=f"shop-{n}").pk for n in range(3)}
    Exporter.objects.update(asked_at=None)
    assert machines.ask_again() == 3
    assert {pk for _, pk in sent} == pks == set(asked_now())
    monkeypatch.setattr(machines, "MOST_ASKED_AGAIN", 2)
    assert machines.ask_again() == 2
    LoadControl.objects.update_or_create(pk=1, defaults={"is_on": False, "reason": "A deploy."})
    assert machines.ask_again() == 0
    assert unused.pk not in asked_now()


def asked_now() -> list[int]:
    return list(Exporter.objects.exclude(asked_at=None).values_list("pk", flat=True))


def test_tokens_are_encrypted_anew_with_the_other_secrets(as_bob, target, settings):
    exporter = add(as_bob, target, token=TOKEN)
    before = Exporter.objects.get().token
    settings.VAULT_KEYS = ["a new key", *settings.VAULT_KEYS]
    assert rotate_secrets() == 1
    settings.VAULT_KEYS = settings.VAULT_KEYS[:1]
    exporter.refresh_from_db()
    assert exporter.token != before
    assert decrypt(exporter.token) == TOKEN

"""Nothing is lost when a channel, a dispatcher or PostgreSQL is away, and nothing is sent twice.
Real receivers on loopback."""

import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from campaigns.machines.models import THE_ROW
from campaigns.models import Campaign, LoadControl
from campaigns.notifications import delivery
from campaigns.notifications.domain import RETRY_AFTER_S, Result, new_secret
from campaigns.notifications.models import (
    Event,
    NotificationChannel,
    NotificationDelivery,
)
from campaigns.operations.services.load_control import RESTORED, allow_load
from tests.factories import make_campaign, make_test
from tests.notifications.receivers import http_receiver, smtp_receiver, use_mail
from tests.notifications.scenes import arrives, delivering, make_channel
from workers.dispatching import Dispatcher
from workers.notifying import Sender

pytestmark = pytest.mark.django_db(transaction=True)
State = NotificationDelivery.State


@pytest.fixture
def receiver():
    with http_receiver() as receiver:
        yield receiver


def end(project, name: str = "Nightly") -> Campaign:
    campaign = make_campaign(project, name, started_at=timezone.now())
    make_test(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
    return campaign


def is_sent(n: int = 1) -> bool:
    return NotificationDelivery.objects.filter(state=State.SENT).count() == n


def due_now(**fields) -> None:
    """As if the time for the next attempt had come."""
    NotificationDelivery.objects.update(due_at=timezone.now() - timedelta(seconds=1), **fields)


def test_a_webhook_is_signed_and_a_receivers_library_verifies_it(project, receiver):
    secret = new_secret()
    make_channel(project, receiver.url, secret=secret)
    campaign = end(project)
    with delivering():
        arrives(is_sent)
    (request,) = receiver.received
    body = Webhook(secret).verify(request.body, request.headers)
    assert body["type"] == "campaign.no_result"
    assert body["data"]["campaign"]["id"] == campaign.pk
    assert body["data"]["url"].endswith(f"/campaigns/{campaign.pk}/")


def test_an_e_mail_has_text_html_and_the_way_to_change_it(project, settings):
    with smtp_receiver() as (port, mails):
        use_mail(settings, port)
        make_channel(project, "oncall@shop.example", kind="email", label="oncall")
        end(project)
        with delivering():
            arrives(is_sent)
    ((to, mail),) = mails
    assert to == ["oncall@shop.example"]
    assert mail["Subject"] == "Nightly ended without a usable result."
    text, html = (each.get_payload(decode=True).decode() for each in mail.get_payload())
    for part in (text, html):
        assert "/channels/" in part
        assert "/campaigns/" in part


def test_one_channel_that_is_down_delays_no_other_and_gets_its_message_later(project, receiver):
    with http_receiver(statuses=[503, 200]) as down:
        make_channel(project, down.url, label="down")
        make_channel(project, receiver.url, label="up")
        end(project)
        with delivering():
            arrives(is_sent)
            waiting = NotificationDelivery.objects.get(channel__label="down")
            arrives(lambda: waiting.refresh_from_db() or waiting.problem)
            assert waiting.problem == "The receiver answered 503."
            assert waiting.state == State.WAITING
            due_now()
            arrives(lambda: is_sent(2))
        first, second = down.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert len(receiver.received) == 1


def test_two_dispatchers_at_once_send_each_message_once(project, receiver):
    make_channel(project, receiver.url)
    with delivering(), delivering():
        for number in range(25):
            end(project, f"Nightly {number}")
        arrives(lambda: is_sent(25))
    numbers = [each.headers["webhook-id"] for each in receiver.received]
    assert len(numbers) == len(set(numbers)) == 25


def test_the_database_keeps_a_channel_from_getting_an_event_twice(project):
    make_channel(project)
    end(project)
    assert delivery.announce_events() == 1
    Event.objects.update(announced_at=None)
    delivery.announce_events()
    assert NotificationDelivery.objects.count() == 1


def test_what_a_killed_dispatcher_had_claimed_is_sent_by_the_next_one(project, receiver):
    make_channel(project, receiver.url)
    end(project)
    delivery.announce_events()
    (order,) = delivery.claim_deliveries()
    assert delivery.claim_deliveries() == []  # as long as the claim lasts
    with delivering():
        due_now()
        arrives(is_sent)
    assert len(receiver.received) == 1
    # It was only frozen: what it stores now is out of date.
    assert not delivery.finish_delivery(order=order, result=Result("late"))
    assert is_sent()


def test_a_dispatcher_that_does_not_lead_sends_nothing(project, receiver):
    make_channel(project, receiver.url)
    end(project)
    with delivering(is_active=lambda: False):
        time.sleep(1.2)  # more than two of its turns
    assert receiver.received == []


def test_410_pauses_the_channel_and_a_person_resumes_it(project, receiver):
    receiver.statuses = [410, 200]
    channel = make_channel(project, receiver.url)
    end(project)
    with delivering():
        arrives(lambda: NotificationChannel.objects.exclude(paused_at=None).exists())
        channel.refresh_from_db()
        assert channel.why_paused == "The receiver answered 410: it wants no more."
        assert NotificationDelivery.objects.get().state == State.FAILED


def test_after_a_day_of_failures_the_channel_is_paused_and_nothing_is_forgotten(project, receiver):
    receiver.statuses = [500]
    channel = make_channel(project, receiver.url)
    end(project)
    with delivering():
        arrives(lambda: NotificationDelivery.objects.filter(problem__gt="").exists())
        due_now(n_attempts=len(RETRY_AFTER_S))
        arrives(lambda: NotificationChannel.objects.exclude(paused_at=None).exists())
    channel.refresh_from_db()
    assert channel.why_paused == "The receiver answered 500."
    assert NotificationDelivery.objects.get().problem == "The receiver answered 500."


def test_a_receiver_that_hangs_delays_no_other(project, receiver):
    with http_receiver(hold=threading.Event()) as silent:
        make_channel(project, silent.url)
        make_channel(project, receiver.url, label="quick")
        end(project)
        with delivering():
            arrives(
                lambda: NotificationDelivery.objects.filter(
                    channel__label="quick", state=State.SENT
                )
            )
            assert NotificationDelivery.objects.filter(state=State.WAITING).count() == 1
            silent.hold.set()
            arrives(lambda: is_sent(2))


def test_a_dispatcher_that_ends_stores_what_was_under_way(project):
    with http_receiver(hold=threading.Event()) as receiver:
        make_channel(project, receiver.url)
        end(project)
        with delivering():
            arrives(lambda: receiver.received)
            threading.Timer(0.5, receiver.hold.set).start()
        assert is_sent()


def test_a_dispatcher_ends_although_a_receiver_hangs(project):
    with http_receiver(hold=threading.Event()) as receiver:
        make_channel(project, receiver.url)
        end(project)
        with delivering(sender=Sender()):
            arrives(lambda: receiver.received)
            began = time.monotonic()
        assert time.monotonic() - began < 10
        assert NotificationDelivery.objects.get().state == State.WAITING


def test_a_fault_of_one_delivery_holds_up_no_other(project, receiver, monkeypatch):
    """Neither in its words nor in what came of it."""
    for label in ("broken words", "broken result", "sound"):
        make_channel(project, receiver.url, label=label)
    finish = delivery.finish_delivery

    def label_of(pk: int) -> str:
        return NotificationDelivery.objects.get(pk=pk).channel.label

    def broken_headers(keys, number, *_):
        if NotificationChannel.objects.get(pk=number.split("-")[2]).label == "broken words":
            raise KeyError("a bug")
        return {"webhook-id": number}

    def broken_finish(*, order, result):
        if label_of(order.delivery) == "broken result":
            raise ValueError("a bug")
        return finish(order=order, result=result)

    monkeypatch.setattr(delivery, "signed_headers", broken_headers)
    monkeypatch.setattr(delivery, "finish_delivery", broken_finish)
    end(project)
    with delivering() as thread:
        arrives(is_sent)
        undelivered = NotificationDelivery.objects.get(channel__label="broken words")
        arrives(lambda: undelivered.refresh_from_db() or "KeyError" in undelivered.problem)
        arrives(lambda: not thread._under_way)


def test_a_secret_that_no_key_decrypts_is_said(project, settings):
    make_channel(project)
    settings.VAULT_KEYS = ["another key of the vault"]
    end(project)
    with delivering():
        arrives(
            lambda: NotificationDelivery.objects.filter(
                problem__contains="BENCHSITE_VAULT_KEYS"
            ).exists()
        )


def test_a_restored_copy_sends_nothing_until_somebody_has_looked(project, receiver, as_adam):
    make_channel(project, receiver.url)
    end(project)
    LoadControl.objects.create(pk=THE_ROW, is_on=False, reason=RESTORED)
    with delivering():
        time.sleep(1.2)  # more than two of its turns
        assert receiver.received == []
        allow_load(by=as_adam)
        arrives(is_sent)


def test_from_an_end_to_the_receiver_takes_a_turn_of_the_dispatcher(project, receiver):
    """As a rule, whatever else the machine does; the first message waits for the sender."""
    make_channel(project, receiver.url)
    is_over = threading.Event()
    thread = threading.Thread(target=Dispatcher(is_over).run)
    thread.start()
    try:
        took_s = []
        for number in range(5):
            began = time.monotonic()
            end(project, f"Nightly {number}")
            arrives(lambda n=number: len(receiver.received) > n)
            took_s.append(time.monotonic() - began)
    finally:
        is_over.set()
        thread.join(15)
    assert sorted(took_s)[len(took_s) // 2] < 2, sorted(took_s)


def test_whoever_made_a_channel_hears_by_e_mail_that_it_is_paused(
    project, alice, settings, mailoutbox
):
    settings.HAS_EMAIL = True
    alice.email = "alice@shop.example"
    alice.save()
    channel = make_channel(project, created_by=alice)
    end(project)
    delivery.announce_events()
    (row,) = NotificationDelivery.objects.all()
    gone = Result("The receiver answered 410.", is_gone=True)
    assert delivery.finish_delivery(order=delivery.SendOrder(row.pk, row.n_attempts), result=gone)
    (mail,) = mailoutbox
    assert (mail.to, "#perf" in mail.subject) == (["alice@shop.example"], True)
    assert f"/channels/{channel.pk}/" in mail.body
    assert not delivery.finish_delivery(
        order=delivery.SendOrder(row.pk, row.n_attempts), result=gone
    )
    assert len(mailoutbox) == 1

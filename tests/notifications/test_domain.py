"""What is worth a message, when it is tried again, and how it is signed."""

from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from campaigns.domain.analysis.capacity import CapacityWord
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.plan.addresses import parse_networks, why_not_notified
from campaigns.notifications.domain import (
    RETRY_AFTER_S,
    EventKind,
    EventMessage,
    kind_of_end,
    new_secret,
    retry_after_s,
    signed_headers,
    turn,
)

pytestmark = pytest.mark.pure
NOW_S = 1_764_000_000


def test_a_test_is_told_of_when_it_turns_and_not_again():
    for before, now, kind in [
        ([], Word.SLOWER, EventKind.REGRESSION),
        ([Word.SAME], Word.SLOWER, EventKind.REGRESSION),
        ([Word.SLOWER], Word.SLOWER, None),
        ([Word.OPEN, "", Word.SLOWER], Word.SLOWER, None),
        ([Word.SAME, Word.SLOWER], Word.SLOWER, EventKind.REGRESSION),
        ([Word.SLOWER], Word.OPEN, None),
        ([Word.SLOWER], "", None),
        ([Word.OPEN, Word.SLOWER], Word.SAME, EventKind.RECOVERED),
        ([Word.SLOWER], Word.FASTER, EventKind.RECOVERED),
        ([Word.SLOWER], Word.NOT_SLOWER, EventKind.RECOVERED),
        ([Word.SAME, Word.SLOWER], Word.SAME, None),
        ([], Word.SAME, None),
        ([CapacityWord.MORE], CapacityWord.LESS, EventKind.REGRESSION),
        ([CapacityWord.OPEN, CapacityWord.LESS], CapacityWord.NOT_LESS, EventKind.RECOVERED),
    ]:
        assert turn(before, now) is kind


def test_an_end_is_one_kind_of_event():
    for turns, is_usable, is_stopped, kind in [
        ([EventKind.RECOVERED, None, EventKind.REGRESSION], True, False, EventKind.REGRESSION),
        ([EventKind.RECOVERED], True, False, EventKind.RECOVERED),
        ([None], True, False, EventKind.ENDED),
        ([], False, False, EventKind.NO_RESULT),
        ([], False, True, EventKind.ENDED),
    ]:
        assert kind_of_end(turns, is_usable=is_usable, is_stopped=is_stopped) is kind


def test_who_wants_every_end_gets_each_end_once():
    assert EventKind.REGRESSION.wanted_by == {EventKind.REGRESSION, EventKind.ENDED}
    assert EventKind.ENDED.wanted_by == {EventKind.ENDED}
    assert EventKind.ON_HOLD.wanted_by == {EventKind.ON_HOLD}


def test_attempts_come_ever_later_for_about_a_day_and_end():
    waits = [retry_after_s(n) for n in range(1, len(RETRY_AFTER_S) + 1)]
    assert waits == sorted(waits)
    assert 0.8 * 86_400 < sum(waits) < 1.5 * 86_400
    assert retry_after_s(len(waits) + 1) is None


def test_a_receivers_library_accepts_a_signature_by_the_new_secret_and_the_old_one(monkeypatch):
    new, old = new_secret(), new_secret()
    body = EventMessage("Nightly is slower.", (("p95", "42 ms"),)).webhook_body(
        "test", "2026-11-28"
    )
    headers = signed_headers([new, old], "benchsite-7-3", NOW_S, body)
    monkeypatch.setattr(
        Webhook, "_Webhook__verify_timestamp", lambda *_: datetime.fromtimestamp(NOW_S, UTC)
    )
    for secret in (new, old):
        assert Webhook(secret).verify(body, headers)["data"]["facts"] == {"p95": "42 ms"}
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(body.replace("slower", "faster"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_a_message_survives_being_stored():
    message = EventMessage(
        "It ended.", (("Runs", "3 of 3"),), "https://x/", data={"project": "Shop"}
    )
    assert EventMessage.from_json(message.to_json()) == message


def test_notifications_go_to_public_addresses_and_listed_networks():
    for address, port, words in [
        ("93.184.216.34", 443, None),
        ("2606:2800:220:1::1", 443, None),
        ("10.1.2.3", 443, None),
        ("10.1.2.3", 80, "not a public address"),
        ("10.9.2.3", 443, "not a public address"),
        ("127.0.0.1", 443, "not a public address"),
        ("::ffff:127.0.0.1", 443, "not a public address"),
        ("fd00::1", 443, "not a public address"),
        ("169.254.169.254", 443, "metadata"),
        ("::ffff:169.254.169.254", 443, "metadata"),
        ("0.0.0.1", 443, "no host"),
        ("64:ff9b::a01:203", 443, "NAT64"),
        ("10.1.2.4", 443, "server of this installation"),
        ("hooks.example", 443, "not an IP address"),
    ]:
        networks = parse_networks(["10.1.0.0/16:443"])
        why = why_not_notified(address, port, networks, {"10.1.2.4:443"})
        assert (why is None) if words is None else words in why

"""What people do with channels: add, change, test, pause and remove them. A channel's address is
written only: who wants another one enters it. Those of a project are for its editors, a person's
for that person."""

import json
import secrets
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Now

from campaigns.core import audit
from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.items.services import hold
from campaigns.models import Project
from campaigns.notifications.delivery import sending_policy
from campaigns.notifications.domain import CHOICES, SIGNED_BY, EventKind, EventMessage, new_secret
from campaigns.notifications.models import (
    ChannelKind,
    Event,
    NotificationChannel,
    NotificationDelivery,
)
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import decrypt, encrypt

MOST_OF_PROJECT, MOST_OF_PERSON = 20, 5
MOST_ADDRESS = 2000
# A test is a request to somebody's server.
TEST_EVERY_S = 10
_CHECK_WITHIN_S = 30
# What a service's own address looks like; Apprise's form of it does as well.
_SERVICES = {
    ChannelKind.SLACK: "Slack",
    ChannelKind.TEAMS: "Power Automate",
    ChannelKind.DISCORD: "Discord",
    ChannelKind.MATRIX: "Matrix",
}


class NewChannel(NamedTuple):
    """`secret` signs webhooks; it is never shown again, and "" of other kinds."""

    channel: NotificationChannel
    secret: str = ""


def add_channel(
    *, by: Actor, project: Project | None, kind: str, address: str, label: str, kinds: Sequence[str]
) -> NewChannel:
    """A channel of the project, or without one of the person. Raises InvalidFields, Refused."""
    _require(by, project)
    kind = ChannelKind(kind)
    address = address.strip()
    _check(kind, address)
    # What of an address may be shown.
    places = {ChannelKind.EMAIL: address, ChannelKind.WEBHOOK: urlsplit(address).hostname}
    label = clean_name(label) or places.get(kind) or kind.label
    secret = new_secret() if kind == ChannelKind.WEBHOOK else ""
    with transaction.atomic():
        # Held, so that two at once do not exceed the limit together.
        if project:
            hold(project)
            rows, most = project.channels, MOST_OF_PROJECT
        else:
            User.objects.select_for_update(no_key=True).get(pk=by.user.pk)
            rows, most = by.user.channels, MOST_OF_PERSON
        if rows.count() >= most:
            raise Refused(f"There are {most} channels. Remove one that is not used.")
        channel = NotificationChannel.objects.create(
            project=project,
            user=None if project else by.user,
            kind=kind,
            label=label[:100],
            address=encrypt(address),
            secrets=encrypt(secret) if secret else "",
            kinds=_event_kinds(kinds),
            created_by=by.user,
        )
        audit.note(by, AuditEvent.CHANNEL_ADDED, str(channel), project=project)
    return NewChannel(channel, secret)


def _require(by: Actor, project: Project | None) -> None:
    if project:
        require(by, Action.EDIT, project)
    elif not by.is_member or by.token is not None:
        raise Forbidden("Sign in to change your notifications.")


def require_own(by: Actor, channel: NotificationChannel) -> None:
    """Raises Forbidden, or Refused in an archived project."""
    _require(by, channel.project)
    if channel.user_id and channel.user_id != by.user.pk:
        raise Forbidden("Only its owner may change this channel.")


def _event_kinds(kinds: Sequence[str]) -> list[str]:
    return [str(kind) for kind in CHOICES if kind in kinds]


def _check(kind: ChannelKind, address: str) -> None:
    """Raises InvalidFields. Whether somebody answers there, only a test says."""
    if not address or len(address) > MOST_ADDRESS or not address.isprintable():
        raise InvalidFields({"address": f"Enter an address of at most {MOST_ADDRESS} characters."})
    if fault := _fault(kind, address):
        raise InvalidFields({"address": fault})


def _fault(kind: ChannelKind, address: str) -> str:
    if kind == ChannelKind.EMAIL:
        if not settings.HAS_EMAIL:
            return "This site has no mail server. An administrator can set BENCHSITE_SMTP."
        try:
            validate_email(address)
        except ValidationError:
            return "Enter an e-mail address, such as oncall@shop.example."
        return ""
    if kind == ChannelKind.WEBHOOK:
        try:
            parts = urlsplit(address)
            is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_web = False
        return "" if is_web else "Enter an address that begins with https:// or http://."
    problem, name = _checked_by_sender(address)
    expected = _SERVICES.get(kind)
    if problem or (expected and not name.startswith(expected)):
        return f"Enter an address that {kind.label} gave you." if expected else problem
    return ""


def _checked_by_sender(address: str) -> tuple[str, str]:
    """(what is wrong with it, the service's name): a plugin reads it, in a process that holds no
    secret of ours. Nothing is sent."""
    order = {"id": 0, "address": address, "is_check": True, **sending_policy()}
    try:
        process = subprocess.run(
            [sys.executable, "-m", "campaigns.notifications.sender"],
            input=json.dumps(order) + "\n",
            cwd=settings.BASE_DIR,
            env={},
            capture_output=True,
            text=True,
            timeout=_CHECK_WITHIN_S,
            check=True,
        )
        answer = json.loads(process.stdout)
    except (subprocess.SubprocessError, ValueError):
        return "This address could not be checked. Try again.", ""
    return answer["problem"], answer.get("name", "")


def change_channel(
    *, by: Actor, channel: NotificationChannel, label: str, kinds: Sequence[str], address: str = ""
) -> NotificationChannel:
    """An empty address leaves the stored one. Raises InvalidFields."""
    require_own(by, channel)
    values = {"label": clean_name(label)[:100] or channel.label, "kinds": _event_kinds(kinds)}
    address = address.strip()
    if address:
        _check(ChannelKind(channel.kind), address)
        values["address"] = encrypt(address)
    with transaction.atomic():
        NotificationChannel.objects.filter(pk=channel.pk).update(**values)
        audit.note(by, AuditEvent.CHANNEL_CHANGED, str(channel), project=channel.project)
    channel.refresh_from_db()
    return channel


def choose_kinds(*, by: Actor, channel: NotificationChannel, kinds: Sequence[str]) -> None:
    """Of a table's row."""
    require_own(by, channel)
    NotificationChannel.objects.filter(pk=channel.pk).update(kinds=_event_kinds(kinds))


def replace_secret(*, by: Actor, channel: NotificationChannel) -> str:
    """The new secret; webhooks are signed by the old one as well, until it is replaced again."""
    require_own(by, channel)
    if channel.kind != ChannelKind.WEBHOOK:
        raise Refused("Only webhooks are signed.")
    with transaction.atomic():
        row = NotificationChannel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
        secrets, secret = decrypt(row.secrets).split(), new_secret()
        text = " ".join([secret, *secrets][:SIGNED_BY])
        NotificationChannel.objects.filter(pk=channel.pk).update(secrets=encrypt(text))
        audit.note(by, AuditEvent.CHANNEL_CHANGED, f"{channel}: secret", project=channel.project)
    return secret


@transaction.atomic
def send_test(*, by: Actor, channel: NotificationChannel) -> NotificationDelivery:
    """Its delivery, as of any message. Refused where one was sent a moment ago."""
    require_own(by, channel)
    row = NotificationChannel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
    if row.paused_at:
        raise Refused("This channel is paused. Resume it first.")
    lately = NotificationDelivery.objects.filter(channel=channel, event__kind=EventKind.TEST)
    if lately.filter(event__at__gt=db_now(-TEST_EVERY_S)).exists():
        raise Refused(f"A test was sent a moment ago. Try again in {TEST_EVERY_S} s.")
    key = f"test {channel.pk} {secrets.token_hex(8)}"
    message = EventMessage(f"benchsite can reach {channel.label}.")
    event = Event.of(EventKind.TEST, key, channel.project, message)
    event.announced_at = Now()
    event.save()
    return NotificationDelivery.objects.create(event=event, channel=channel)


def pause_channel(*, by: Actor, channel: NotificationChannel) -> None:
    """What happens meanwhile is not told later."""
    require_own(by, channel)
    NotificationChannel.objects.filter(pk=channel.pk, paused_at=None).update(
        paused_at=Now(), why_paused=""
    )


@transaction.atomic
def resume_channel(*, by: Actor, channel: NotificationChannel) -> None:
    """What was waiting when it was paused is sent now."""
    require_own(by, channel)
    NotificationChannel.objects.filter(pk=channel.pk).update(paused_at=None, why_paused="")
    waiting = channel.deliveries.filter(state=NotificationDelivery.State.WAITING)
    waiting.update(due_at=db_now(), n_attempts=0)


@transaction.atomic
def remove_channel(*, by: Actor, channel: NotificationChannel) -> None:
    """With its deliveries and its secrets."""
    require_own(by, channel)
    audit.note(by, AuditEvent.CHANNEL_REMOVED, str(channel), project=channel.project)
    NotificationChannel.objects.filter(pk=channel.pk).delete()

"""From an event to its deliveries, for the dispatcher. Every change is compare-and-set, and a claim
ends by itself: whatever is killed in between, the next turn goes on, and no channel gets an event
by two dispatchers. What silent agents and certificates become is written here as events too."""

import logging
import time
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMultiAlternatives
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils import timezone

from campaigns.core.database import db_now
from campaigns.domain.errors import Refused
from campaigns.domain.typed_text import storable
from campaigns.domain.units import counted, duration
from campaigns.models import Endpoint, Exporter, Probe, Project
from campaigns.notifications.domain import (
    SIGNED_BY,
    EventKind,
    EventMessage,
    Result,
    retry_after_s,
    signed_headers,
)
from campaigns.notifications.messages import (
    Announcement,
    announcement_of,
    page_of,
    short_announcement,
    site_url,
)
from campaigns.notifications.models import (
    ChannelKind,
    Event,
    NotificationChannel,
    NotificationDelivery,
)
from campaigns.operations.queries import why_load_is_off
from campaigns.operations.services.load_control import RESTORED
from campaigns.probes.queries.probes import days_left
from campaigns.projects.services import decrypt
from campaigns.targets.queries import policy

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 20
# An attempt takes a minute at most.
CLAIMED_FOR_S = 90
SILENT_AFTER_S = 180  # a machine that restarts is back before
FORGOTTEN_AFTER_S = 24 * 3600  # whoever has a channel since then knows
CERTIFICATE_DAYS = 14
KEPT_S = 90 * 24 * 3600
_IDLE = """
SELECT NOT EXISTS (SELECT FROM campaigns_event WHERE announced_at IS NULL)
   AND NOT EXISTS (SELECT FROM campaigns_notificationdelivery
                   JOIN campaigns_notificationchannel channel ON channel.id = channel_id
                   WHERE state = 'waiting' AND due_at <= clock_timestamp()
                     AND channel.paused_at IS NULL)
"""


def is_idle() -> bool:
    """Whether there is nothing to do; asked twice a second."""
    with connection.cursor() as cursor:
        cursor.execute(_IDLE)
        return cursor.fetchone()[0]


def is_restored() -> bool:
    """Whether the tables come from a dump, and no administrator has looked at them yet: what was
    waiting then may have been sent since."""
    return why_load_is_off() == RESTORED


def has_channels() -> bool:
    return NotificationChannel.objects.filter(paused_at=None).exists()


# --- events become deliveries --------------------------------------------------------------------
def announce_events() -> int:
    """Write each event's message, and a delivery for each channel that wants it; how many events
    were announced."""
    oldest = Event.objects.filter(announced_at=None).order_by("at", "pk")
    return sum(map(_announce, list(oldest.values_list("pk", flat=True)[:MOST_AT_ONCE])))


def _announce(pk: int) -> int:
    """The words of a campaign with many tests take minutes, in no transaction."""
    first = Event.objects.filter(pk=pk, announced_at=None).first()
    if first is None:
        return 0
    same = Event.objects.filter(announced_at=None, project=first.project_id, at=first.at)
    relations = ("change__plan", "change__endpoint__target", "change__entry__project")
    events = list(same.select_related("campaign__project", "project", *relations).order_by("pk"))
    kind, message = _announcement(events)
    lead = next((each for each in events if each.kind == EventKind.ENDED), events[0])
    creator = lead.campaign and lead.campaign.created_by_id
    with transaction.atomic():
        # Whoever comes first announces all of them.
        waiting = Event.objects.filter(pk__in=[each.pk for each in events], announced_at=None)
        if waiting.update(announced_at=Now()) < len(events):
            transaction.set_rollback(True)
            return 0
        if message:
            Event.objects.filter(pk=lead.pk).update(kind=kind, message=message.to_json())
            # Of the project; and of people: of who made the campaign, of all members for the rest.
            members = get_user_model().objects.filter(
                memberships__project=first.project_id, is_active=True
            )
            people = members.filter(pk=creator) if kind.is_of_campaign else members
            whose = Q(project=first.project_id) | Q(user__in=people)
            takes_kind = Q(kinds__overlap=[str(each) for each in kind.wanted_by])
            channels = NotificationChannel.objects.filter(whose, takes_kind, paused_at=None)
            deliveries = [NotificationDelivery(event=lead, channel=each) for each in channels]
            NotificationDelivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    return len(events)


def _announcement(events: list[Event]) -> Announcement:
    """A fault in its words must not keep a message back."""
    try:
        return announcement_of(events)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("The message of event %s is short", events[0].pk)
        return short_announcement(events[0])


# --- deliveries ----------------------------------------------------------------------------------
class SendOrder(NamedTuple):
    """An attempt. `send` is what the sender's process gets, None of an e-mail, which is in
    `email`. `fault`: why it cannot be tried."""

    delivery: int
    n_attempts: int
    send: dict[str, Any] | None = None
    email: EmailMultiAlternatives | None = None
    fault: str = ""
    is_test: bool = False


def claim_deliveries(most: int = MOST_AT_ONCE) -> list[SendOrder]:
    """Those that are due, for whoever claims them first. A claim that nobody finishes ends, and
    the delivery is tried again."""
    due = NotificationDelivery.objects.filter(
        state=NotificationDelivery.State.WAITING, due_at__lte=db_now(), channel__paused_at=None
    )
    with transaction.atomic():
        oldest = due.select_for_update(skip_locked=True, of=("self",)).order_by("due_at")
        pks = list(oldest.values_list("pk", flat=True)[:most])
        NotificationDelivery.objects.filter(pk__in=pks).update(
            due_at=db_now(CLAIMED_FOR_S), n_attempts=F("n_attempts") + 1, tried_at=Now()
        )
    rows = NotificationDelivery.objects.filter(pk__in=pks).select_related(
        "event__project", "channel"
    )
    return [_order(each) for each in rows.order_by("pk")]


def _order(delivery: NotificationDelivery) -> SendOrder:
    event, channel = delivery.event, delivery.channel
    attempt = SendOrder(delivery.pk, delivery.n_attempts, is_test=event.kind == EventKind.TEST)
    message = EventMessage.from_json(event.message or {"headline": str(event), "facts": []})
    try:
        address = decrypt(channel.address)
        if channel.kind == ChannelKind.EMAIL:
            return attempt._replace(email=_email(delivery, message, address))
        order = {"address": address, **sending_policy()}
        if channel.kind != ChannelKind.WEBHOOK:
            texts = {"title": message.headline, "body": message.markdown}
            return attempt._replace(send={**order, **texts, "site": settings.SITE_URL})
        keys = decrypt(channel.secrets).split()[:SIGNED_BY]
        body = message.webhook_body(event.kind, event.at.isoformat())
        number = f"benchsite-{event.pk}-{channel.pk}"
        headers = signed_headers(keys, number, int(time.time()), body)
        return attempt._replace(send={**order, "body": body, "headers": headers})
    except Refused as refusal:
        return attempt._replace(fault=str(refusal))
    except Exception as error:  # the other claimed ones must not wait for their claims to end
        logger.exception("Delivery %s cannot be written", delivery.pk)
        return attempt._replace(fault=f"The message could not be written ({type(error).__name__}).")


def sending_policy() -> dict[str, Any]:
    """Where the sender may connect to."""
    return policy(settings.NOTIFY_NETWORKS)


def _email(
    delivery: NotificationDelivery, message: EventMessage, address: str
) -> EmailMultiAlternatives:
    channel, host = delivery.channel, settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    page = page_of(channel)
    text = f"{message.text}\nChange notifications: {page}\n"
    email = EmailMultiAlternatives(
        # A line break in a subject would be another header, and Django refuses it.
        " ".join(message.headline.split())[:200],
        text,
        to=[address],
        headers={
            "Auto-Submitted": "auto-generated",
            # A second copy, of an attempt that was cut off, has the same.
            "Message-ID": f"<benchsite-{delivery.event_id}-{channel.pk}@{host}>",
        },
    )
    html = render_to_string(
        "notifications/email.html", {"message": message, "page": page, "channel": channel}
    )
    email.attach_alternative(html, "text/html")
    return email


def finish_delivery(*, order: SendOrder, result: Result) -> bool:
    """Store what came of an attempt; whether it still counted. After the last attempt, or where the
    receiver wants no more, the channel is paused. A test is tried once: somebody is looking."""
    rows = NotificationDelivery.objects.filter(
        pk=order.delivery, state=NotificationDelivery.State.WAITING, n_attempts=order.n_attempts
    )
    problem = storable(result.problem)[:400]
    if not problem:
        return bool(rows.update(state=NotificationDelivery.State.SENT, problem=""))
    wait_s = None if result.is_gone else retry_after_s(order.n_attempts)
    if order.is_test and not result.is_gone:
        return bool(rows.update(state=NotificationDelivery.State.FAILED, problem=problem))
    if wait_s is not None:
        return bool(rows.update(due_at=db_now(wait_s), problem=problem))
    with transaction.atomic():
        if not rows.update(state=NotificationDelivery.State.FAILED, problem=problem):
            return False
        channel = NotificationChannel.objects.get(deliveries=order.delivery)
        NotificationChannel.objects.filter(pk=channel.pk, paused_at=None).update(
            paused_at=Now(), why_paused=problem
        )
    # Its creator learns it by e-mail, where the site sends any: the channel itself cannot.
    to = channel.created_by and channel.created_by.email
    if settings.HAS_EMAIL and to and channel.kind != ChannelKind.EMAIL:
        subject = f"Notifications to {channel.label} are paused"
        text = f"{channel} is paused: {problem}\n\nResume it: {page_of(channel)}\n"
        try:
            EmailMultiAlternatives(subject, text, to=[to]).send()
        except OSError as error:
            logger.warning("Nobody was told that channel %s is paused: %s", channel.pk, error)
    return True


# --- what happens by itself ----------------------------------------------------------------------
def note_silent_agents() -> int:
    """Write an event of each agent or exporter that has stopped answering, and of each that answers
    again. None is asked while load is off."""
    if why_load_is_off():
        return 0
    exporters = Exporter.objects.filter(
        target__archived_at=None, target__project__in=_watching(EventKind.AGENT)
    ).select_related("target__project")
    earlier = Event.objects.filter(kind=EventKind.AGENT, at__gt=db_now(-KEPT_S)).order_by("pk")
    rows = earlier.filter(message__data__has_key="exporter").values_list("pk", "message__data")
    # By exporter: the last event, and what it said.
    states = {data["exporter"]: (pk, data["state"]) for pk, data in rows}
    events = []
    for exporter in exporters.filter(told_at__gt=db_now(-FORGOTTEN_AFTER_S)).annotate(now=db_now()):
        last, state = states.get(exporter.pk, (0, ""))
        since = exporter.problem_at
        silent_s = (exporter.now - since).total_seconds() if since else 0.0
        if silent_s > SILENT_AFTER_S and state != "silent":
            words = f"has not answered for {duration(round(silent_s))}"
            events.append(_agent_event(exporter, "silent", words, since.isoformat()))
        elif not since and state == "silent":
            events.append(_agent_event(exporter, "back", "answers again", f"after {last}"))
    return len(Event.objects.bulk_create(events, ignore_conflicts=True))


def _agent_event(exporter: Exporter, state: str, words: str, key: str) -> Event:
    target = exporter.target
    message = EventMessage(
        f"{exporter.name}, a machine of {target}, {words}.",
        (("Why", exporter.problem),) if exporter.problem else (),
        site_url("target-detail", target.pk),
        "See the target",
        {
            "project": target.project.name,
            "machine": exporter.name,
            "exporter": exporter.pk,
            "state": state,
        },
    )
    key = f"exporter {exporter.pk} {state} {key}"
    return Event.of(EventKind.AGENT, key, target.project, message)


def note_expiring_certificates() -> int:
    """Write an event of each certificate that expires within two weeks, once, by the newest test or
    preflight request that saw one."""
    endpoints = Endpoint.objects.filter(
        archived_at=None,
        target__archived_at=None,
        target__project__in=_watching(EventKind.CERTIFICATE),
    )
    probes = Probe.objects.filter(endpoint__in=endpoints, result__certificates__0__isnull=False)
    newest = probes.order_by("endpoint_id", "-pk").distinct("endpoint_id")
    rows = newest.values_list("endpoint", "finished_at", "result__certificates__0")
    certificates = {endpoint: (at, certificate) for endpoint, at, certificate in rows}
    events, now = [], timezone.now()
    for endpoint in endpoints.filter(pk__in=certificates).select_related("target__project"):
        at, certificate = certificates[endpoint.pk]
        n_days = days_left(certificate, now)
        if 0 <= n_days < CERTIFICATE_DAYS:
            not_after = certificate["not_after"]
            target, until = endpoint.target, f"{datetime.fromisoformat(not_after):%-d %b %Y}"
            message = EventMessage(
                f"The certificate of {target} at {endpoint} expires in {counted(n_days, 'days')}, "
                f"on {until}.",
                (("Last seen", f"{at:%-d %b %Y}"),),
                site_url("target-detail", target.pk),
                "See the target",
                {"project": target.project.name, "endpoint": str(endpoint), "not_after": not_after},
            )
            key = f"certificate {endpoint.pk} {not_after}"
            events.append(Event.of(EventKind.CERTIFICATE, key, target.project, message))
    return len(Event.objects.bulk_create(events, ignore_conflicts=True))


def _watching(kind: EventKind):
    """Projects in which somebody wants to know."""
    channels = NotificationChannel.objects.filter(kinds__contains=[str(kind)], paused_at=None)
    people = channels.filter(user__isnull=False).values("user")
    return (
        Project.objects.outside_trash()
        .filter(
            Q(pk__in=channels.filter(project__isnull=False).values("project"))
            | Q(memberships__user__in=people)
        )
        .values("pk")
    )


def forget_old_events() -> int:
    return Event.objects.filter(at__lt=db_now(-KEPT_S)).delete()[0]

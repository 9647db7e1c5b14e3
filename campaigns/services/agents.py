"""Agents on targets' machines: create and revoke their tokens, and take what they report. A token
has the form `bs_agent_<lookup>_<secret>`, as those of services.tokens. It opens one address and
reads nothing. Prometheus exporters of targets: set, check and remove them. A token is sent only to
the origin that it was entered for: who enters another address enters it again."""

import hmac
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Now
from django.utils import timezone

from campaigns import queue
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.edit_conflicts import Content, check_unchanged
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.metrics.machine import AgentReport, machine_of
from campaigns.domain.plan.exporters import ExporterFields, check_exporter
from campaigns.models import Agent, Exporter, MachineSecond, Run, RunProfile, Target
from campaigns.models.dbtime import ClockTimestamp, db_now
from campaigns.models.runs import IN_TURNS
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.load_control import require_load_on
from campaigns.services.scrapes import (
    join_exporter,
    machine_second,
    require_sources,
    store_machine_seconds,
)
from campaigns.services.targets import keep_target
from campaigns.services.vault import encrypt, keyed_hash

MOST_AGENTS = 20  # live ones of a target
# An agent keeps an hour; what is older was not measured when it says.
OLDEST_S, NEWEST_S = 2 * 3600, 30
SILENT_AFTER_S = 60
_PURPOSE = "agent-token"
_FORM = re.compile(r"bs_agent_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")


@transaction.atomic
def create_agent(*, by: Actor, target: Target) -> tuple[Agent, str]:
    """The agent's row and its token, which is never shown again."""
    require(by, Action.EDIT, target.project)
    keep_target(target)  # which holds it, so that two at once do not exceed the limit together
    if target.archived_at:
        raise Refused(f"{target.name} is archived. Restore it first.")
    if target.agents.filter(revoked_at=None).count() >= MOST_AGENTS:
        raise Refused(f"{target.name} has {MOST_AGENTS} agents. Revoke one that is not used.")
    lookup = secrets.token_hex(8)
    text = f"bs_agent_{lookup}_{secrets.token_urlsafe(32)}"
    agent = Agent.objects.create(
        target=target, lookup=lookup, token_hash=keyed_hash(text, _PURPOSE)
    )
    audit.note(by, AuditEvent.TOKEN_CREATED, str(agent), project=target.project)
    return agent, text


@transaction.atomic
def revoke_agent(*, by: Actor, agent: Agent) -> None:
    """It is refused from its next report on. What it reported stays."""
    require(by, Action.EDIT, agent.target.project)
    if Agent.objects.filter(pk=agent.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.note(by, AuditEvent.TOKEN_REVOKED, str(agent), project=agent.target.project)


def authenticate_agent(*, text: str) -> Agent | None:
    """The agent with this token; None if it is unknown or revoked."""
    form = _FORM.fullmatch(text)
    agent = form and Agent.objects.filter(lookup=form[1], revoked_at=None).first()
    if not agent or not hmac.compare_digest(agent.token_hash, keyed_hash(text, _PURPOSE)):
        return None
    return agent


def database_time() -> float:
    """Seconds since the epoch by the database's clock, which runs are timed by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        return float(cursor.fetchone()[0])


@transaction.atomic
def take_report(*, agent: Agent, report: AgentReport) -> int:
    """Store the seconds that fall into runs of the agent's target; how many did. May be called
    twice with the same report."""
    machine = machine_of(report.seconds[-1].did) if report.seconds else ""
    is_new = machine not in {"", agent.machine}
    since = Case(When(heard_at__gte=db_now(-SILENT_AFTER_S), then=F("heard_since")), default=Now())
    Agent.objects.filter(pk=agent.pk).update(
        host=report.host,
        machine=machine or agent.machine,
        watched=report.watched,
        heard_since=since,
        heard_at=Now(),
        clock_ahead_s=report.clock_ahead_s,
        clock_error_s=report.clock_error_s,
    )
    rows = list(_rows(agent, report))
    require_sources(rows)
    if is_new:
        join_exporter(runs={row.run_id for row in rows}, machine=machine, host=report.host)
    store_machine_seconds(rows=rows, told_by="agent")
    RunProfile.objects.bulk_create(_profiles(agent, report), ignore_conflicts=True)
    return len(rows)


@dataclass(frozen=True, slots=True)
class _Span:
    """A run's time of sending, warm-up included, and the start of its measurement."""

    run: int
    begin: datetime
    end: datetime | None
    zero: datetime

    def holds(self, at: datetime) -> bool:
        return self.begin <= at and (self.end is None or at < self.end)


def _rows(agent: Agent, report: AgentReport) -> Iterator[MachineSecond]:
    now = datetime.fromtimestamp(database_time(), UTC)
    oldest, newest = now - timedelta(seconds=OLDEST_S), now + timedelta(seconds=NEWEST_S)
    dated = ((datetime.fromtimestamp(each.at_s, UTC), each) for each in report.seconds)
    seconds = [(at, each) for at, each in dated if oldest < at < newest]
    spans = _spans(agent, [at for at, _ in seconds])
    for at, each in seconds:
        if span := next((span for span in spans if span.holds(at)), None):
            yield machine_second(
                run=span.run,
                source=report.host,
                # A sample goes from one whole second of the clock to the next, with its middle now
                # and then a little late: as it is, two that follow each other could fall into one
                # second of the run.
                second=(at.replace(microsecond=500_000) - span.zero) // timedelta(seconds=1),
                lasted_s=each.lasted_s,
                did=each.did,
            )


def _profiles(agent: Agent, report: AgentReport) -> Iterator[RunProfile]:
    """Each of the run in which it was recorded; one that tells of none is not kept."""
    middles = [datetime.fromtimestamp((p.began_s + p.ended_s) / 2, UTC) for p in report.profiles]
    spans = _spans(agent, middles)
    for at, profile in zip(middles, report.profiles, strict=True):
        if span := next((span for span in spans if span.holds(at)), None):
            yield RunProfile(run_id=span.run, source=report.host, data=profile.to_json())


def _spans(agent: Agent, instants: list[datetime]) -> list[_Span]:
    """Of the runs of the agent's target that were sending at one of the instants. Whose CPU it was
    is not known where arms took turns."""
    if not instants:
        return []
    recent = Run.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=min(instants)),
        target=agent.target_id,
        t0__lte=max(instants),
        t0__gt=db_now(-24 * 3600),
    ).exclude(IN_TURNS)
    rows = recent.values_list("pk", "t0", "ended_at", "snapshot__plan__warm_up_s")
    return [
        _Span(pk, begin, end, begin + timedelta(seconds=warm_up_s or 0))
        for pk, begin, end, warm_up_s in rows
    ]


MOST_EXPORTERS = 5  # of a target
CHECK_EVERY_S = 3
_NAME_TAKEN = {"name": "The target already has a machine with this name. Choose another."}


@transaction.atomic
def add_exporter(*, by: Actor, target: Target, **fields: Any) -> Exporter:
    """`fields` as in domain.plan.exporters.check_exporter. Raises InvalidFields."""
    require(by, Action.EDIT, target.project)
    keep_target(target)  # which holds it, so that two at once do not exceed the limit together
    if target.archived_at:
        raise Refused(f"{target.name} is archived. Restore it first.")
    if target.exporters.count() >= MOST_EXPORTERS:
        raise Refused(f"{target.name} has {MOST_EXPORTERS} exporters. Remove one of them first.")
    return _save(by, Exporter(target=target), check_exporter(**fields))


@transaction.atomic
def change_exporter(
    *, by: Actor, exporter: Exporter, opened: str | None = None, **fields: Any
) -> Exporter:
    """As `add_exporter`; without a token the stored one stays, "" removes it. `opened`: what the
    form was opened with. Raises ChangedMeanwhile."""
    require(by, Action.EDIT, exporter.target.project)
    checked = check_exporter(**fields)
    # Read it anew: one that was removed since would come back with its token.
    try:
        exporter.refresh_from_db(from_queryset=Exporter.objects.select_for_update())
    except Exporter.DoesNotExist:
        raise Refused(f"{exporter.name} was removed meanwhile. Add it anew.") from None
    check_unchanged(opened, stored=content_of(exporter), wanted=content_of(checked))
    if exporter.token and checked.token is None:
        is_same = checked.address.origin == exporter.address.origin
        if not (is_same and checked.verify_tls):
            known = f"{exporter.address.origin} with its certificate verified"
            raise InvalidFields({"token": f"The stored token is for {known}. Enter it again."})
    return _save(by, exporter, checked)


def content_of(exporter: Exporter | ExporterFields) -> Content:
    """What `change_exporter` replaces, but for the token, which no form shows."""
    names = ("url", "name", "is_server", "verify_tls")
    return {name: getattr(exporter, name) for name in names}


def _save(by: Actor, exporter: Exporter, given: ExporterFields) -> Exporter:
    if exporter.target.agents.filter(revoked_at=None, host=given.name).exists():
        raise InvalidFields(_NAME_TAKEN)
    exporter.name, exporter.url = given.name, given.url
    exporter.verify_tls, exporter.is_server = given.verify_tls, given.is_server
    # What was told before was told by another address, or read otherwise.
    exporter.offers, exporter.told_at = [], None
    exporter.problem, exporter.problem_at = "", None
    deeds = [AuditEvent.EXPORTER_SET, *_keep_token(exporter, given.token)]
    try:
        with transaction.atomic():
            exporter.save()
    except IntegrityError:
        raise InvalidFields(_NAME_TAKEN) from None
    for deed in deeds:
        audit.note(by, deed, _label(exporter), project=exporter.target.project)
    _ask_worker(Exporter.objects.filter(pk=exporter.pk), exporter.pk)
    return exporter


def _keep_token(exporter: Exporter, token: str | None) -> list[AuditEvent]:
    """Store the token encrypted; "" removes it, None keeps it."""
    if token is None or token == exporter.token == "":
        return []
    exporter.token = encrypt(token) if token else ""
    return [AuditEvent.SECRET_STORED if token else AuditEvent.SECRET_DELETED]


@transaction.atomic
def remove_exporter(*, by: Actor, exporter: Exporter) -> None:
    """It is not scraped by runs that begin from now on. What it told stays."""
    require(by, Action.EDIT, exporter.target.project)
    audit.note(by, AuditEvent.DELETED, _label(exporter), project=exporter.target.project)
    exporter.delete()


def _label(exporter: Exporter) -> str:
    return f"exporter {exporter.pk}: {exporter.name} of {exporter.target}, {exporter.url}"


@transaction.atomic
def ask_check(*, by: Actor, exporter: Exporter) -> None:
    """Have a worker scrape it once, to tell what it offers."""
    require(by, Action.EDIT, exporter.target.project)
    require_load_on()
    rested = Q(asked_at=None) | Q(asked_at__lt=db_now(-CHECK_EVERY_S))
    if not _ask_worker(Exporter.objects.filter(rested, pk=exporter.pk), exporter.pk):
        raise Refused(f"A check was asked for a moment ago. Try again in {CHECK_EVERY_S} s.")


def _ask_worker(rows: QuerySet[Exporter], pk: int) -> bool:
    asked = rows.update(asked_at=ClockTimestamp())
    if asked:
        queue.enqueue(queue.EXPORTER, [pk])
    return bool(asked)

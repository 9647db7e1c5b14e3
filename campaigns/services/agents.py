"""Agents on targets' machines: create and revoke their tokens, and take what they report. A token
has the form `bs_agent_<lookup>_<secret>`, as those of services.tokens. It opens one address and
reads nothing."""

import hmac
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.measured.machine import AgentReport, machine_of
from campaigns.models import Agent, MachineSecond, Run, Target
from campaigns.models.dbtime import db_now
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.scrapes import (
    join_exporter,
    machine_second,
    require_sources,
    store_machine_seconds,
)
from campaigns.services.targets import keep_target
from campaigns.services.vault import keyed_hash

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


def _spans(agent: Agent, instants: list[datetime]) -> list[_Span]:
    """Of the runs of the agent's target that were sending at one of the instants."""
    if not instants:
        return []
    recent = Run.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=min(instants)),
        target=agent.target_id,
        t0__lte=max(instants),
        t0__gt=db_now(-24 * 3600),
    )
    rows = recent.values_list("pk", "t0", "ended_at", "snapshot__plan__warm_up_s")
    return [
        _Span(pk, begin, end, begin + timedelta(seconds=warm_up_s or 0))
        for pk, begin, end, warm_up_s in rows
    ]

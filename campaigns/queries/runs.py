"""What the pages of runs read: what happened, what was planned, how far it is, the history."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from campaigns.domain.latency_table import Line, plain_table
from campaigns.domain.lifecycle import RunState
from campaigns.domain.outcomes import WORDS, Kind
from campaigns.domain.plan import (
    Plan,
    mean_rate_per_s,
    planned_duration_s,
)
from campaigns.domain.repeats import Figures, figures_of
from campaigns.domain.snapshot import Total
from campaigns.domain.tables import Cell
from campaigns.models import Project, Run, RunEvent, RunSummary
from campaigns.permissions import Actor
from campaigns.queries.series import Point

ERROR_WORDS = {str(kind): words for kind, words in WORDS.items()}


@dataclass(frozen=True, slots=True)
class Planned:
    """What the frozen plan says about the time axis; None where only the target decides."""

    seconds: float | None
    warm_up_s: int
    requests: int | None
    intended_per_s: float | None

    @property
    def is_open_ended(self) -> bool:
        return self.seconds is None


def plan_of(run: Run) -> Plan:
    return Plan.from_json(run.snapshot["plan"])


def planned_of(run: Run) -> Planned:
    plan = plan_of(run)
    load = plan.load
    # A chart's level line: a load in stages has none, nor have arrivals of several requests.
    is_level = not load.stages and plan.calls_per_arrival == 1
    intended = mean_rate_per_s(load) if is_level else None
    return Planned(planned_duration_s(load), plan.warm_up_s, plan.planned_requests, intended)


def chart_plan(run: Run) -> dict[str, Any]:
    """What the charts of a run need besides its points."""
    planned = planned_of(run)
    return {
        "run": run.pk,
        "seconds": planned.seconds,
        "warmUp": planned.warm_up_s,
        "requests": planned.requests,
        "intended": planned.intended_per_s,
        "scheme": run.snapshot["endpoint"]["scheme"],
        "isExchange": bool(run.snapshot["plan"].get("exchange")),
        "words": ERROR_WORDS,
    }


def measured_from(run: Run) -> datetime | None:
    """When second 0 began: the warm-up comes before it."""
    if run.t0 is None:
        return None
    return run.t0 + timedelta(seconds=run.snapshot["plan"].get("warm_up_s", 0))


def planned_end(run: Run) -> datetime | None:
    start, seconds = measured_from(run), planned_of(run).seconds
    return None if start is None or seconds is None else start + timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened; `second` is relative to the measurement, None before it is known."""

    at: datetime
    second: int | None
    text: str
    tone: str = ""


_STOPS = {"user": "by a person", "kill": "at once", "overrun": "it took longer than planned"}


def happenings(run: Run, points: list[Point]) -> list[Happening]:
    """What happened to a run, newest first: its states, its injectors, its first errors."""
    zero = measured_from(run)
    told = [_told(event, zero) for event in run.events.all()]
    told += _first_errors(points, zero)
    if zero and points and points[-1]["second"] >= 0 and planned_of(run).warm_up_s:
        told.append(Happening(zero, 0, "the measurement starts"))
    return sorted(filter(None, told), key=lambda each: each.at, reverse=True)


def _told(event: RunEvent, zero: datetime | None) -> Happening | None:
    text = _words_of(event.kind, event.data)
    if not text:
        return None
    second = None if zero is None else round((event.at - zero).total_seconds())
    tone = "bad" if event.kind == "shard_lost" else ""
    return Happening(event.at, second, text, tone)


def _words_of(kind: str, data: dict[str, Any]) -> str:
    noun, _, state = kind.partition("_")
    if noun == "shard":
        return _shard_words(state, data)
    words = {
        "preparing": "injectors are asked for",
        "armed": "all injectors are ready",
        "running": "sending starts",
        "stopping": f"asked to stop {_STOPS.get(data.get('stop'), '')}".strip(),
        "finalizing": "sending has ended, figures are computed",
        "queued": "waits again",
        "done": f"done: {data.get('outcome', '')}",
    }.get(state, "")
    return f"{words}. {data['reason']}" if words and data.get("reason") else words


def _shard_words(state: str, data: dict[str, Any]) -> str:
    name = f"injector {data.get('shard', 0) + 1}"
    host = f" on {data['host']}" if data.get("host") else ""
    words = {
        "claimed": f"{name} starts{host}",
        "ready": f"{name} is ready: address resolved and allowed",
        "lost": f"{name}{host} was lost",
        "cancelled": f"{name} was not used",
    }.get(state, "")
    return f"{words}. {data['reason']}" if words and data.get("reason") else words


def _first_errors(points: list[Point], zero: datetime | None) -> list[Happening]:
    seen: dict[str, int] = {}
    for point in points:
        for kind in point["errors"]:
            seen.setdefault(kind, point["second"])
    if zero is None:
        return []
    return [
        Happening(zero + timedelta(seconds=second, milliseconds=999), second, _first(kind), "bad")
        for kind, second in seen.items()
        if kind != Kind.ABORTED_BY_STOP
    ]


def _first(kind: str) -> str:
    return f"first error of its kind: {ERROR_WORDS.get(kind, kind)}"


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """What the history is narrowed to; empty means any."""

    target: int | None = None
    plan: int | None = None
    campaign: int | None = None
    state: str = ""
    since: datetime | None = None


def history(actor: Actor, project: Project, by: HistoryFilter) -> QuerySet[Run]:
    """The project's runs, newest first; each with `summary_id` of its newest summary."""
    found = Run.objects.visible_to(actor).filter(campaign__project=project)
    if by.target:
        found = found.filter(target=by.target)
    if by.plan:
        found = found.filter(test__plan_version__plan=by.plan)
    if by.campaign:
        found = found.filter(campaign=by.campaign)
    if by.state:
        found = found.filter(_state_is(by.state))
    if by.since:
        found = found.filter(state_at__gte=by.since)
    newest = RunSummary.objects.filter(run=OuterRef("pk")).order_by("-revision")
    return (
        found.annotate(summary_id=Subquery(newest.values("pk")[:1]))
        .select_related("campaign", "test__endpoint__target", "test__plan_version__plan")
        .order_by("-campaign_id", "-position")
    )


HISTORY_STATES = {
    "going": "Not finished",
    "valid": "Valid",
    "suspicious": "Suspicious",
    "invalid": "Invalid",
    "complete": "Complete",
    "partial": "Partial",
    "stopped": "Stopped",
    "failed": "Failed",
}


def _state_is(word: str):
    if word == "going":
        return ~Q(state=RunState.DONE)
    if word in {"valid", "suspicious", "invalid"}:
        return Q(validity=word)
    return Q(outcome=word)


_SHOWN = ("n", "rate", "p50", "p95", "p99", "errors")
_NOTHING = "No figures: nothing was measured."


def history_rows(runs: list[Run]) -> list[tuple[Run, list[Cell]]]:
    """The runs with their figures; every column has equal decimals over the page."""
    summaries = RunSummary.objects.in_bulk([run.summary_id for run in runs if run.summary_id])
    lines = [Line(run.label, _figures(summaries.get(run.summary_id)), why=_NOTHING) for run in runs]
    table = plain_table("history", "Runs", lines)
    keys = [column.key for column in table.columns]
    chosen = [keys.index(key) for key in _SHOWN]
    return [
        (run, [row.cells[index] for index in chosen])
        for run, row in zip(runs, table.rows, strict=True)
    ]


def _figures(summary: RunSummary | None) -> Figures | None:
    if summary is None:
        return None
    return figures_of(Total.from_json(summary.total), summary.duration_s)

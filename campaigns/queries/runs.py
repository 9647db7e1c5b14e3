"""Reads for the run pages: events, plan and progress."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from campaigns.domain.measured.outcomes import WORDS, Kind
from campaigns.domain.measured.redaction import without_addresses
from campaigns.domain.measured.series import Point
from campaigns.domain.plan.load import mean_rate_per_s, planned_duration_s
from campaigns.domain.stop_reasons import StopReason
from campaigns.domain.units import rate
from campaigns.models import Run, RunEvent
from campaigns.models.machines import EXPORTER_PROBLEM
from campaigns.queries.measurements import of_latest_summaries, whole_seconds

_BAD = {"shard_lost", EXPORTER_PROBLEM}
ERROR_WORDS = {str(kind): words for kind, words in WORDS.items()}


def with_verdicts(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The runs, each with what its `verdicts` are read from."""
    return runs.annotate(newest_thresholds=of_latest_summaries("thresholds"))


@dataclass(frozen=True, slots=True)
class Planned:
    """The time axis according to the frozen plan; None where only the target decides."""

    seconds: float | None
    warm_up_s: int
    requests: int | None
    intended_per_s: float | None

    @property
    def is_open_ended(self) -> bool:
        return self.seconds is None


def planned_of(run: Run) -> Planned:
    plan = run.frozen.plan
    load = plan.load
    # A chart's reference line; none for stages or for arrivals of several requests.
    is_level = not load.stages and plan.calls_per_arrival == 1
    intended = mean_rate_per_s(load) if is_level else None
    return Planned(planned_duration_s(load), plan.warm_up_s, plan.planned_requests, intended)


def chart_plan(run: Run) -> dict[str, Any]:
    """What a run's charts need besides the points. `wholeSeconds`: counts of later seconds are not
    drawn; None while the run is active."""
    planned = planned_of(run)
    return {
        "run": run.pk,
        "seconds": planned.seconds,
        "wholeSeconds": whole_seconds(run),
        "warmUp": planned.warm_up_s,
        "intended": planned.intended_per_s,
        "intendedText": rate(planned.intended_per_s) if planned.intended_per_s else "",
        "scheme": run.frozen.endpoint.scheme,
        "isExchange": run.frozen.is_exchange,
        "words": ERROR_WORDS,
    }


def measured_from(run: Run) -> datetime | None:
    """The start of second 0, after the warm-up."""
    if run.t0 is None:
        return None
    return run.t0 + timedelta(seconds=run.frozen.plan.warm_up_s)


def planned_end(run: Run) -> datetime | None:
    start, seconds = measured_from(run), planned_of(run).seconds
    return None if start is None or seconds is None else start + timedelta(seconds=seconds)


def share_over(run: Run) -> float:
    """How much of a run's planned time is over, 0 to 1; 0 where only the target decides it."""
    start, seconds = measured_from(run), planned_of(run).seconds
    if start is None or not seconds:
        return 0.0
    return min(1.0, max(0.0, (timezone.now() - start).total_seconds() / seconds))


@dataclass(frozen=True, slots=True)
class Happening:
    """An event; `second` is relative to the start of the measurement, None before that is known."""

    at: datetime
    second: int | None
    text: str
    tone: str = ""


def happenings(run: Run, points: list[Point], *, shows_machines: bool = False) -> list[Happening]:
    """A run's events, newest first: states, injectors, first errors; and, where the reader may see
    its machines, the injectors' hosts and what was wrong with the exporters of its target."""
    zero = measured_from(run)
    events = run.events.all() if shows_machines else run.events.exclude(kind=EXPORTER_PROBLEM)
    told = [_told(event, _seen_of(run, event, shows_machines), zero) for event in events]
    told += _first_errors(points, zero)
    if zero and points and points[-1]["second"] >= 0 and planned_of(run).warm_up_s:
        told.append(Happening(zero, 0, "the measurement starts"))
    return sorted(filter(None, told), key=lambda each: each.at, reverse=True)


def _seen_of(run: Run, event: RunEvent, shows_machines: bool) -> dict[str, Any]:
    """What an event has for the reader."""
    if shows_machines:
        return event.data
    reason = without_addresses(event.data.get("reason") or "", run.frozen.endpoint.host)
    return event.data | {"host": "", "reason": reason}


def _told(event: RunEvent, data: dict[str, Any], zero: datetime | None) -> Happening | None:
    text = _words_of(event.kind, data)
    if not text:
        return None
    second = None if zero is None else round((event.at - zero).total_seconds())
    tone = "bad" if event.kind in _BAD else ""
    return Happening(event.at, second, text, tone)


def _words_of(kind: str, data: dict[str, Any]) -> str:
    if kind == EXPORTER_PROBLEM:
        return f"the exporter {data['exporter']} tells nothing. {data['problem']}"
    noun, _, state = kind.partition("_")
    if noun == "shard":
        name = f"injector process {data.get('shard', 0) + 1}"
        host = f" on {data['host']}" if data.get("host") else ""
        words = {
            "claimed": f"{name} starts{host}",
            "ready": f"{name} is ready: address resolved and allowed",
            "storing": f"{name}{host} has ended; "
            "PostgreSQL takes its time to store what it measured",
            "lost": f"{name}{host} was lost",
            "cancelled": f"{name} was not used",
        }.get(state, "")
        return f"{words}. {data['reason']}" if words and data.get("reason") else words
    words = {
        "preparing": "injector slots requested",
        "armed": "all injector processes are ready",
        "running": "sending starts",
        "stopping": StopReason(data["stop"]).event if data.get("stop") else "asked to stop",
        "finalizing": "sending has ended, computing the summary",
        "queued": "back in the queue",
        "done": f"done: {data.get('outcome', '')}",
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
        Happening(
            zero + timedelta(seconds=second, milliseconds=999),
            second,
            f"first error of its kind: {ERROR_WORDS.get(kind, kind)}",
            "bad",
        )
        for kind, second in seen.items()
        if kind != Kind.ABORTED_BY_STOP
    ]

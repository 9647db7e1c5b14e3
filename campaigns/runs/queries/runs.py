"""Reads for the run pages: events, plan and progress. A project's runs, filtered, with their
figures. A campaign's failures: those of its measured runs together.

Which runs lose their seconds by age, and what is kept of those seconds beside the summary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from campaigns.compare.queries.columns import references_in, same_test_on
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Action, Actor, may
from campaigns.domain.lifecycle import RunState, StopReason, Trust
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.outcomes import (
    WORDS,
    FailureRow,
    Kind,
    most_frequent_first,
    without_addresses,
)
from campaigns.domain.metrics.series import Point
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.load import mean_rate_per_s, planned_duration_s
from campaigns.domain.plan.turns import TRIAL_S
from campaigns.domain.presentation.exchange_tables import exchange_columns
from campaigns.domain.presentation.host_use import BusyProgram, programs_of
from campaigns.domain.presentation.latency_table import Line, line_cells
from campaigns.domain.presentation.request_tables import Errors, errors_of
from campaigns.domain.presentation.tables import Cell
from campaigns.domain.presentation.what_to_do import no_answer_words
from campaigns.domain.units import common_nouns, rate
from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.models import (
    Baseline,
    FailureExample,
    Project,
    Run,
    RunEvent,
    RunSummary,
    RunUse,
    Shard,
    ShareLink,
    Test,
)
from campaigns.runs.queries.kept_figures import BriefTotals, in_brief
from campaigns.runs.queries.measurements import MeasuredRun, pooled_total, whole_seconds

_BAD = {"shard_lost", EXPORTER_PROBLEM}
ERROR_WORDS = {str(kind): words for kind, words in WORDS.items()}


def with_verdicts(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The runs, each with what its `verdicts` are read from."""
    return runs.annotate(stored_thresholds=F("summary__thresholds"))


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
    rate_per_s = mean_rate_per_s(load) if is_level else None
    return Planned(planned_duration_s(load), plan.warm_up_s, plan.planned_requests, rate_per_s)


def chart_plan(run: Run) -> dict[str, Any]:
    """What a run's charts need besides the points. `wholeSeconds`: counts of later seconds are not
    drawn; None while the run is active."""
    plan_values = planned_of(run)
    return {
        "run": run.pk,
        "seconds": plan_values.seconds,
        "wholeSeconds": whole_seconds(run),
        "warmUp": plan_values.warm_up_s,
        "intended": plan_values.intended_per_s,
        "intendedText": rate(plan_values.intended_per_s) if plan_values.intended_per_s else "",
        "scheme": run.frozen.endpoint.scheme,
        "nouns": run.frozen.nouns,
        "words": ERROR_WORDS,
    }


def measured_from(run: Run) -> datetime | None:
    """The start of second 0, after the warm-up; side by side after a trial of the usual length."""
    if run.t0 is None:
        return None
    warm_up_s = run.frozen.plan.warm_up_s
    return run.t0 + timedelta(seconds=max(TRIAL_S, warm_up_s) if run.frozen.turns else warm_up_s)


def _lasts_s(run: Run) -> float | None:
    """By everybody's clock, while an arm's own stands still; None where only the target decides."""
    turns = run.frozen.turns
    return turns.limit_s if turns else planned_of(run).seconds


def programs_beside(runs: Iterable[Run], actor: Actor, project: Project) -> tuple[BusyProgram, ...]:
    """What else used the CPU of the injector hosts of these runs, which have ended; () for those
    who may start no campaign."""
    if not may(actor, Action.RUN, project):
        return ()
    shards = Shard.objects.filter(run__in=runs, end__programs__isnull=False)
    # Of several injectors of a run on one host one tells it.
    rows = shards.order_by("run_id", "host", "number").distinct("run_id", "host")
    return programs_of(rows.values_list("end__programs", flat=True))


def planned_end(run: Run) -> datetime | None:
    start, seconds = measured_from(run), _lasts_s(run)
    return None if start is None or seconds is None else start + timedelta(seconds=seconds)


def share_over(run: Run) -> float:
    """How much of a run's planned time is over, 0 to 1; 0 where only the target decides it."""
    start, seconds = measured_from(run), _lasts_s(run)
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


def happenings(run: Run, points: list[Point], *, shows_machines: bool) -> list[Happening]:
    """A run's events, newest first: states, injectors, first errors; and, where the reader may see
    its machines, the injectors' hosts and what was wrong with the exporters of its target."""
    zero = measured_from(run)
    events = run.events.all() if shows_machines else run.events.exclude(kind=EXPORTER_PROBLEM)
    rows = [_happening(run, event, zero, shows_machines=shows_machines) for event in events]
    rows += _first_errors(points, zero)
    if zero and points and points[-1]["second"] >= 0 and planned_of(run).warm_up_s:
        rows.append(Happening(zero, 0, "the measurement starts"))
    return sorted(filter(None, rows), key=lambda each: each.at, reverse=True)


def _happening(
    run: Run, event: RunEvent, zero: datetime | None, *, shows_machines: bool
) -> Happening | None:
    data = event.data
    if not shows_machines:
        reason = without_addresses(data.get("reason") or "", run.frozen.endpoint.host)
        data = data | {"host": "", "reason": reason}
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
    counts: dict[str, int] = {}
    for point in points:
        for kind in point["errors"]:
            counts.setdefault(kind, point["second"])
    if zero is None:
        return []
    return [
        Happening(
            zero + timedelta(seconds=second, milliseconds=999),
            second,
            f"first error of its kind: {ERROR_WORDS.get(kind, kind)}",
            "bad",
        )
        for kind, second in counts.items()
        if kind != Kind.ABORTED_BY_STOP
    ]


def list_runs(actor: Actor) -> QuerySet[Run]:
    """Newest first."""
    runs = with_verdicts(Run.objects.visible_to(actor)).select_related("campaign")
    return sorted_by(runs, F("campaign_id"), falls=True)


_SHOWN = ("n", "rate", "p50", "p95", "p99", "errors")


@dataclass(frozen=True, slots=True)
class RunRows:
    """Runs with their cells: n, rate, p50, p95, p99 and errors; with `has_exchanges` (at least one
    WebSocket run) also handshake p50 and p99 and messages/s."""

    rows: tuple[tuple[Run, tuple[Cell, ...]], ...]
    has_exchanges: bool
    nouns: str


def run_rows(runs: Sequence[Run]) -> RunRows:
    """The runs with their figures; each column has the same decimals on the whole page."""
    totals = BriefTotals()
    summaries = in_brief(RunSummary.objects.defer("vitals", "failures", "thresholds"))
    summaries = summaries.in_bulk([run.pk for run in runs])
    runs_with_figures = [
        None
        if run.trust == Trust.NO_ANSWER or (summary := summaries.get(run.pk)) is None
        else (totals.of(summary), summary.duration_s)
        for run in runs
    ]
    lines = [
        # Figures that nobody may believe are on the run's page alone.
        Line(
            run.label,
            figures_of(*each) if each else None,
            why=f"{no_answer_words([run.judged], 1)}."
            if run.trust == Trust.NO_ANSWER
            else "Nothing was measured." * run.is_done,
            why_weak=run.judged.why_weak if run.judged else "",
        )
        for run, each in zip(runs, runs_with_figures, strict=True)
    ]
    rows = line_cells(lines, _SHOWN)
    has_exchanges = any(run.frozen.is_exchange for run in runs)
    exchanges = (
        zip(*exchange_columns(runs_with_figures), strict=True)
        if has_exchanges
        else ((),) * len(runs)
    )
    return RunRows(
        tuple(
            (run, (*cells, *more)) for run, cells, more in zip(runs, rows, exchanges, strict=True)
        ),
        has_exchanges,
        common_nouns(run.frozen.nouns for run in runs),
    )


_MOST_FAILURES = ("failed_reply",)


@dataclass(frozen=True, slots=True)
class CampaignFailures:
    """`rows` have numbers of `labels`, the campaign's different steps, as their steps."""

    rows: list[FailureRow]
    labels: list[str]
    steps: list[Total]
    attempts: int
    length_s: float

    @property
    def errors(self) -> Errors:
        return errors_of(self.rows, self.labels, self.steps, self.attempts, self.length_s)


def failures_of(runs: Sequence[MeasuredRun]) -> CampaignFailures:
    """The failures of all measured runs, usable or not."""
    with_measurement = [each for each in runs if each.measurement]
    numbers: dict[str, int] = {}
    of_step: dict[int, list[MeasuredRun]] = {}
    rows: dict[tuple[int, str, int], FailureRow] = {}
    for each in with_measurement:
        measurement = each.measurement
        places = [numbers.setdefault(label, len(numbers)) for label in measurement.plan.full_labels]
        if len(places) == 1:
            of_step.setdefault(places[0], []).append(each)
        for row in measurement.failures:
            place = places[row.step] if row.step < len(places) else -1
            key = (place, row.kind, row.status)
            if key in rows:
                rows[key].merge(row)
            else:
                rows[key] = replace(row, step=place, bins=list(row.bins))
    return CampaignFailures(
        rows=most_frequent_first(rows.values()),
        labels=list(numbers),
        steps=[pooled_total(of_step.get(n, ()), _MOST_FAILURES) for n in range(len(numbers))],
        attempts=sum(each.figures.attempts for each in with_measurement),
        length_s=max((each.figures.duration_s for each in with_measurement), default=0.0),
    )


MOST_SHOWN = 3
_MOST_READ = 600
Key = tuple[str, str, int]  # (the step's label, kind, status)


def examples_of(actor: Actor, **runs) -> dict[Key, list[FailureExample]]:
    """Up to three of each kind, status and step: the first, one between, and the last. `runs`
    selects them, such as run=…, or run__campaign=…."""
    by_key: dict[Key, list[FailureExample]] = {}
    examples = FailureExample.objects.visible_to(actor).filter(**runs).select_related("run")
    for each in examples.order_by("run__position", "at_us", "pk")[:_MOST_READ]:
        labels = each.run.frozen.plan.full_labels
        label = labels[each.step] if each.step < len(labels) else ""
        by_key.setdefault((label, each.kind, each.status), []).append(each)
    return {
        key: each if len(each) <= MOST_SHOWN else [each[0], each[len(each) // 2], each[-1]]
        for key, each in by_key.items()
    }


def uses_to_thin(now: datetime, before: datetime) -> QuerySet[RunUse]:
    """Of runs that ended before this and still have seconds, those first whose removal was
    interrupted. Without runs of current baselines, runs that a live share link shows, and runs
    without a summary."""
    has_summary = Exists(RunSummary.objects.filter(run=OuterRef("run")))
    old = RunUse.objects.filter(
        has_summary, thinned_at=None, measured_at__lt=before, run__state=RunState.DONE
    )
    baselines = Baseline.objects.filter(replaced_at=None, runs__isnull=False).values("runs")
    links = ShareLink.objects.filter(revoked_at=None, expires_at__gt=now)
    pks: dict[str, set[int]] = {"campaign": set(), "run": set(), "test": set()}
    for campaign, run, comparison in links.values_list("campaign", "run", "comparison"):
        pks["campaign"].add(campaign)
        pks["run"].add(run)
        for noun, pk, days in references_in(comparison):
            if not days:
                pks[noun].add(pk)
            elif test := Test.objects.select_related("plan_version").filter(pk=pk).first():
                same = Test.objects.filter(same_test_on(test, days))
                pks[noun] |= set(same.values_list("pk", flat=True))
    campaigns, runs, tests = ({*of} - {None} for of in pks.values())
    in_links = Q(run__in=runs) | Q(run__campaign__in=campaigns) | Q(run__test__in=tests)
    rest = old.exclude(in_links).exclude(run__in=baselines)
    thin_rows = RunUse.objects.filter(thinned_at__isnull=False)
    rows = RunUse.objects.filter(Q(pk__in=rest.values("pk")) | Q(pk__in=thin_rows.values("pk")))
    return rows.filter(seconds_bytes__gt=0).order_by("thinned_at", "pk")


def kept_of(run: Run) -> dict[str, Any] | None:
    """What stays of a run's seconds beside its summary: the warm-up's total, and its injectors'
    parts where they were not all active together; None while the seconds are there."""
    thin_rows = RunUse.objects.filter(run=run, thinned_at__isnull=False)
    return thin_rows.values_list("kept", flat=True).first()


def why_no_seconds(run: Run) -> str:
    """Why the run's seconds cannot be read any more, in a sentence; "" while they can."""
    thin_rows = RunUse.objects.filter(run=run, thinned_at__isnull=False)
    at = thin_rows.values_list("thinned_at", flat=True).first()
    if at is None:
        return ""
    return (
        f"The seconds of run {run.label} were removed on {at:%-d %B %Y} because of their age. Its "
        "minutes, tables, series and histograms are kept."
    )

"""A run's measurement: a finished run's from its summary, an active one's from its seconds.
Finished runs with their summaries' figures, read only as far as a page needs."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from math import floor
from operator import itemgetter
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from campaigns.core import cache
from campaigns.domain.analysis.judgement import Judgement, in_short
from campaigns.domain.analysis.likeness import ArmRun
from campaigns.domain.analysis.limit import blame
from campaigns.domain.analysis.thresholds import ThresholdJudge, Verdict, threshold_state
from campaigns.domain.lifecycle import (
    LIVE_SHARD_STATES,
    Outcome,
    ShardState,
    TargetState,
    ThresholdState,
    Trust,
    best_trust,
)
from campaigns.domain.metrics.figures import Figures, figures_of
from campaigns.domain.metrics.machine import MachinePoint, n_whole_seconds
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import Columns, Point, columns_of_chunks, points_of_columns
from campaigns.domain.metrics.snapshot import Timing, Total, joined, total_of
from campaigns.domain.percentiles import NO_TIMES
from campaigns.domain.plan.flows import steps_of
from campaigns.domain.presentation.latency_table import Line
from campaigns.domain.presentation.report_words import ending_text
from campaigns.models import Run, RunSummary, Shard, ShardSecond
from campaigns.runs.queries.kept_figures import POOLED, BriefTotals, in_brief, known_of, with_known

WAIT_FOR_SHARDS_S = 3.0  # a second this old is shown even if a shard has not delivered it
CHUNKS_AT_ONCE = 16  # of an export, about 1.5 MB: for each part PostgreSQL reads all of a run's


def summary_of(run: Run) -> RunSummary | None:
    return RunSummary.objects.filter(run=run).first()


def of_summary(run: Run, field: str) -> Any:
    """One field of it; None without a summary."""
    return RunSummary.objects.filter(run=run).values_list(field, flat=True).first()


OK_LATE = "figures__counters__late_ok"  # of a summary: ok requests that are in no rate


def measurement_of(run: Run) -> Measurement:
    """The measurement so far; a finished run's is in its summary."""
    summary = summary_of(run) if run.is_done else None
    return measurement_so_far(run) if summary is None else stored_measurement(run, summary)


def points_of(run: Run) -> list[Point]:
    """Only the run's points; stored ones need no histogram."""
    summaries = RunSummary.objects.filter(run=run).only("chunks")
    summary = summaries.first() if run.is_done else None
    return measurement_so_far(run).series if summary is None else summary.series


def points_between(run: Run, first: int, until: int) -> list[Point]:
    """A finished run's points from second `first` to the one before `until`."""
    points: list[Point] = []
    for columns in columns_in_parts(run):
        start, end = (bisect_left(columns["second"], each) for each in (first, until))
        points += points_of_columns({key: values[start:end] for key, values in columns.items()})
        if end < len(columns["second"]):
            break
    return points


def columns_in_parts(run: Run, *, as_written: bool = False) -> Iterator[Columns]:
    """The stored points of a finished run as columns, oldest first, some at once. Some parts are a
    statement, so that a slow reader holds neither the memory nor a transaction for the rest.
    `as_written`: numbers may be text, as in the chunks."""
    summary, start = RunSummary.objects.filter(run=run), 0
    while chunks := summary.values_list(f"chunks__{start}_{start + CHUNKS_AT_ONCE}").first():
        if not chunks[0]:
            break
        yield from columns_of_chunks(chunks[0], as_written=as_written)
        start += len(chunks[0])


def error_kinds_of(run: Run) -> list[str]:
    """The kinds of errors in any stored point of a finished run, sorted: those of the total, and
    those of the warm-up, with which the points begin."""
    kinds = set(of_summary(run, "figures__errors") or ())
    for columns in columns_in_parts(run):
        n_warm = bisect_left(columns["second"], 0)
        kinds.update(*columns["errors"][:n_warm])
        if n_warm < len(columns["second"]):
            break
    return sorted(kinds)


def whole_seconds(run: Run) -> int | None:
    """How many seconds a finished run covers to at least nine tenths, at least 1. The last one
    often has only the stragglers of the one before: its counts are no rate per second. None while
    the run is active or if it has no summary."""
    duration_s = of_summary(run, "duration_s") if run.is_done else None
    return None if duration_s is None else n_whole_seconds(duration_s)


def machines_of_run(run: Run) -> dict[str, list[MachinePoint]]:
    """The stored seconds of its target by machine, warm-up included."""
    rows = run.machine_seconds.order_by("source", "second")
    values = rows.values_list("source", "second", "lasted_s", "did")
    return {
        source: [MachinePoint(*row[1:]) for row in of_source]
        for source, of_source in groupby(values, key=itemgetter(0))
    }


def stored_measurement(run: Run, summary: RunSummary, total: Total | None = None) -> Measurement:
    """The summary's measurement, with this total or its own."""
    series = {} if "chunks" in summary.get_deferred_fields() else {"series": summary.series}
    return Measurement.from_json(
        run.frozen.plan,
        vars(summary) | series,
        summary.total if total is None else total,
        run.ends,
        is_whole=_is_whole(run),
        thresholds=[Verdict.from_json(each) for each in summary.thresholds],
    )


def new_measurement(run: Run) -> Measurement:
    """An empty measurement that expects seconds from the run's shards in their current states."""
    measurement = _empty(run)
    _note_shards(measurement, run.shards.all())
    _tell_machines(measurement, run)
    return measurement


def measurement_to_end(run: Run) -> Measurement | None:
    """What a worker has kept of a run that is ending, if its points are what they are in the end.
    Who adds the rest has to see that it counts all that is stored up to its last second."""
    if any(rule.is_of_machine for rule in run.frozen.plan.thresholds):
        return None  # agents may have told of a second after it was judged
    measurement = cached_so_far(run)
    if measurement is None or any(point["missing"] for point in measurement.series):
        return None
    _note_shards(measurement, run.shards.all())
    return measurement


def _empty(run: Run) -> Measurement:
    plan = run.frozen.plan
    return Measurement(
        plan, judge=ThresholdJudge(plan.thresholds, plan.flows), is_whole=_is_whole(run)
    )


def so_far_key(run: Run) -> str:
    return cache.key_of("so-far", run.pk, str(run.t0))


def cached_so_far(run: Run) -> Measurement | None:
    """An active run's, as far as a worker of this release has added it up."""
    key = so_far_key(run)
    entry = None if run.is_done else cache.get_many([key]).get(key)
    if entry is None:
        return None
    measurement = _empty(run)
    measurement.go_on_from(*entry)
    return measurement


def _tell_machines(measurement: Measurement, run: Run) -> None:
    """For the rules about the target's machine, if the plan has any."""
    if any(rule.is_of_machine for rule in measurement.plan.thresholds):
        measurement.judge.machines = machines_of_run(run)


def measurement_so_far(
    run: Run,
    known: Measurement | None = None,
    now: datetime | None = None,
    *,
    until: int | None = None,
) -> Measurement:
    """`known`, or what is cached, with the seconds completed since, up to `until`; or a new
    measurement of all of them. A second is complete when every live shard has delivered it, or
    three seconds after its end. Later data are missing here, as the point shows, but are in the
    run's summary."""
    measurement = known or cached_so_far(run) or _empty(run)
    _tell_machines(measurement, run)
    shards = list(run.shards.all())
    _note_shards(measurement, shards)
    rows = rows_of(run)
    if measurement.last_second is not None:
        rows = rows.filter(second__gt=measurement.last_second)
    if not run.is_done:
        live = [shard for shard in shards if shard.state in LIVE_SHARD_STATES]
        # A second's steps arrive one by one, all of them before the next second's first.
        n_unsure = 1 if len(run.frozen.plan.steps) > 1 else 0
        lasts = [-(10**9) if s.last_second is None else s.last_second - n_unsure for s in live]
        complete = min(lasts, default=10**9)
        # Side by side an arm's own clock stands still while others have their turn.
        if run.t0 is None or run.frozen.turns:
            last = complete
        else:
            measuring_since = run.t0 + timedelta(seconds=run.frozen.plan.warm_up_s)
            age_s = ((now or timezone.now()) - measuring_since).total_seconds()
            last = max(complete, floor(age_s - WAIT_FOR_SHARDS_S) - 1)
        rows = rows.filter(second__lte=last if until is None else min(last, until))
    for row in rows.iterator(chunk_size=500):
        measurement.add(row.value(), row.shard)
    for shard in shards:
        if shard.state not in LIVE_SHARD_STATES and (shard.end or run.is_done):
            measurement.close(shard.injector_end, shard.number)
    return measurement.settle()


def measurement_between(run: Run, first: int, until: int) -> Measurement | None:
    """Of the stored seconds from `first` to the one before `until`, at their own rate; None where
    none are stored any more."""
    measurement = _empty(run)
    measurement.judge = None  # rules are about the whole run
    _note_shards(measurement, run.shards.all())
    rows = rows_of(run).filter(second__gte=max(0, first), second__lt=until)
    for row in rows.iterator(chunk_size=500):
        measurement.add(row.value(), row.shard)
    if not measurement.n_added:
        return None
    measurement.settle()
    measurement.duration_s = float(min(until, whole_seconds(run) or until) - max(0, first))
    return measurement


def rows_of(run: Run) -> QuerySet[ShardSecond]:
    """The run's stored seconds in the order that a measurement requires."""
    return run.seconds.order_by("second", "shard", "step")


def _is_whole(run: Run) -> bool:
    return run.outcome in {None, Outcome.COMPLETE}


def _note_shards(measurement: Measurement, shards: Iterable[Shard]) -> None:
    """A shard that ended as planned has nothing to deliver after its last second; a lost one's
    remaining seconds count as missing."""
    measurement.hosts = {shard.number: shard.host for shard in shards}
    measurement.last_seconds = {
        shard.number: shard.last_second if shard.state == ShardState.DONE else None
        for shard in shards
    }


_BATCH = 100  # summaries in memory at once


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run with its measurement and figures, and the digest of its seconds; all None without a
    summary. Each is itself alone."""

    run: Run
    measurement: Measurement | None = None
    figures: Figures | None = None
    digest: str = ""

    @property
    def total(self) -> Total | None:
        return self.measurement and self.measurement.total

    @property
    def thresholds(self) -> list[Verdict]:
        return self.run.shown_of(self.measurement.thresholds) if self.measurement else []

    @property
    def threshold_state(self) -> ThresholdState | None:
        return threshold_state(self.thresholds)

    @property
    def most_open(self) -> int | None:
        """The sum of the injectors' maximum open connections."""
        vitals = self.measurement.vitals if self.measurement else []
        worst = [each["worst"].get("open_connections") for each in vitals]
        return int(sum(worst)) if worst and None not in worst else None

    @property
    def of_arm(self) -> ArmRun:
        """The arm's run, for likeness checks; needs figures."""
        hosts = tuple(shard.host for shard in self.run.shards.all())
        return ArmRun(self.run.frozen, hosts, self.measurement, self.run.shows_machine)

    @cached_property
    def judged(self) -> Judgement | None:
        return self.run.judged

    @property
    def is_usable(self) -> bool:
        """Whether a verdict may use it; `why_unusable` has the criteria."""
        return not self.why_unusable

    @property
    def is_whole(self) -> bool:
        """Whether it ended as planned and has figures, trusted or not."""
        return self.run.outcome == Outcome.COMPLETE and bool(self.figures and self.figures.n)

    @cached_property
    def why_unusable(self) -> str:
        run = self.run
        if not run.is_done:
            return f"This run is {run.state}."
        if run.outcome != Outcome.COMPLETE:
            return ending_text(run.outcome, run.told_reason)
        if self.figures is None or not self.figures.n:
            return NO_TIMES
        judgement = self.judged
        if judgement and not judgement.is_usable:
            return f"No answer: {blame(judgement).text}"
        return judgement.target.text if judgement and judgement.is_saturated else ""

    @property
    def has_no_answer(self) -> bool:
        """Whether it has response times that nobody may believe."""
        return self.run.trust == Trust.NO_ANSWER and bool(self.figures and self.figures.n)

    def line(self, *, is_counted: bool) -> Line:
        """The run's row in a table of repeats; `is_counted`: it enters mean and pooled."""
        run = self.run
        note = self.why_unusable if self.figures else ""
        if run.outcome == Outcome.COMPLETE and self.judged:
            note = judged_in_short(self.judged) or note
        return Line(
            label=f"Repeat {run.place}",
            figures=self.figures,
            why=self.why_unusable,
            note=note,
            link={
                "run": run.pk,
                "run_label": run.label,
                "state": run.state,
                "outcome": run.outcome,
                "trust": run.trust,
                "target_state": run.target_state,
            },
            is_counted=is_counted,
            why_weak=self.judged.why_weak if self.judged else "",
        )


def why_each(alike: Sequence[MeasuredRun]) -> str:
    """Why runs that ended alike cannot be used: "Each stopped before it started."."""
    why = alike[0].why_unusable
    if len(alike) == 1 or alike[0].run.outcome == Outcome.COMPLETE:
        return why
    return f"Each {why[0].lower()}{why[1:]}"


def judged_in_short(judgement: Judgement) -> str:
    """What was not as it should be, for a row; "" of a trusted run of a healthy target that sent
    more than redirects."""
    if judgement.is_in_doubt:
        words = judgement.measurement.state.words.capitalize()
        return f"{words}: {in_short(blame(judgement))}"
    if judgement.target.state in {None, TargetState.HEALTHY}:
        return next((in_short(each) for each in judgement.target.reasons if each.state), "")
    return f"Target {judgement.target.state}: {in_short(judgement.target.reasons[0])}"


def measured_runs(runs: Iterable[Run]) -> list[MeasuredRun]:
    """The runs with their summaries in brief, in one query."""
    runs = list(runs)
    summaries = RunSummary.objects.filter(run__in=[run.pk for run in runs if run.is_done])
    by_pk, totals, rows = (
        {run.pk: MeasuredRun(run) for run in runs},
        BriefTotals(),
        in_brief(summaries),
    )
    # Not all at once: those of earlier releases are large.
    for summary in rows.iterator(_BATCH) if len(runs) > _BATCH else rows:
        run = by_pk[summary.run_id].run
        measurement = stored_measurement(run, summary, totals.of(summary))
        by_pk[run.pk] = MeasuredRun(run, measurement, measurement.figures, summary.digest)
    return [by_pk[run.pk] for run in runs]


def whole_runs(runs: QuerySet[Run]) -> Iterator[MeasuredRun]:
    """The runs in their order, a batch in memory at once."""
    pks = list(runs.values_list("pk", flat=True))
    rows = Run.objects.select_related("campaign", "test__plan_version").prefetch_related("shards")
    for start in range(0, len(pks), _BATCH):
        batch = rows.in_bulk(pks[start : start + _BATCH])
        yield from measured_runs(batch[pk] for pk in pks[start : start + _BATCH] if pk in batch)


def counted_runs(runs: Iterable[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of a test that enter its mean and pooled rows: the usable ones, of which those of a
    busy machine only where there are no others. Without any, the whole ones of an overloaded
    target: no verdict uses them. Partial, failed runs and those without an answer never count."""
    usable = comparable_runs(runs)
    return [each for each in usable if each.run.trust != Trust.BUSY] or usable


def comparable_runs(runs: Iterable[MeasuredRun]) -> list[MeasuredRun]:
    """Those that comparisons of medians use: none is left out because its machine was busy."""
    runs = list(runs)
    whole = [each for each in runs if each.is_whole and not each.has_no_answer]
    return [each for each in runs if each.is_usable] or whole


POOLED_DAYS = 30


class PooledCache:
    """Percentiles of the pooled requests of several tests, so that no page decodes the histograms
    of runs that others have merged. `runs_of_tests`: the counted runs of each of the tests, which
    are looked up together once one of them is asked for."""

    def __init__(self, runs_of_tests: Callable[[], Iterable[Sequence[MeasuredRun]]] = tuple):
        self._runs_of_tests = runs_of_tests
        self._known: dict[str, Mapping[str, Any]] | None = None

    def pooled_of(self, own_runs: Sequence[MeasuredRun]) -> tuple[Total, Figures | None]:
        """All requests of the counted runs merged, of their timings only those that are shown
        pooled; figures None if no run counts."""
        total = pooled_total(own_runs, POOLED)
        if not own_runs:
            return total, None
        if self._known is None:
            keys = [_pooled_key(runs) for runs in (*self._runs_of_tests(), own_runs) if runs]
            self._known = cache.get_many(keys)
        key = _pooled_key(own_runs)
        if key not in self._known:
            self._known[key] = known_of(total)
            cache.put_many({key: self._known[key]}, POOLED_DAYS)
        total = with_known(total, self._known[key])
        return total, figures_of(total, sum(each.figures.duration_s for each in own_runs))


def _pooled_key(runs: Iterable[MeasuredRun]) -> str:
    """Their seconds decide, which are the same for whoever measured them."""
    return cache.key_of("pooled", *sorted((each.run.pk, each.digest) for each in runs))


def pooled_flows(runs: Sequence[MeasuredRun]) -> list[tuple[str, Figures]]:
    """Each flow of their plan with all of its requests merged; [] without flows."""
    duration_s = sum(each.figures.duration_s for each in runs)
    totals = flow_totals(runs)
    return [(name, figures_of(joined(of_runs), duration_s)) for name, of_runs in totals.items()]


def flow_totals(runs: Sequence[MeasuredRun]) -> dict[str, list[Total]]:
    """Each flow of their plan by name, with the requests of each of these runs."""
    flows = flow_steps(runs)
    if not flows:
        return {}
    pks = [each.run.pk for each in runs]
    flows_by_run = dict(RunSummary.objects.filter(run__in=pks).values_list("run", "steps"))
    steps = [[Total.from_json(each) for each in flows_by_run[pk]] for pk in pks]
    return {
        name: [joined(of_run[step] for step in own) for of_run in steps]
        for name, own in flows.items()
    }


def flow_steps(runs: Sequence[MeasuredRun]) -> dict[str, range]:
    """The steps of each flow of their plan, by its name."""
    flows = runs[0].run.frozen.plan.flows if runs else ()
    return dict(zip([flow.name for flow in flows], steps_of(flows), strict=True))


def pooled_total(runs: Sequence[MeasuredRun], names: Iterable[str]) -> Total:
    """All requests of these runs merged, with these timings. Their histograms are added up when
    somebody asks for them."""
    total = total_of(replace(each.total, timings={}) for each in runs)
    for name in names:
        timing = Timing.together(each.total.timing(name) for each in runs)
        if timing.n:
            total.timings[name] = timing
    return total


def trust_of(runs: Iterable[MeasuredRun]) -> str:
    """Of several runs the best; "" if none was judged."""
    return best_trust(each.run.trust for each in runs)


def threshold_state_of(runs: Iterable[MeasuredRun]) -> str:
    """Broken if any run broke a rule; "" while one is open in any that can be used, or without
    rules."""
    usable = [each for each in runs if each.run.trust != Trust.NO_ANSWER]
    return str(threshold_state([rule for each in usable for rule in each.thresholds]) or "")


def target_state_of(runs: Iterable[MeasuredRun]) -> str:
    """The worst state of the target in any of the runs; "" if it was judged in none."""
    states = {each.run.target_state for each in runs}
    return next((str(each) for each in reversed(TargetState) if each in states), "")

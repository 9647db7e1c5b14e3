"""Finished runs with their summaries' figures, read only as far as a page needs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import QuerySet

from campaigns.domain.judged.judgement import Judgement
from campaigns.domain.judged.likeness import ArmRun
from campaigns.domain.judged.thresholds import Verdict, threshold_state
from campaigns.domain.lifecycle import Outcome, TargetState, ThresholdState, Trust
from campaigns.domain.measured.figures import Figures, figures_of
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.snapshot import Timing, Total, total_of
from campaigns.domain.percentiles import NO_TIMES
from campaigns.domain.shown.latency_table import Line
from campaigns.domain.shown.report_words import ending_text
from campaigns.models import PooledPercentiles, Run, RunSummary
from campaigns.queries.kept_figures import POOLED, BriefTotals, in_brief, with_known
from campaigns.queries.measurements import stored_measurement

_BATCH = 100  # summaries in memory at once


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run with its measurement and figures, and the number of its summary; all None without one.
    Each is itself alone."""

    run: Run
    measurement: Measurement | None = None
    figures: Figures | None = None
    summary: int | None = None

    @property
    def total(self) -> Total | None:
        return self.measurement and self.measurement.total

    @property
    def thresholds(self) -> list[Verdict]:
        return self.run.shown_of(self.measurement.thresholds) if self.measurement else []

    @property
    def threshold_state(self) -> ThresholdState | None:
        return threshold_state(self.thresholds, self.run.trust)

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
        judged = self.judged
        if judged and not judged.is_usable:
            return f"Not usable: {judged.measurement.text}"
        return judged.target.text if judged and judged.is_saturated else ""

    @property
    def has_no_answer(self) -> bool:
        """Whether it has response times that nobody may believe."""
        return self.run.trust == Trust.NOT_USABLE and bool(self.figures and self.figures.n)

    def line(self, *, is_counted: bool) -> Line:
        """The run's row in a table of repeats; `is_counted`: it enters mean and pooled."""
        run = self.run
        note = self.why_unusable if self.figures else ""
        if run.outcome == Outcome.COMPLETE and self.judged:
            note = judged_in_short(self.judged) or note
        return Line(
            label=f"Repeat {run.repeat}",
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
            why_weak_tail=self.judged.why_weak_tail if self.judged else "",
        )


def why_each(alike: Sequence[MeasuredRun]) -> str:
    """Why runs that ended alike cannot be used: "Each stopped before it started."."""
    why = alike[0].why_unusable
    if len(alike) == 1 or alike[0].run.outcome == Outcome.COMPLETE:
        return why
    return f"Each {why[0].lower()}{why[1:]}"


def judged_in_short(judged: Judgement) -> str:
    """What was not as it should be, for a row; "" of a trusted run of a healthy target that sent
    more than redirects."""
    if judged.is_in_doubt:
        words = judged.measurement.state.words.capitalize()
        return f"{words}: {in_short(judged.measurement.text)}"
    if judged.target.state in {None, TargetState.HEALTHY}:
        return in_short(judged.target.text) if judged.target.state else ""
    return f"Target {judged.target.state}: {in_short(judged.target.text)}"


def in_short(sentence: str) -> str:
    """Its first statement, for a table row: "only 100 requests were measured"; "" of ""."""
    if not sentence:
        return ""
    first = re.split(r"[:,;.] ", sentence + " ", maxsplit=1)[0].rstrip(".")
    if first.count("(") > first.count(")"):
        first = re.split(r"[:.] ", sentence + " ", maxsplit=1)[0].rstrip(".")
    return first[0].lower() + first[1:]


def measured_runs(runs: Iterable[Run]) -> list[MeasuredRun]:
    """The runs with their latest summaries in brief, in one query."""
    runs = list(runs)
    newest = (
        RunSummary.objects.filter(run__in=[run.pk for run in runs if run.is_done])
        .order_by("run_id", "-revision")
        .distinct("run_id")
    )
    by_run, totals, rows = {run.pk: run for run in runs}, BriefTotals(), in_brief(newest)
    # Not all at once: those of earlier releases are large.
    measured = {
        summary.run_id: _measured(by_run[summary.run_id], summary, totals)
        for summary in (rows.iterator(_BATCH) if len(runs) > _BATCH else rows)
    }
    return [measured.get(run.pk) or MeasuredRun(run) for run in runs]


def whole_runs(runs: QuerySet[Run]) -> Iterator[MeasuredRun]:
    """The runs in their order, a batch in memory at once."""
    pks = list(runs.values_list("pk", flat=True))
    rows = Run.objects.select_related("campaign", "test__plan_version").prefetch_related("shards")
    for start in range(0, len(pks), _BATCH):
        batch = rows.in_bulk(pks[start : start + _BATCH])
        yield from measured_runs(batch[pk] for pk in pks[start : start + _BATCH] if pk in batch)


def _measured(run: Run, summary: RunSummary, totals: BriefTotals) -> MeasuredRun:
    measurement = stored_measurement(run, summary, totals.of(summary))
    return MeasuredRun(run, measurement, measurement.figures, summary.pk)


def counted_runs(runs: Iterable[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of a test that enter its mean and pooled rows: the usable ones. Without any, the
    whole ones of an overloaded target: no verdict uses them. Partial, failed and not usable runs
    never count."""
    runs = list(runs)
    whole = [each for each in runs if each.is_whole and not each.has_no_answer]
    return [each for each in runs if each.is_usable] or whole


def pooled_of(
    counted: Sequence[MeasuredRun], kept: PooledPercentiles | None = None
) -> tuple[Total, Figures | None]:
    """All requests of the counted runs merged, of their timings only those that are shown pooled;
    figures None if no run counts. `kept` is used where it is of the same summaries."""
    total = pooled_total(counted, POOLED)
    if not counted:
        return total, None
    if kept and kept.of == summaries_of(counted):
        total = with_known(total, kept.known)
    return total, figures_of(total, sum(each.figures.duration_s for each in counted))


def summaries_of(runs: Iterable[MeasuredRun]) -> list[int]:
    """The numbers of their summaries, in their order."""
    return sorted(each.summary for each in runs)


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
    """Of several runs: doubtful if only some are not usable; "" if none was judged."""
    found = {each.run.trust for each in runs if each.run.trust}
    if len(found) > 1:
        return Trust.DOUBTFUL
    return next(iter(found), "")


def threshold_state_of(runs: Iterable[MeasuredRun]) -> str:
    """Broken if any run broke a rule; "" if none was judged by any."""
    found = {each.threshold_state for each in runs}
    return next((str(each) for each in reversed(ThresholdState) if each in found), "")


def target_state_of(runs: Iterable[MeasuredRun]) -> str:
    """The worst state of the target in any of the runs; "" if it was judged in none."""
    found = {each.run.target_state for each in runs}
    return next((str(each) for each in reversed(TargetState) if each in found), "")

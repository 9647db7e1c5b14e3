"""One run's report: finished runs from their summary, running ones from their seconds so far."""

from dataclasses import dataclass
from typing import Any

from campaigns.domain.judged.thresholds import Judge, Verdict
from campaigns.domain.lifecycle import Outcome, Validity
from campaigns.domain.measured.figures import Figures, figures_of
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.measured.series import Point, vitals_of
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.load import mean_rate_per_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown import report_tables as tables
from campaigns.domain.shown.exchange_tables import closes_table, exchange_table
from campaigns.domain.shown.report_words import RunStatus, run_grounds, run_sentence, run_tiles
from campaigns.domain.shown.results import RunReport
from campaigns.domain.shown.session_tables import session_tables
from campaigns.domain.shown.threshold_tables import run_thresholds_table
from campaigns.models import Run
from campaigns.queries.facts import run_facts
from campaigns.queries.phases import phases_of
from campaigns.queries.series import latest_summary, run_points, run_seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was seen of a run, wherever it was read."""

    total: Total
    steps: list[Total]
    series: list[Point]
    vitals: list[dict[str, Any]]
    duration_s: float
    thresholds: list[Verdict]


def run_report(run: Run) -> RunReport:
    """What the run page says and shows."""
    seen = measured_of(run)
    figures = figures_of(seen.total, seen.duration_s)
    plan = run.frozen.plan
    state = _state(run, plan, figures)
    return RunReport(
        sentence=run_sentence(state),
        grounds=run_grounds(state),
        tiles=run_tiles(state),
        table=tables.steps_table(figures, plan.labels, seen.steps, seen.duration_s, state.noun),
        exchange=exchange_table(seen.total, seen.duration_s),
        closes=closes_table(seen.total),
        phases=phases_of(run, plan),
        sessions=session_tables(seen.total, seen.duration_s),
        parts=tables.parts_table(seen.total),
        errors=tables.errors_table(seen.total, seen.series),
        vitals=tables.vitals_table(seen.vitals),
        facts=run_facts(run, seen.total, seen.duration_s, seen.series),
        curve=curve(seen.total.timing("response")),
        validity=str(run.validity or ""),
        reasons=run.validity_reasons,
        thresholds=run_thresholds_table(seen.thresholds),
    )


def _state(run: Run, plan: Plan, figures: Figures) -> RunStatus:
    return RunStatus(
        state=run.state,
        outcome=str(run.outcome or ""),
        validity=str(run.validity or ""),
        why=run.reason,
        reasons=tuple(each["text"] for each in run.validity_reasons),
        figures=figures,
        planned_requests=plan.planned_requests,
        planned_rate=_planned_rate(plan),
        is_exchange=plan.exchange is not None,
        is_good=run.outcome == Outcome.COMPLETE and run.validity != Validity.INVALID,
    )


def _planned_rate(plan: Plan) -> float | None:
    """Requests a second; None where sessions with pauses make them come unevenly."""
    return mean_rate_per_s(plan.load) if plan.calls_per_arrival == 1 else None


def measured_of(run: Run) -> Measured:
    summary = latest_summary(run)
    if summary is None:
        return _measured_so_far(run)
    return Measured(
        Total.from_json(summary.total),
        [Total.from_json(each) for each in summary.steps],
        summary.series,
        summary.vitals,
        summary.duration_s,
        [Verdict.from_json(each) for each in summary.thresholds],
    )


def _measured_so_far(run: Run) -> Measured:
    """Merged from the seconds that are complete; whole seconds count as the duration."""
    series = run_points(run)
    last = series[-1]["second"] if series else -1
    steps = [Total() for _ in run.frozen.plan.labels]
    total, samples = Total(), {}
    judge, present = Judge(run.frozen.plan.thresholds), 0
    for shard, second in run_seconds(run):
        if 0 <= second.second <= last:
            if second.second != present:
                judge.look(present, total)
            present = second.second
            total.add(second)
            if second.step < len(steps):
                steps[second.step].add(second)
            if second.vitals:
                samples.setdefault(shard, []).append((second.second, second.vitals))
    hosts = dict(run.shards.values_list("number", "host"))
    vitals = [
        {**vitals_of(seen, shard), "host": hosts.get(shard, "")}
        for shard, seen in sorted(samples.items())
    ]
    duration_s = float(max(0, last + 1))
    verdicts = judge.verdicts(total, duration_s) if series else []
    return Measured(total, steps, series, vitals, duration_s, verdicts)

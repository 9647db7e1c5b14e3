"""A project's runs, filtered, with their figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, QuerySet

from campaigns.domain.lifecycle import RunState, TargetState, Trust
from campaigns.domain.measured.figures import figures_of
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.target import counted_in
from campaigns.domain.shown.exchange_tables import exchange_columns
from campaigns.domain.shown.latency_table import Line, line_cells
from campaigns.domain.shown.no_answer import no_answer_words
from campaigns.domain.shown.tables import Cell
from campaigns.models import Project, Run, RunSummary
from campaigns.permissions import Actor
from campaigns.queries.briefs import BriefTotals, in_brief
from campaigns.queries.measurements import of_latest_summaries
from campaigns.queries.pages import sorted_by
from campaigns.queries.runs import with_verdicts


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The filters of the list of runs; empty means any."""

    target: int | None = None
    plan: int | None = None
    campaign: int | None = None
    state: str = ""
    measurement: str = ""
    target_state: str = ""
    precision: str = ""
    since: datetime | None = None


def filtered_runs(actor: Actor, project: Project, by: RunFilter) -> QuerySet[Run]:
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
    answers = {
        "trust": by.measurement,
        "target_state": by.target_state,
        "precision": by.precision,
    }
    found = found.filter(**{column: word for column, word in answers.items() if word})
    if by.since:
        found = found.filter(state_at__gte=by.since)
    found = (
        with_verdicts(found)
        .annotate(summary_id=of_latest_summaries("pk"))
        .select_related("campaign")
    )
    return sorted_by(found, F("campaign_id"), falls=True)


# What the list can be filtered by: how far a run is, and the answers of its judgement.
RUN_STATES = {
    "going": "Not finished",
    "complete": "Complete",
    "partial": "Partial",
    "stopped": "Stopped",
    "failed": "Failed",
}
MEASUREMENTS = {each: each.words.capitalize() for each in Trust}
TARGET_STATES = {each: each.capitalize() for each in TargetState}
PRECISIONS = {"none": "No figures", "coarse": "Too few requests for a p99", "fine": "Up to p99"}


def _state_is(word: str):
    if word == "going":
        return ~Q(state=RunState.DONE)
    return Q(outcome=word)


_SHOWN = ("n", "rate", "p50", "p95", "p99", "errors")
_NOTHING = "No figures: nothing was measured."


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
    found = in_brief(RunSummary.objects.defer("vitals", "failures", "thresholds"))
    found = found.in_bulk([run.summary_id for run in runs if run.summary_id])
    seen = [
        None if run.trust == Trust.NOT_USABLE else _measured(found.get(run.summary_id), totals)
        for run in runs
    ]
    lines = [
        Line(run.label, figures_of(*each) if each else None, why=_why_nothing(run))
        for run, each in zip(runs, seen, strict=True)
    ]
    rows = line_cells(lines, _SHOWN)
    has_exchanges = any(run.frozen.is_exchange for run in runs)
    exchanges = zip(*exchange_columns(seen), strict=True) if has_exchanges else ((),) * len(runs)
    return RunRows(
        tuple(
            (run, (*cells, *more)) for run, cells, more in zip(runs, rows, exchanges, strict=True)
        ),
        has_exchanges,
        counted_in(run.frozen.endpoint.scheme for run in runs),
    )


def _why_nothing(run: Run) -> str:
    """Figures that nobody may believe are on the run's page alone."""
    if run.trust == Trust.NOT_USABLE:
        return f"{no_answer_words([run.judged], 1)}."
    return _NOTHING


def _measured(summary: RunSummary | None, totals: BriefTotals) -> tuple[Total, float] | None:
    return summary and (totals.of(summary), summary.duration_s)

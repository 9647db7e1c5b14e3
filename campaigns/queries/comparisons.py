"""Two runs side by side."""

import hashlib
import json
from dataclasses import replace
from typing import Any

from campaigns.domain.lifecycle import Trust
from campaigns.domain.measured.achieved import unlike
from campaigns.domain.measured.percentile_curve import curve
from campaigns.domain.shown.cells import Figure, count_cell, figure_cell
from campaigns.domain.shown.exchange_tables import exchange_figures
from campaigns.domain.shown.latency_table import figures_by_key
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.plan_changes import changes_between
from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.results import Comparison
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.units import DASH, decimals_for
from campaigns.models import Run
from campaigns.queries.measured import MeasuredRun, measured_runs

__all__ = ["Comparison", "compare_runs"]

_ROWS = ("mean", "min", "p50", "p90", "p95", "p99", "max", "rate", "duration", "errors", "n")
_RATIO_DECIMALS = 3
_ABSENT = Figure(None, "This run has no such figure.")
_WHY_NO_WORD = (
    "Two single runs cannot be called faster or slower: how much repeats of the same run differ is "
    "unknown. That takes three repeats of both in one campaign."
)


def compare_runs(baseline: Run, candidate: Run) -> Comparison:
    """Both runs' figures, and the differences in plan, target and environment."""
    by_run = {each.run.pk: each for each in measured_runs([baseline, candidate])}
    first, second = by_run[baseline.pk], by_run[candidate.pk]
    return Comparison(
        table=_table(first, second),
        differs=changes_between(_settings(baseline), _settings(candidate)),
        curves={"baseline": _curve(first), "candidate": _curve(second)},
        note=_note(first, second),
        warnings=[text for each in (first, second) if (text := _warning(each.run))],
    )


def _curve(each: MeasuredRun) -> list[dict[str, Any]]:
    return curve(each.total.timing("response")) if each.total else []


def _note(*runs: MeasuredRun) -> str:
    spoilt = [f"{each.run.label}: {each.why_unusable}" for each in runs if each.why_unusable]
    return " ".join(filter(None, [_WHY_NO_WORD, _unlike_loads(*runs), *spoilt]))


def _unlike_loads(baseline: MeasuredRun, candidate: MeasuredRun) -> str:
    """Why the times are of different loads; "" if the loads match or nothing was measured."""
    plans = [each.run.frozen.plan for each in (baseline, candidate)]
    if plans[0].load != plans[1].load:
        first, second = (plan_load_words(plan) for plan in plans)
        return (
            f"The plans have different loads: {first} and {second}. Their times cannot be compared."
        )
    if baseline.figures is None or candidate.figures is None:
        return ""
    return unlike(plans[0], [baseline.measurement], [candidate.measurement])


def _warning(run: Run) -> str:
    """Why the run's figures may mislead; other reasons that make it unusable are in the note."""
    if run.trust in {None, Trust.TRUSTED}:
        return ""
    doubt = "is not usable" if run.trust == Trust.NOT_USABLE else "is doubtful"
    return f"The measurement of run {run.label} {doubt}. {run.judged.measurement.text}"


def _table(baseline: MeasuredRun, candidate: MeasuredRun) -> Table:
    pairs = [_figures(each) for each in (baseline, candidate)]
    keys = ("baseline", "candidate", "difference", "ratio")
    exchange_rows = _exchange_rows(baseline, candidate)
    noun = "connections" if exchange_rows else "requests"
    rows = (*(_row(key, pairs[0][key], pairs[1][key], noun) for key in _ROWS), *exchange_rows)
    return Table(
        "comparison",
        f"Runs {baseline.run.label} and {candidate.run.label}",
        (
            METRICS["baseline"].column(unit=baseline.run.label),
            METRICS["candidate"].column(unit=candidate.run.label),
            *(METRICS[key].column(unit="") for key in keys[2:]),
        ),
        _beside_each_other(rows, baseline.run, candidate.run),
        label_title="metric",
        note="difference = candidate − baseline; ratio = candidate / baseline.",
    )


def _beside_each_other(rows: tuple[Row, ...], *runs: Run) -> tuple[Row, ...]:
    """The rows, without difference and ratio if a run is not usable."""
    spoilt = [run.label for run in runs if run.trust == Trust.NOT_USABLE]
    if not spoilt:
        return rows
    are = "are" if len(spoilt) > 1 else "is"
    why = f"Run {' and '.join(spoilt)} {are} not usable, so nothing is compared."
    nothing = (Cell(None, DASH, why=why),) * 2
    return tuple(replace(row, cells=(*row.cells[:2], *nothing)) for row in rows)


def _exchange_rows(baseline: MeasuredRun, candidate: MeasuredRun) -> list[Row]:
    """Handshakes and messages, if either run is a WebSocket run."""
    both = [exchange_figures(each.total, _duration_s(each)) for each in (baseline, candidate)]
    labels = list(dict.fromkeys(label for figures in both for label in figures))
    return [
        Row(label, _cells(label, *(figures.get(label, _ABSENT) for figures in both)), "exchange")
        for label in labels
    ]


def _duration_s(each: MeasuredRun) -> float:
    return each.figures.duration_s if each.figures else 0.0


def _figures(each: MeasuredRun) -> dict[str, Figure]:
    if each.figures is None:
        return dict.fromkeys(_ROWS, Figure(None, each.why_unusable))
    return figures_by_key(each.figures)


def _row(key: str, baseline: Figure, candidate: Figure, noun: str) -> Row:
    metric = METRICS[key]
    label = f"{metric.title}, {metric.unit}" if metric.unit else metric.title
    label = label.replace("requests", noun)
    return Row(label, _cells(key, baseline, candidate), key)


def _cells(key: str, baseline: Figure, candidate: Figure) -> tuple[Cell, ...]:
    is_count = key in {"errors", "n"}
    decimals = 0 if is_count else decimals_for([baseline.value, candidate.value])
    why = baseline.why or candidate.why
    if baseline.value is None or candidate.value is None:
        difference = ratio = Cell(None, DASH, why=why)
    else:
        change = Figure(candidate.value - baseline.value)
        difference = figure_cell(change, decimals, signed=True)
        ratio = _ratio_cell(baseline.value, candidate.value)
    shown = (
        _count(each) if is_count else figure_cell(each, decimals) for each in (baseline, candidate)
    )
    return (*shown, difference, ratio)


def _count(each: Figure) -> Cell:
    return count_cell(None if each.value is None else int(each.value), each.why)


def _ratio_cell(baseline: float, candidate: float) -> Cell:
    if baseline <= 0:
        return Cell(None, DASH, why="The baseline is 0, so there is no ratio.")
    return figure_cell(Figure(candidate / baseline), _RATIO_DECIMALS)


def _settings(run: Run) -> dict[str, Any]:
    """All that may differ between two runs beside their results."""
    frozen = run.frozen
    return {
        "target": frozen.target,
        "plan name": frozen.plan_label,
        "connection mode": str(frozen.connection_mode),
        "injector processes": run.n_shards,
        "endpoint": frozen.endpoint.to_json(),
        "environment": dict(frozen.environment),
        "plan": _settled(frozen.plan_json),
    }


def _settled(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan; bodies, headers and tables, which may be secret or long, as size and digest."""
    steps = [
        {**step, "headers": _told_apart(step["headers"]), "body": _told_apart(step["body"])}
        for step in plan["steps"]
    ]
    exchange = plan.get("exchange")
    if exchange:
        exchange = {**exchange, "headers": _told_apart(exchange["headers"])}
    variables = plan.get("variables")
    if variables:
        variables = {**variables, "csv": _told_apart(variables["csv"])}
    apart = {"steps": steps, "exchange": exchange, "variables": variables}
    return {**plan, **apart, "connection_mode": None}


def _told_apart(value: Any) -> str:
    if not value:
        return ""
    text = json.dumps(value)
    return f"{len(text):,} characters, #{hashlib.sha256(text.encode()).hexdigest()[:8]}"

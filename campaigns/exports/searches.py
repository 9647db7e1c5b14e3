"""A search as CSV: a row for each trial, in their order. Times in µs, shares of 1."""

from typing import Any

from campaigns.domain.judged.busy import Busy
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown
from campaigns.exports.tables import csv_of_rows
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial, SearchReport

_COLUMNS = (
    *("trial", "search", "run", "rate_per_s", "result", "reason", "ended_at", "requests", "errors"),
    *("mean_us", "p50_us", "p95_us", "p99_us", "weak", "target_cpu", "injector_cpu", "network"),
)


def csv_of_search(report: SearchReport, busy: BusyByRun) -> str:
    rows = [trial_row(each, busy[each.run.pk]) for each in report.made]
    return csv_of_rows(_COLUMNS, [row | {"weak": " ".join(row["weak"])} for row in rows])


def trial_row(made: MadeTrial, busy: Busy) -> dict[str, Any]:
    """Also the trial of the JSON."""
    run = made.run
    return {
        "trial": run.repeat,
        "search": made.search,
        "run": run.pk,
        "rate_per_s": made.trial.rate_per_s,
        "result": str(made.trial.result),
        "reason": made.trial.reason,
        "ended_at": run.ended_at and run.ended_at.isoformat(),
        "requests": run.n,
        "errors": run.errors,
        "mean_us": run.mean_us,
        "p50_us": run.p50_us,
        "p95_us": run.p95_us,
        "p99_us": run.p99_us,
        "weak": [f"{name(q)}_us" for q in (P50, P95, P99) if shown(run.n or 0, q) is Shown.WEAK],
        "target_cpu": busy.target_cpu,
        "injector_cpu": busy.injector_cpu,
        "network": busy.network,
    }

"""Runs as one tidy table for other programs: a row per run, a column per value, times in µs. A
search as CSV: a row for each trial, in their order. Times in µs, shares of 1."""

from collections.abc import Iterable, Iterator
from typing import Any

from campaigns.domain.judged.busy import Busy
from campaigns.domain.judged.observations import judged_percentile
from campaigns.domain.measured.snapshot import LATENESS, PARTS, SESSIONS, Timing, Total
from campaigns.domain.percentiles import P50, P90, P95, P99, Shown, name, shown
from campaigns.domain.shown.threshold_words import broken_words
from campaigns.exports.tables import csv_of_lines, csv_of_rows, safe
from campaigns.models import Campaign
from campaigns.queries.measured import MeasuredRun, whole_runs
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial, SearchReport

_WHOLE = {"mean", "min", *map(name, (P50, P90, P95, P99)), "max"}
_PART = {"mean", *map(name, (P50, P95)), "max"}
# What is exported of each timing, in this order.
_FIGURES = ("n", "mean", "min", *map(name, (P50, P90, P95, P99)), "max")
_TIMINGS = {
    "response": _WHOLE,
    "service": _WHOLE,
    "undelayed": {"n", *_WHOLE},
    "failed": {"n", *_WHOLE},
    "failed_reply": {"n", *_WHOLE},
    **{key: {"n", *_PART} for key in (*LATENESS, *PARTS, "message", *SESSIONS)},
}
# Times that include the injector's own delay in sending or in reading.
_WITH_OWN_DELAY = {"response", "service"}
_RANKS = {name(q): q for q in (P50, P90, P95, P99)}
_COUNTERS = (
    *("started", "ok", "failed", "dropped", "bytes_sent", "bytes_received"),
    *("connections_opened", "tls_full", "tls_resumed", "messages_sent", "messages_received"),
)
_SETTING = (
    *("run", "run_id", "campaign_id", "campaign", "test_id", "block", "position"),
    *("plan_id", "plan", "plan_version", "target_id", "target", "endpoint", "connection_mode"),
    *("injectors", "swept", "swept_value", "state", "outcome", "reason", "started_at", "ended_at"),
)
_ANSWERS = (
    *("measurement", "measurement_reason", "target_state", "target_reason"),
    *("thresholds", "thresholds_broken", "precision", "precision_reason", "weak"),
)


def _time_column(timing: str, figure: str) -> str:
    return f"{timing}_n" if figure == "n" else f"{timing}_{figure}_us"


COLUMNS = (
    *_SETTING,
    *_ANSWERS,
    "duration_s",
    "ok_per_s",
    *_COUNTERS,
    "statuses",
    "errors",
    *(
        _time_column(timing, figure)
        for timing, wanted in _TIMINGS.items()
        for figure in _FIGURES
        if figure in wanted
    ),
)


def csv_of_campaign(campaign: Campaign) -> Iterator[str]:
    return csv_of_runs(whole_runs(campaign.runs.order_by("position")))


def csv_of_runs(runs: Iterable[MeasuredRun]) -> Iterator[str]:
    """The head, then a row for each run, with the same columns in every file; empty cells: no such
    value. `weak` names the percentiles that fewer than ten requests are beyond, or of which a part
    is the injector's own delay; those with fewer than five beyond are empty. Text is escaped so
    that a spreadsheet evaluates none."""
    yield csv_of_lines([COLUMNS])
    for each in runs:
        # What ran where, as it was frozen at the start: names that were changed later stay the old.
        frozen, test = each.run.frozen, each.run.test
        row = {
            "run": each.run.label,
            "run_id": each.run.pk,
            "campaign_id": each.run.campaign_id,
            "campaign": each.run.campaign.name,
            "test_id": each.run.test_id,
            "block": each.run.repeat,
            "position": each.run.position,
            "plan_id": test.plan_version.plan_id,
            "plan": frozen.plan_name,
            "plan_version": frozen.plan_number,
            "target_id": each.run.target_id,
            "target": frozen.target,
            "endpoint": str(frozen.endpoint),
            "connection_mode": str(frozen.connection_mode),
            "injectors": each.run.n_shards,
            "swept": test.swept,
            "swept_value": test.swept_value if test.swept else None,
            "state": each.run.state,
            "outcome": each.run.outcome,
            "reason": each.run.reason,
            "started_at": each.run.t0 and each.run.t0.isoformat(),
            "ended_at": each.run.ended_at and each.run.ended_at.isoformat(),
            **_answers(each),
            **_figures(each),
        }
        yield csv_of_lines([[_plain(row.get(key, "")) for key in COLUMNS]])


def _plain(value: Any) -> Any:
    return safe(value) if isinstance(value, str) else value


def _answers(each: MeasuredRun) -> dict[str, Any]:
    run, judged = each.run, each.judged
    return {
        "measurement": run.trust,
        "target_state": run.target_state,
        "thresholds": each.threshold_state,
        "thresholds_broken": each.threshold_state and broken_words([each.thresholds]),
        "precision": run.precision,
        "measurement_reason": judged and judged.measurement.text,
        "target_reason": judged and judged.target.text,
        "precision_reason": judged and judged.precision.text,
    }


def _figures(each: MeasuredRun) -> dict[str, Any]:
    """Counts, rate and times; nothing of a run that has no summary."""
    total, figures = each.total, each.figures
    if total is None or figures is None:
        return {}
    times = [_times(timing, wanted, total.timing(timing)) for timing, wanted in _TIMINGS.items()]
    return {
        "duration_s": figures.duration_s,
        "ok_per_s": figures.rate_per_s,
        **{key: total.count(key) for key in _COUNTERS},
        "statuses": _counts(total.statuses),
        "errors": _counts(total.errors),
        **{key: value for some in times for key, value in some.items()},
        "weak": _weak(total, has_weak_tail=bool(each.judged and each.judged.why_weak_tail)),
    }


def _counts(counts: dict[str, int]) -> str:
    """Such as 200:1180 404:20."""
    return " ".join(f"{key}:{count}" for key, count in sorted(counts.items()))


def _times(timing: str, wanted: set[str], seen: Timing) -> dict[str, Any]:
    if not seen.n:
        return {f"{timing}_n": 0} if "n" in wanted else {}
    figures = {"n": seen.n, "mean": seen.mean_us, "min": seen.min_us, "max": seen.max_us}
    figures |= {
        title: seen.percentile_us(q)
        for title, q in _RANKS.items()
        if title in wanted and shown(seen.n, q) is not Shown.NO
    }
    return {_time_column(timing, key): value for key, value in figures.items() if key in wanted}


def _weak(total: Total, *, has_weak_tail: bool) -> str:
    """The columns of weak percentiles, such as response_p99_us."""

    def is_weak(timing: str, q: int) -> bool:
        n = total.timing(timing).n
        is_tail = has_weak_tail and timing in _WITH_OWN_DELAY and q >= judged_percentile(n)
        return shown(n, q) is Shown.WEAK or (is_tail and shown(n, q) is not Shown.NO)

    return " ".join(
        _time_column(timing, title)
        for timing, wanted in _TIMINGS.items()
        for title, q in _RANKS.items()
        if title in wanted and is_weak(timing, q)
    )


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

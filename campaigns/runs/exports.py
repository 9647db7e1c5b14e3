"""Runs as one tidy table for other programs: a row per run, a column per value, times in µs. A
search as CSV: a row for each trial, in their order. Times in µs, shares of 1. The seconds of a run
and of its target machines, one row each, as CSV and NDJSON. A run in the style of another tool."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from itertools import repeat
from typing import Annotated, Any

from django.http import Http404, HttpResponse

from campaigns.core.tables import csv_of_lines, csv_of_rows, csv_of_tables, safe, text_file
from campaigns.domain.analysis.capacity import TrialResult
from campaigns.domain.analysis.limit import Busy
from campaigns.domain.metrics.figures import MEASURED
from campaigns.domain.metrics.machine import COUNTED, GAUGES, OF_PROCESSES, MachinePoint
from campaigns.domain.metrics.series import Columns
from campaigns.domain.metrics.snapshot import LATENESS, PARTS, SESSIONS, Timing
from campaigns.domain.other_tools.reports import REPORTS, ReportHead, styles_for
from campaigns.domain.percentiles import P50, P90, P95, P99, Shown, name, shown
from campaigns.domain.presentation.request_tables import csv_rows
from campaigns.domain.presentation.results import Answer, RunReport
from campaigns.domain.presentation.threshold_tables import broken_words
from campaigns.machines.queries.machine_runs import machine_tables, target_side
from campaigns.models import Campaign, Run
from campaigns.runs.queries.measurements import MeasuredRun, measurement_of, whole_runs
from campaigns.runs.queries.reports import kept_requests, warm_up_of
from campaigns.search.queries import BusyByRun, MadeTrial, SearchReport

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
    "wait": {"n", "p90", *_PART},
}
_RANKS = {name(q): q for q in (P50, P90, P95, P99)}
_LOWS = {f"response_{metric}_low_us": metric for metric in ("mean", *_RANKS)}
_COUNTERS = (
    *("started", "ok", "failed", "dropped", "bytes_sent", "bytes_received"),
    *("connections_opened", "tls_full", "tls_resumed", "messages_sent", "messages_received"),
    "redirects",
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
        for timing, keys in _TIMINGS.items()
        for figure in _FIGURES
        if figure in keys
    ),
    *_LOWS,
)


def csv_of_campaign(campaign: Campaign) -> Iterator[str]:
    return csv_of_runs(whole_runs(campaign.runs.order_by("position")))


def csv_of_runs(runs: Iterable[MeasuredRun]) -> Iterator[str]:
    """The head, then a row for each run, with the same columns in every file; empty cells: no such
    value. `weak` names the percentiles that fewer than ten requests are beyond; those with fewer
    than five beyond are empty. `…_low_us` are lower ends. Text is escaped so that a spreadsheet
    evaluates none."""
    yield csv_of_lines([COLUMNS])
    for each in runs:
        # What ran where, as it was frozen at the start: names that were changed later stay the old.
        frozen, test = each.run.frozen, each.run.test
        run, judgement = each.run, each.judged
        row = {
            "run": each.run.label,
            "run_id": each.run.pk,
            "campaign_id": each.run.campaign_id,
            "campaign": each.run.campaign.name,
            "test_id": each.run.test_id,
            "block": each.run.place,
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
            "measurement": run.trust,
            "target_state": run.target_state,
            "thresholds": each.threshold_state,
            "thresholds_broken": each.threshold_state and broken_words([each.thresholds]),
            "precision": run.precision,
            "measurement_reason": judgement and judgement.measurement.text,
            "target_reason": judgement and judgement.target.text,
            "precision_reason": judgement and judgement.precision.text,
            **_figures(each),
        }
        values = (row.get(key, "") for key in COLUMNS)
        yield csv_of_lines([[safe(v) if isinstance(v, str) else v for v in values]])


def _figures(each: MeasuredRun) -> dict[str, Any]:
    """Counts, rate and times; nothing of a run that has no summary."""
    total, figures = each.total, each.figures
    if total is None or figures is None:
        return {}
    times = [_times(timing, keys, total.timing(timing)) for timing, keys in _TIMINGS.items()]
    return {
        "duration_s": figures.duration_s,
        "ok_per_s": figures.rate_per_s,
        **{key: total.count(key) for key in _COUNTERS},
        "statuses": _counts(total.statuses),
        "errors": _counts(total.errors),
        **{key: value for some in times for key, value in some.items()},
        **{column: figures.low_us(metric) for column, metric in _LOWS.items()},
        # The columns of weak percentiles, such as response_p99_us.
        "weak": " ".join(
            _time_column(timing, title)
            for timing, keys in _TIMINGS.items()
            for title, q in _RANKS.items()
            if title in keys and shown(total.timing(timing).n, q) is Shown.WEAK
        ),
    }


def _counts(counts: dict[str, int]) -> str:
    """Such as 200:1180 404:20."""
    return " ".join(f"{key}:{count}" for key, count in sorted(counts.items()))


def _times(timing: str, keys: set[str], timings: Timing) -> dict[str, Any]:
    if not timings.n:
        return {f"{timing}_n": 0} if "n" in keys else {}
    figures = {
        "n": timings.n,
        "mean": timings.mean_us,
        "min": timings.min_us,
        "max": timings.max_us,
    }
    figures |= {
        title: timings.percentile_us(q)
        for title, q in _RANKS.items()
        if title in keys and shown(timings.n, q) is not Shown.NO
    }
    return {_time_column(timing, key): value for key, value in figures.items() if key in keys}


def requests_file(run: Run) -> HttpResponse:
    """The single requests that were kept, a row each."""
    requests = kept_requests(run, measurement_of(run))
    return text_file(f"run-{run.label}-requests.csv", csv_of_lines(csv_rows(requests)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial in the CSV and the JSON of its search."""

    trial: int
    search: Annotated[int, "0 on the way to the first answer."]
    run: int
    rate_per_s: float
    result: TrialResult
    reason: str
    ended_at: datetime
    requests: int | None
    errors: int | None
    mean_us: float | None
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    mean_low_us: Annotated[
        float | None, "The lower end, without the injector's part; null if too few tell it."
    ]
    p50_low_us: float | None
    p95_low_us: float | None
    p99_low_us: float | None
    weak: Annotated[
        list[str], "Of these percentiles, those with fewer than ten requests beyond them."
    ]
    target_cpu: Annotated[
        float | None, "Of all cores of the target's machine, 0 to 1; null if untold."
    ]
    injector_cpu: Annotated[
        float | None, "Of a core, of the busiest injector process, as a share of 1."
    ]
    network: Annotated[
        float | None,
        "Of the fullest link at either end, as a share of its speed; null if the speed is not "
        "known.",
    ]


def trial_rows(report: SearchReport, busy: BusyByRun) -> list[dict[str, Any]]:
    return [asdict(_trial_row(each, busy[each.run.pk])) for each in report.made]


def csv_of_search(report: SearchReport, busy: BusyByRun) -> str:
    rows = (row | {"weak": " ".join(row["weak"])} for row in trial_rows(report, busy))
    return csv_of_rows([each.name for each in fields(TrialRow)], rows)


def _trial_row(trial: MadeTrial, busy: Busy) -> TrialRow:
    run = trial.run
    return TrialRow(
        trial=run.repeat,
        search=trial.search,
        run=run.pk,
        rate_per_s=trial.trial.rate_per_s,
        result=trial.trial.result,
        reason=trial.trial.reason,
        ended_at=run.ended_at and run.ended_at.isoformat(),
        requests=run.n,
        errors=run.errors,
        **{f"{each}_us": getattr(run, f"{each}_us") for each in MEASURED},
        **{f"{each}_low_us": run.lows_us.get(each) for each in MEASURED},
        weak=[f"{name(q)}_us" for q in (P50, P95, P99) if shown(run.n or 0, q) is Shown.WEAK],
        target_cpu=busy.target_cpu,
        injector_cpu=busy.injector_cpu,
        network=busy.network,
    )


BySource = Mapping[str, Sequence[MachinePoint]]


def csv_of_machine_seconds(machines: BySource) -> Iterator[str]:
    """The head, then a text for each machine: a row per second (warm-up negative), and a column for
    each figure that one of them told. Empty cells: not told. Counts are of the whole second, which
    took `lasted_s`; perf's of `perf lasted_s`."""
    rows = {source: [_flat(point) for point in points] for source, points in machines.items()}
    names = {name for of_source in rows.values() for row in of_source for name in row}
    columns = [name for name in (*COUNTED, *GAUGES, "busiest_core_percent") if name in names]
    columns += sorted(names - set(columns))
    yield csv_of_lines([["source", "second", "lasted_s", *map(safe, columns)]])
    for source, points in machines.items():
        yield csv_of_lines(
            [safe(source), point.second, point.lasted_s, *(row.get(name) for name in columns)]
            for point, row in zip(points, rows[source], strict=True)
        )


def ndjson_of_machine_seconds(machines: BySource) -> Iterator[str]:
    """A second a line, as it is stored."""
    for source, points in machines.items():
        for point in points:
            second = {"source": source, "second": point.second, "lasted_s": point.lasted_s}
            yield json.dumps({**second, "did": point.did}) + "\n"


def _flat(point: MachinePoint) -> dict[str, Any]:
    did = point.did
    flat = {name: did[name] for name in (*COUNTED, *GAUGES) if name in did}
    if did.get("cores"):
        flat["busiest_core_percent"] = max(did["cores"])
    for process, figures in did.get("processes", {}).items():
        flat |= {f"{process} {key}": figures[key] for key in OF_PROCESSES if key in figures}
    if "counts" in (perf := did.get("perf", {})):
        flat["perf lasted_s"] = perf["lasted_s"]
        for event, (count, share_percent) in perf["counts"].items():
            flat |= {f"perf {event}": count, f"perf {event} counted_percent": share_percent}
    return flat


_SECOND_COLUMNS = (
    ("second", "second (s)"),
    ("started", "started"),
    ("ok", "ok"),
    ("failed", "failed"),
    ("dropped", "dropped"),
    ("in_flight", "in flight at the end"),
    ("mean_ms", "average (ms)"),
    ("p50_ms", "p50 (ms)"),
    ("p95_ms", "p95 (ms)"),
    ("p99_ms", "p99 (ms)"),
    ("max_ms", "max (ms)"),
    ("lateness_p99_ms", "lateness p99 (ms)"),
    ("cpu_share", "CPU of the busiest injector process (share of a core)"),
    ("shards", "shards"),
    ("missing", "shards missing"),
    ("open_connections", "open connections at the end"),
    ("messages", "messages"),
)


def csv_of_seconds(parts: Iterable[Columns], kinds: Sequence[str]) -> Iterator[str]:
    """The head, then a text for each part: one row per second (warm-up negative), one column for
    each of these kinds of errors. Columns stay columns until their rows are written: a row that is
    made value by value takes several times as long. Numbers may be text already, which needs no
    escaping. Empty cells: no value. Percentiles cover that second alone, however few requests it
    had."""
    yield csv_of_lines(
        [[*(title for _, title in _SECOND_COLUMNS), *(f"error {kind}" for kind in kinds)]]
    )
    for columns in parts:
        errors = ([each.get(kind, 0) for each in columns["errors"]] for kind in kinds)
        cells = (columns.get(key, repeat("")) for key, _ in _SECOND_COLUMNS)
        rows = zip(*cells, *errors, strict=False)
        lines = [",".join(["" if each is None else str(each) for each in row]) for row in rows]
        yield "".join(f"{line}\r\n" for line in lines)


def campaign_tables_file(
    campaign: Campaign, answer: Answer, *, shows_machines: bool = True
) -> HttpResponse:
    """The tables of its page, one after another."""
    machines = target_side(campaign, answer).tables if shows_machines else ()
    tables = [*answer.tables, *machines]
    return text_file(f"campaign-{campaign.pk}-tables.csv", csv_of_tables(tables))


def run_tables_file(run: Run, report: RunReport, *, shows_machines: bool = True) -> HttpResponse:
    """All tables of its page, one after another."""
    tables = (*report.tables, *(machine_tables(run) if shows_machines else ()))
    return text_file(f"run-{run.label}.csv", csv_of_tables(tables))


def tool_report(run: Run, style: str = "") -> str | None:
    """The text; without `style`, in the best fitting one; None for an unknown style."""
    # With the warm-up, which a summary lacks.
    measurement = measurement_of(run)
    if run.is_done:
        measurement.warm_up = warm_up_of(run)
    report = REPORTS.get(style or styles_for(measurement.plan)[0])
    endpoint = run.frozen.endpoint
    head = ReportHead(
        host=endpoint.host,
        port=endpoint.port,
        connection_mode=run.frozen.connection_mode,
        judged=run.judged,
        server_name=endpoint.tls.sni,
    )
    return report and f"{report(measurement, head)}\n"


def tool_report_file(run: Run, style: str) -> HttpResponse:
    """The run in the style of another tool; Http404 for an unknown style."""
    text = tool_report(run, style)
    if text is None:
        raise Http404
    return text_file(f"{'-'.join(filter(None, ['run', run.label, style]))}.txt", text)

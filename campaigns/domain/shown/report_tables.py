"""The tables of one run: steps, response time parts, and the injectors' vitals."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.measured.figures import Figures, figures_of
from campaigns.domain.measured.snapshot import PARTS, Total
from campaigns.domain.percentiles import P50, P95, name
from campaigns.domain.shown.cells import Figure, column_cells, count_cell
from campaigns.domain.shown.exchange_tables import percentile_figure
from campaigns.domain.shown.latency_table import Line, plain_table
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Column, Row, Table
from campaigns.domain.units import decimals_for_parts

_SHOWN_PARTS = ("lateness", *PARTS, "response", "service", "undelayed")
_VITALS = (
    ("cpu_share", "CPU of the process", "% of a core", 100),
    ("other_cpu_share", "CPU of other programs", "% of the machine", 100),
    ("steal_share", "CPU stolen", "% of the machine", 100),
    ("run_delay_share", "waiting for a CPU", "%", 100),
    ("hub_lag_max_us", "longest event-loop stall", "ms", 1e-3),
    ("gc_pause_max_us", "longest garbage collection", "ms", 1e-3),
    ("lateness_p99_us", "lateness p99", "ms", 1e-3),
    ("own_delay_p99_us", "own delay p99", "ms", 1e-3),
    ("open_connections", "open connections", "", 1),
    ("open_files_share", "open files", "% of the limit", 100),
    ("ports_share", "local ports in use by all programs", "%", 100),
    ("link_share", "network link", "% of its speed", 100),
    ("packets_lost_share", "packets lost by the machine", "%", 100),
    ("swapped_pages", "memory swapped", "pages", 1),
    ("clock_step_us", "step of the wall clock", "ms", 1e-3),
    ("rss_bytes", "memory", "MB", 1e-6),
)


def steps_table(
    whole: Figures,
    labels: Sequence[str],
    steps: Sequence[Total],
    duration_s: float,
    noun: str = "requests",
    why_weak_tail: str = "",
) -> Table:
    """All steps first, then each step of a plan that has several.

    `why_weak_tail`: as in `Line`.
    """
    lines = [Line("All steps", whole, kind="total", why_weak_tail=why_weak_tail)]
    if len(labels) > 1:
        lines += [
            Line(
                label,
                figures_of(step, duration_s),
                kind="step",
                link={"step": index},
                why_weak_tail=why_weak_tail,
            )
            for index, (label, step) in enumerate(zip(labels, steps, strict=True))
        ]
    return plain_table("steps", "Steps", lines, label_title="step", noun=noun)


def parts_table(total: Total) -> Table:
    """Where the response time goes; a part that did not happen is absent, not 0."""
    timings = [(part, total.timing(part)) for part in _SHOWN_PARTS]
    present = [(part, timing) for part, timing in timings if timing.n]
    figures = [
        [Figure(timing.mean_us / 1000) for _, timing in present],
        *([percentile_figure(timing, q) for _, timing in present] for q in (P50, P95)),
        [Figure(timing.max_us / 1000) for _, timing in present],
    ]
    decimals = decimals_for_parts(each.value for column in figures for each in column)
    columns = [column_cells(column, decimals=decimals) for column in figures]
    columns.append([count_cell(timing.n) for _, timing in present])
    return Table(
        "parts",
        "Where the time goes",
        tuple(METRICS[key].column() for key in ("mean", name(P50), name(P95), "max", "n")),
        tuple(
            Row(METRICS[part].title, tuple(column[index] for column in columns), part)
            for index, (part, _) in enumerate(present)
        ),
        label_title="part",
        note=_note_of_parts(total),
    )


def _note_of_parts(total: Total) -> str:
    is_exchange = total.timing("handshake").n > 0
    parts = ("dns", "connect", "tls")
    parts += ("handshake", "exchange", "close") if is_exchange else ("send", "wait", "receive")
    n_of_parts = {total.timing(part).n for part in parts} - {0}
    is_of_all = n_of_parts <= {total.timing("response").n}
    where = "" if is_of_all else " of all requests, where a part that one did not have counts as 0"
    whole = f"response = lateness + {' + '.join(parts)}"
    return f"{whole}, for the average{where}; percentiles do not add up."


def vitals_table(vitals: Sequence[dict[str, Any]], *, shows_hosts: bool = True) -> Table:
    """A row per vital, a column per shard: the worst second of each."""
    columns = [
        Column(
            f"shard-{each['shard']}",
            f"process {each['shard'] + 1}",
            each.get("host", "") if shows_hosts else "",
        )
        for each in vitals
    ]
    rows = []
    for key, title, unit, scale in _VITALS:
        figures = [_worst(each, key, scale) for each in vitals]
        if any(figure.value is not None for figure in figures):
            label = f"{title}, {unit}" if unit else title
            cells = column_cells(figures, decimals=0 if key == "open_connections" else None)
            rows.append(Row(label, tuple(cells), key))
    return Table(
        "vitals",
        "Injector processes",
        tuple(columns),
        tuple(rows),
        label_title="vital",
        note="Each figure is the worst second of that process.",
    )


def _worst(vitals: dict[str, Any], key: str, scale: float) -> Figure:
    value = vitals["worst"].get(key)
    return Figure(
        None if value is None else value * scale, "This injector process did not report this value."
    )

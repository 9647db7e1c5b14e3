"""The seconds of a run and of its target machines, one row each, as CSV and NDJSON."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from campaigns.domain.measured.machine import COUNTED, GAUGES, OF_PROCESSES
from campaigns.domain.measured.machine_use import MachinePoint
from campaigns.domain.measured.series_chunks import Columns
from campaigns.exports.tables import csv_of_lines, safe

BySource = Mapping[str, Sequence[MachinePoint]]


def csv_of_machine_seconds(machines: BySource) -> Iterator[str]:
    """The head, then a text for each machine: a row per second (warm-up negative), and a column for
    each figure that one of them told. Empty cells: not told. Counts are of the whole second, which
    took `lasted_s`; perf's of `perf lasted_s`."""
    rows = {source: [_flat(point) for point in points] for source, points in machines.items()}
    told = {name for of_source in rows.values() for row in of_source for name in row}
    columns = [name for name in (*COUNTED, *GAUGES, "busiest_core_percent") if name in told]
    columns += sorted(told - set(columns))
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
    for name, figures in did.get("processes", {}).items():
        flat |= {f"{name} {key}": figures[key] for key in OF_PROCESSES if key in figures}
    return flat | _flat_perf(did.get("perf", {}))


def _flat_perf(perf: Mapping[str, Any]) -> dict[str, Any]:
    if "counts" not in perf:
        return {}
    flat = {"perf lasted_s": perf["lasted_s"]}
    for event, (count, share_percent) in perf["counts"].items():
        flat |= {f"perf {event}": count, f"perf {event} counted_percent": share_percent}
    return flat


_COLUMNS = (
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
    yield csv_of_lines([[*(title for _, title in _COLUMNS), *(f"error {kind}" for kind in kinds)]])
    for columns in parts:
        errors = ([each.get(kind, 0) for each in columns["errors"]] for kind in kinds)
        shown = (columns.get(key, repeat("")) for key, _ in _COLUMNS)
        rows = zip(*shown, *errors, strict=False)
        lines = [",".join(["" if each is None else str(each) for each in row]) for row in rows]
        yield "".join(f"{line}\r\n" for line in lines)

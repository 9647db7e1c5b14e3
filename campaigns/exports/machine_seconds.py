"""The seconds of a run's target machines, as CSV and as a JSON object a line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from campaigns.domain.measured.machine import COUNTED, GAUGES, OF_PROCESSES
from campaigns.domain.measured.machine_use import MachinePoint
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

"""The table "Who was the limit?": each side's figures beside what they are limited by."""

from collections.abc import Iterator, Mapping, Sequence

from campaigns.domain.analysis.busy import FULL_CPU, FULL_LINK
from campaigns.domain.analysis.criteria import LIMITS, LimitsByCode, Observed
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.limit import Limit
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Row,
    Table,
    empty,
    figure_cell,
    text_cell,
)
from campaigns.domain.units import decimals_alone, decimals_beside

_NO_LIMIT = "There is no limit to compare it with."
_INJECTORS = {
    "cpu": "injector: CPU, % of a core, mean",
    "link": "injector: network link, %",
}


def limit_table(
    limit: Limit,
    judged: Judgement,
    vitals: Mapping[str, Observed],
    machines: Sequence[MachineUse],
    rates: tuple[float | None, float | None],
    limits: LimitsByCode = LIMITS,
    nouns: str = "requests",
) -> Table:
    """`vitals`: the injectors' by code. `rates`: how many of the `nouns` a second were ok, and were
    planned. `limits`: by which runs are judged."""
    rows = []
    for code, label in _INJECTORS.items():
        if code in vitals:
            mild, is_it = limits[code].mild, judged.measurement.has(code)
            least = None if mild is None else 100 * mild
            rows.append(_row(label, 100 * vitals[code].value, least, is_it=is_it))
    rows += _of_machines(judged, machines)
    if rates[0] is not None:
        rows.append(_row(f"load: ok {nouns}/s", *rates))
    columns = (
        Column("measured", "highest", "", "The highest second, or as the row says."),
        Column("limit", "limit from", "", "From here on it may be the limit."),
        Column("result", "bottleneck?", "", "By the rules of the judgement.", True),
    )
    return Table("limit", f"Bottleneck: {limit.who}", columns, tuple(rows), "figure", limit.why)


def _of_machines(judged: Judgement, machines: Sequence[MachineUse]) -> Iterator[Row]:
    for use in machines:
        whose = f"{use.source}: " if len(machines) > 1 else "target: "
        highest = {name: pair[1] for name, pair in use.figures.items()}
        is_it = judged.target.has("target_cpu")
        if "watched" in highest:
            # Full with what interrupts and the system need beside them.
            yield _row(f"{whose}CPU of chosen processes, %", 100 * highest["watched"], is_it=is_it)
        elif "cpu" in highest:
            yield _row(f"{whose}CPU, %", 100 * highest["cpu"], 100 * FULL_CPU, is_it=is_it)
        if highest.get("stolen"):
            # A CPU is full with it.
            yield _row(f"{whose}CPU stolen by other guests, %", 100 * highest["stolen"])
        if highest.get("memory_bytes") and "memory_used_bytes" in highest:
            share = highest["memory_used_bytes"] / highest["memory_bytes"]
            yield _row(f"{whose}memory, %", 100 * share)
        yield from _of_network(judged, whose, highest)
        if "listen_overflows" in highest:
            is_it = judged.target.has("listen_overflows")
            yield _row(f"{whose}listen queue overflows/s", highest["listen_overflows"], is_it=is_it)
        if "retransmitted" in highest:
            yield _row(f"{whose}segments sent again/s", highest["retransmitted"])


def _of_network(judged: Judgement, whose: str, highest: Mapping[str, float]) -> Iterator[Row]:
    """As a share of the link's speed where that is known."""
    told = [highest[name] for name in ("received_bytes", "sent_bytes") if name in highest]
    if not told:
        return
    if speed := highest.get("link_bytes_per_s"):
        is_it = judged.target.has("target_link")
        share = 100 * max(told) / speed
        yield _row(f"{whose}network link, %", share, 100 * FULL_LINK, is_it=is_it)
    else:
        yield _row(f"{whose}network, MB/s", max(told) / 1e6)


def _row(label: str, value: float, limit: float | None = None, *, is_it: bool | None = None) -> Row:
    said = {None: "", True: "yes", False: "no"}[is_it]
    verdict = text_cell(said, tone="bad" if is_it else "") if said else empty(_NO_LIMIT)
    if limit is None:
        measured = figure_cell(Figure(value), decimals_alone(value))
        return Row(label, (measured, empty(_NO_LIMIT), verdict))
    decimals = decimals_beside(value, limit, decimals_alone(value))
    limited = figure_cell(Figure(limit), decimals_alone(limit))
    return Row(label, (figure_cell(Figure(value), decimals), limited, verdict))

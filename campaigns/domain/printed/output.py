"""What a tool printed on the target's machine: named values with their units."""

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import Any

MOST_VALUES, MOST_LINES = 2000, 20


class PrintedBy(StrEnum):
    """The tools whose output is read."""

    PERF_STAT = "perf stat"
    VMSTAT = "vmstat"
    SAR = "sar"
    SADF = "sadf -j"
    TIME = "time -v"


@dataclass(frozen=True, slots=True)
class PrintedValue:
    """A figure under the tool's own name for it.

    `of`: what it belongs to, such as a network interface; "" for the whole. `why`: why there is no
    value, or in how many intervals there was none. Of a `series`, one value for each interval,
    `value` is the mean unless the tool counts, and `highest` the maximum. `spread_percent`: the ±
    over the repeats of `perf stat -r`. `counted_percent`: how much of the time perf had a counter
    for it; below 100 it is extrapolated.
    """

    name: str
    value: float | None
    unit: str = ""
    of: str = ""
    why: str = ""
    highest: float | None = None
    spread_percent: float | None = None
    counted_percent: float | None = None
    series: tuple[float, ...] = ()

    @classmethod
    def mean_of(cls, name: str, series: list[float], unit: str = "", of: str = ""):
        """Of the values of all intervals; there is at least one."""
        highest = max(series) if len(series) > 1 else None
        return cls(name, fmean(series), unit, of, highest=highest, series=tuple(series))


@dataclass(frozen=True, slots=True)
class PrintedOutput:
    """`about`: what was measured, as the tool says it. `unknown`: lines that hold no figure that is
    known. `notes`: what to know about the values."""

    tool: PrintedBy
    values: tuple[PrintedValue, ...]
    about: str = ""
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Without the series, which are in the original, and without figures beyond the first
        MOST_VALUES."""
        shown = [asdict(replace(each, series=())) for each in self.values[:MOST_VALUES]]
        for each in shown:
            del each["series"]
        return {
            "values": shown,
            "about": self.about[:300],
            "notes": [*self.notes, *self._left_out()],
            "unknown": [line[:200] for line in self.unknown[:MOST_LINES]],
        }

    @classmethod
    def from_json(cls, tool: str, data: dict[str, Any]) -> "PrintedOutput":
        values = tuple(PrintedValue(**each) for each in data["values"])
        return cls(
            PrintedBy(tool), values, data["about"], tuple(data["notes"]), tuple(data["unknown"])
        )

    def _left_out(self) -> list[str]:
        more = len(self.values) - MOST_VALUES
        return [f"{more:,} more figures are only in the original."] if more > 0 else []

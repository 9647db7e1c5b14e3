"""What the network adds: by how much the same requests take longer from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.repeats import MIN_REPEATS, MeanInterval
from campaigns.domain.shown.cells import Figure, column_cells, text_cell
from campaigns.domain.shown.tables import Column, Row, Table
from campaigns.domain.units import column_decimals, number

_COLUMNS = (
    Column("target", "target", is_text=True),
    Column("difference", "remote minus local", "ms", "Difference of the mean response times."),
    Column("difference_low", "95 % from", "ms"),
    Column("difference_high", "to", "ms"),
)
_NOT_BOTH = "One of the two has no usable runs."
_FEW = f"An interval needs {MIN_REPEATS} blocks with usable runs of both."


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """By how much the means of a remote row exceed those of the local row with the same requests,
    in µs, for each column; None where one of the two has no usable runs."""

    remote: str
    local: str
    columns: tuple[MeanInterval | None, ...]

    @property
    def label(self) -> str:
        if self.remote == self.local:
            return f"{self.remote}, remote \u2212 local"
        return f"{self.remote} \u2212 {self.local}"


def network_decimals(rows: Sequence[NetworkRow]) -> int:
    return column_decimals([each.mean / 1000 for row in rows for each in row.columns if each])


def difference_texts(found: MeanInterval, decimals: int) -> tuple[str, str]:
    """("+0.89", "± 0.07"); the second is "" without an interval."""
    difference = number(found.mean / 1000, decimals, signed=True)
    if not _has_interval(found):
        return difference, ""
    return difference, f"± {number((found.high - found.low) / 2000, decimals)}"


def network_table(columns: Sequence[str], rows: Sequence[NetworkRow]) -> Table:
    """A row for each pair of plans and target, for CSV and REST."""
    found = [
        (row.label, name, each)
        for row in rows
        for name, each in zip(columns, row.columns, strict=True)
    ]
    figures = [_figures(each) for *_, each in found]
    decimals = network_decimals(rows)
    cells = [
        column_cells([each[n] for each in figures], decimals=decimals, signed=True)
        for n in range(3)
    ]
    made = [
        Row(label, (text_cell(name), *(column[index] for column in cells)))
        for index, (label, name, _) in enumerate(found)
    ]
    return Table("network", "What the network adds", _COLUMNS, tuple(made), label_title="plans")


def _has_interval(found: MeanInterval) -> bool:
    return found.k >= MIN_REPEATS


def _figures(found: MeanInterval | None) -> list[Figure]:
    """Difference, low, high in ms."""
    if found is None:
        return [Figure(None, _NOT_BOTH)] * 3
    ends = (found.low, found.high) if _has_interval(found) else (None, None)
    return [
        Figure(found.mean / 1000),
        *(Figure(None if each is None else each / 1000, _FEW) for each in ends),
    ]

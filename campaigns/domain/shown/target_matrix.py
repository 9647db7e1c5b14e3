"""Several targets at several plans: a row for each plan, a cell for each target, the best of a row.

Times are means over runs, with their 95 % interval between runs. A target is the best of a row only
where it is faster than the second by their trusted runs. The row of all plans has geometric means,
and no best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.likeness import Likeness
from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.repeats import MIN_REPEATS, MeanInterval
from campaigns.domain.shown.cells import Figure, column_cells, count_cell, text_cell
from campaigns.domain.shown.intervals import change_ends
from campaigns.domain.shown.network import NetworkRow, network_table
from campaigns.domain.shown.tables import Cell, Column, Row, Table
from campaigns.domain.units import change_size, column_decimals, counted, in_ms, number

_FEW = 2  # plans whose difference is written out, and values that a line lists


@dataclass(frozen=True, slots=True)
class RowLikeness:
    """Of one plan: the names of the targets that have runs, and what they have."""

    plan: str
    names: tuple[str, ...]
    found: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True)
class LikeLine:
    """`text`: what all have; where they differ, who has what at which plans."""

    name: str
    text: str
    is_alike: bool


def like_lines(rows: Sequence[RowLikeness]) -> list[LikeLine]:
    """One for each name, in the order of the first plan's."""
    names = [each.name for each in rows[0].found] if rows else []
    return [_line(name, [(row, _likeness_of(row, name)) for row in rows]) for name in names]


def _line(name: str, found: Sequence[tuple[RowLikeness, Likeness]]) -> LikeLine:
    different = [_difference(row, each) for row, each in found if not each.is_alike]
    if different:
        more = len(different) - _FEW
        rest = [f"and {counted(more, 'more plans')}"] if more > 0 else []
        return LikeLine(name, "; ".join([*different[:_FEW], *rest]), False)
    values = list(dict.fromkeys(each.values[0] for _, each in found))
    if len(values) > _FEW:
        return LikeLine(name, f"alike at each plan, such as {values[0]}", True)
    return LikeLine(name, ", ".join(values), True)


def _difference(row: RowLikeness, found: Likeness) -> str:
    """L2: apache 8,600 B, nginx 9,014 B"""
    pairs = zip(row.names, found.values, strict=True)
    return f"{row.plan}: {', '.join(f'{name} {value}' for name, value in pairs)}"


def _likeness_of(row: RowLikeness, name: str) -> Likeness:
    return next(each for each in row.found if each.name == name)


_COLUMNS = (
    Column("target", "target", is_text=True),
    Column("mean", "mean", "ms"),
    Column("low", "95 % from", "ms"),
    Column("high", "to", "ms"),
    Column("runs", "runs", "counted"),
    Column("difference", "difference", "%"),
    Column("difference_low", "95 % from", "%"),
    Column("difference_high", "to", "%"),
    Column("best", "best of the row", is_text=True),
    Column("place", "place", is_text=True),
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """`mean` is None where no run counts, and `why` says so. `against`: the difference to the
    reference; None for the reference itself. `is_short`: fewer runs count than were planned;
    `doubt`: how many of those that count are doubtful, and why, "" where all are trusted.
    `test_id` is None in the row of all plans."""

    target: str
    test_id: int | None
    mean: MeanInterval | None
    against: OverheadRow | None
    is_short: bool = False
    why: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """`best`: the name of the fastest target, "" if none is; `first_two`: its difference to the
    second; `why`: why there is no best although the difference may be clear. `place`: where the
    targets are, in a matrix of two places; else ""."""

    plan: str
    cells: tuple[MatrixCell | None, ...]
    best: str
    first_two: OverheadRow | None
    second: str = ""
    why: str = ""
    place: str = ""

    @property
    def best_words(self) -> str:
        """−5.1 % [−8.4, −1.7] against nginx."""
        if self.first_two is None or self.first_two.interval is None:
            return self.why
        difference = f"{change_size(self.first_two.ratio)} {difference_interval(self.first_two)}"
        if self.best:
            return f"{difference} against {self.second}"
        return f"the first two differ by {difference}"

    @property
    def why_no_best(self) -> str:
        """Where the first two differ for certain; else their interval says it."""
        interval = self.first_two and self.first_two.interval
        is_certain = interval and not interval.low <= 1 <= interval.high
        return self.why if is_certain and not self.best else ""


@dataclass(frozen=True, slots=True)
class TargetMatrix:
    """`relative` is the number of the column that the others are compared with, from 1. `overall`:
    the geometric means over all plans of a place; none of a single plan. `network`: what the
    requests of local plans took longer at remote ones. `like`: what should be alike at a plan."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    relative: int
    overall: tuple[MatrixRow, ...] = ()
    network: tuple[NetworkRow, ...] = ()
    like: tuple[LikeLine, ...] = ()

    @property
    def table(self) -> Table:
        return _table(self)

    @property
    def network_table(self) -> Table | None:
        return network_table(self.columns, self.network) if self.network else None

    @property
    def tables(self) -> list[Table]:
        return [self.table, *([self.network_table] if self.network else [])]

    @property
    def decimals(self) -> int:
        """The same for all times of the matrix, so that they can be compared by eye."""
        return column_decimals([cell.mean.mean / 1000 for cell in self.cells if cell.mean])

    @property
    def all_rows(self) -> list[MatrixRow]:
        """Place by place, with its means over all plans last."""
        places = dict.fromkeys(row.place for row in self.rows)
        every = [*self.rows, *self.overall]
        return [row for place in places for row in every if row.place == place]

    @property
    def cells(self) -> list[MatrixCell]:
        return [cell for row in self.all_rows for cell in row.cells if cell]

    @property
    def column_of(self) -> dict[int, int]:
        """The number of each test's column, from 0."""
        return {
            cell.test_id: number
            for row in self.rows
            for number, cell in enumerate(row.cells)
            if cell
        }


def mean_words(cell: MatrixCell, decimals: int) -> str:
    return number(cell.mean.mean / 1000, decimals)


def interval_words(cell: MatrixCell, decimals: int) -> str:
    """2.27 to 2.33; "" with fewer than three runs."""
    if cell.mean.k < MIN_REPEATS:
        return ""
    low, high = (number(each / 1000, decimals) for each in (cell.mean.low, cell.mean.high))
    return f"{low} to {high}"


def difference_words(row: OverheadRow) -> str:
    return "" if row.ratio is None else change_size(row.ratio)


def difference_interval(row: OverheadRow) -> str:
    """[−14.5, −11.2], in percent; "" without one."""
    if row.interval is None or row.interval.k < MIN_REPEATS:
        return ""
    found = row.interval
    return f"[{', '.join(change_ends(found.ratio, found.low, found.high))}]"


def _table(matrix: TargetMatrix) -> Table:
    """A row for each plan and target, for CSV and REST."""
    found = [(row, cell) for row in matrix.all_rows for cell in row.cells if cell]
    figures = [_figures(cell) for _, cell in found]
    times = [
        column_cells([each[n] for each in figures], decimals=matrix.decimals) for n in range(3)
    ]
    shares = [
        column_cells([each[n] for each in figures], decimals=1, signed=True) for n in range(3, 6)
    ]
    rows = [
        Row(
            row.plan,
            (
                text_cell(cell.target),
                *(column[index] for column in times),
                _runs_cell(row, cell, matrix),
                *(column[index] for column in shares),
                text_cell("best" if row.best == cell.target else ""),
                text_cell(row.place),
            ),
            link={"test": cell.test_id} if cell.test_id else {},
        )
        for index, (row, cell) in enumerate(found)
    ]
    reference = matrix.columns[matrix.relative - 1]
    title = f"Every target at every plan, differences to {reference}"
    return Table("targets", title, _COLUMNS, tuple(rows), label_title="plan")


def _runs_cell(row: MatrixRow, cell: MatrixCell, matrix: TargetMatrix) -> Cell:
    if row in matrix.overall:
        return count_cell(None, "Every plan counts alike, however many runs it has.")
    return count_cell(cell.mean.k if cell.mean else 0)


def _figures(cell: MatrixCell) -> list[Figure]:
    """Mean, low, high in ms; difference, low, high in percent."""
    if cell.mean is None:
        return [Figure(None, cell.why)] * 6
    has_interval = cell.mean.k >= MIN_REPEATS
    ends = (cell.mean.low, cell.mean.high) if has_interval else (None, None)
    few = f"An interval needs {MIN_REPEATS} repeats."
    few_times = few if cell.test_id else "Only the difference of a geometric mean has an interval."
    mean = Figure(cell.mean.mean / 1000, cell.doubt, weak=bool(cell.doubt))
    times = [mean, *(Figure(in_ms(each), few_times) for each in ends)]
    if cell.against is None:
        return [*times, *[Figure(None, "This is the reference.")] * 3]
    row = cell.against
    interval = row.interval if row.interval and row.interval.k >= MIN_REPEATS else None
    edges = (interval.low, interval.high) if interval else (None, None)
    return [*times, *(Figure(_share(each), row.why or few) for each in (row.ratio, *edges))]


def _share(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)

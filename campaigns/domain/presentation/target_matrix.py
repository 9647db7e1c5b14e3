"""Several targets at several plans: a row for each plan, a cell for each target, the best of a row.
And in a sentence: in which order they come, and where.

Times are means over runs, with their 95 % interval between runs. A target is the best of a row only
where it is faster than the second. The row of all plans has geometric means, and no best.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from campaigns.domain.analysis.likeness import Likeness
from campaigns.domain.analysis.messages import Sentence, joined, say, sentence
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval, Word
from campaigns.domain.presentation.intervals import change_interval, span_words
from campaigns.domain.presentation.sentences import gap_words
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Format,
    Row,
    Table,
    change_figures,
    count_cell,
    empty,
    ends_columns,
    mean_figures,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import and_joined, change_size, column_decimals, counted, number

_NETWORK_COLUMNS = (
    Column("target", "target", is_text=True),
    Column("difference", "remote minus local", "ms", "Difference of the mean response times."),
    *ends_columns("difference_", "ms"),
)
_ALIKE = "Every plan counts alike, however many runs it has."


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


def network_table(columns: Sequence[str], rows: Sequence[NetworkRow]) -> Table:
    """A row for each pair of plans and target, for CSV and REST."""
    rtts = [
        (row.label, name, each)
        for row in rows
        for name, each in zip(columns, row.columns, strict=True)
    ]
    few = say("interval_of_blocks", where="")
    # Difference, low, high in ms.
    figures = [mean_figures(each, say("no_runs"), few) for *_, each in rtts]
    decimals = column_decimals([each.mean / 1000 for *_, each in rtts if each])
    cells = rows_of_cells(figures, [Format(decimals, signed=True)] * 3)
    rows_of_table = [
        Row(label, (text_cell(name), *of_row))
        for (label, name, _), of_row in zip(rtts, cells, strict=True)
    ]
    return Table(
        "network",
        "What the network adds",
        _NETWORK_COLUMNS,
        tuple(rows_of_table),
        label_title="plans",
    )


SAME = "There is no practical difference."
_LISTED = 4  # targets with what each has
_FEW = 2  # plans whose difference is written out, and values that a line lists


@dataclass(frozen=True, slots=True)
class RowLikeness:
    """Of one plan: the names of the targets that have runs, and what they have."""

    plan: str
    names: tuple[str, ...]
    likenesses: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True)
class LikeLine:
    """`text`: what all have; where they differ, who has what at which plans."""

    name: str
    text: str
    is_alike: bool


def like_lines(rows: Sequence[RowLikeness]) -> list[LikeLine]:
    """One for each name, in the order of the first plan's."""
    names = [each.name for each in rows[0].likenesses] if rows else []
    return [
        _line(
            name,
            [(row, next(each for each in row.likenesses if each.name == name)) for row in rows],
        )
        for name in names
    ]


def _line(name: str, likenesses: Sequence[tuple[RowLikeness, Likeness]]) -> LikeLine:
    different = [_difference(row, each) for row, each in likenesses if not each.is_alike]
    if different:
        more = len(different) - _FEW
        rest = [f"and {counted(more, 'more plans')}"] if more > 0 else []
        return LikeLine(name, "; ".join([*different[:_FEW], *rest]), False)
    values = list(dict.fromkeys(each.values[0] for _, each in likenesses))
    if len(values) > _FEW:
        return LikeLine(name, f"alike at each plan, such as {values[0]}", True)
    return LikeLine(name, ", ".join(values), True)


def _difference(row: RowLikeness, likeness: Likeness) -> str:
    """L2: apache 8,600 B, nginx 9,014 B; of many targets the few that differ from most."""
    pairs = list(zip(row.names, likeness.values, strict=True))
    usual, n_usual = Counter(likeness.values).most_common(1)[0]
    if len(pairs) > _LISTED and n_usual > len(pairs) / 2:
        others = [(name, value) for name, value in pairs if value != usual]
        more = len(others) - _FEW
        pairs = [(f"{n_usual} have", usual), *others[:_FEW]]
        pairs += [("and", f"{more} more differ")] if more > 0 else []
    return f"{row.plan}: {', '.join(f'{name} {value}' for name, value in pairs)}"


_COLUMNS = (
    Column("target", "target", is_text=True),
    Column("mean", "mean", "ms"),
    *ends_columns("", "ms"),
    Column("runs", "runs", "counted"),
    Column("difference", "difference", "%"),
    *ends_columns("difference_", "%"),
    Column("best", "best of the row", is_text=True),
    Column("place", "place", is_text=True),
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """`mean` is None where no run counts, and `why` says so. `against`: the difference to the
    reference; None for the reference itself. `is_short`: fewer runs count than were planned;
    `doubt`: how many of those that count are of a busy machine, and why; "" where none is.
    `test_id` is None in the row of all plans."""

    target: str
    test_id: int | None
    mean: MeanInterval | None
    against: PairResult | None
    is_short: bool = False
    why: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two targets of a row, of which no other's time lies between. `row`: the faster one against
    the slower, without an interval where nothing is known of the size."""

    faster: str
    slower: str
    row: PairResult

    @property
    def why(self) -> str:
        """Why nobody can be sure of that; "" where the difference is clear."""
        return "" if self.row.word is Word.FASTER else self.row.text or SAME


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """`order`: from the fastest target on; () of fewer than two, and `why` says why. `place`: where
    the targets are, in a matrix of two places; else ""."""

    plan: str
    cells: tuple[MatrixCell | None, ...]
    order: tuple[Neighbours, ...] = ()
    why: str = ""
    place: str = ""

    @property
    def best(self) -> str:
        """The name of the fastest target, "" if none is for certain."""
        return self.order[0].faster if self.order and not self.why else ""

    @property
    def best_words(self) -> str:
        """−5.1 % [−8.4, −1.7] against nginx."""
        if not self.order or self.order[0].row.interval is None:
            return self.why
        first = self.order[0]
        difference = f"{change_size(first.row.ratio)} {difference_interval(first.row)}"
        if self.best:
            return f"{difference} against {first.slower}"
        return f"the first two differ by {difference}"

    @property
    def why_no_best(self) -> str:
        """Where the first two differ for certain; else their interval says it."""
        interval = self.order and self.order[0].row.interval
        is_certain = interval and not interval.low <= 1 <= interval.high
        return self.why if is_certain and not self.best else ""


@dataclass(frozen=True, slots=True)
class TargetMatrix:
    """`relative` is the number of the column that the others are compared with, from 1. `overall`:
    the geometric means over all plans of a place; none of a single plan. `network`: what the
    requests of local plans took longer at remote ones. `like`: what should be alike at a plan.
    `in_turns`: its times are medians, and its differences of rounds, with the confidence of
    these."""

    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    relative: int
    overall: tuple[MatrixRow, ...] = ()
    network: tuple[NetworkRow, ...] = ()
    like: tuple[LikeLine, ...] = ()
    in_turns: bool = False

    @property
    def table(self) -> Table:
        pairs = [(row, cell) for row in self.all_rows for cell in row.cells if cell]
        formats = [Format(self.decimals)] * 3 + [Format(1, signed=True)] * 3
        cells = rows_of_cells([_figures(cell) for _, cell in pairs], formats)
        rows = [
            Row(
                row.plan,
                (
                    text_cell(cell.target),
                    *of_cell[:3],
                    empty(_ALIKE)
                    if row in self.overall
                    else count_cell(cell.mean.k if cell.mean else 0),
                    *of_cell[3:],
                    text_cell("best" if row.best == cell.target else ""),
                    text_cell(row.place),
                ),
                link={"test": cell.test_id} if cell.test_id else {},
            )
            for (row, cell), of_cell in zip(pairs, cells, strict=True)
        ]
        reference = self.columns[self.relative - 1]
        title = f"Response time by server and page, differences to {reference}"
        columns, note = _COLUMNS, ""
        if self.in_turns:
            note = "medians without the injector's part, side by side"
            titles = {"mean": "median", "difference_low": "99 % from"}
            columns = tuple(
                replace(each, title=titles.get(each.key, each.title)) for each in _COLUMNS
            )
        return Table("targets", title, columns, tuple(rows), "plan", note)

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
    if None in cell.mean.ends:
        return ""
    return " to ".join(number(each / 1000, decimals) for each in cell.mean.ends)


def difference_words(row: PairResult) -> str:
    return "" if row.ratio is None else change_size(row.ratio)


def difference_interval(row: PairResult) -> str:
    """[−14.5, −11.2], in percent; "" without one."""
    return "" if None in row.ends else change_interval(row.ratio, *row.ends)


def _figures(cell: MatrixCell) -> list[Figure]:
    """Mean, low, high in ms; difference, low, high in percent."""
    few = say("interval_of_repeats")
    few_times = few if cell.test_id else "Only the difference of a geometric mean has an interval."
    times = mean_figures(cell.mean, cell.why, few_times, cell.doubt)
    if cell.mean is None:
        return times * 2
    if cell.against is None:
        return [*times, *[Figure(None, "This is the reference.")] * 3]
    row = cell.against
    return [*times, *change_figures(row.ratio, row.ends, row.why or few)]


_MOST_PLANS = 3  # by name
_MOST_TARGETS = 4  # in the sentence; the tables have all


def matrix_sentence(matrix: TargetMatrix, *, is_final: bool = True) -> Sentence:
    """Who is faster than whom, where and by how much; [] where no row can say it yet. Not final:
    of the rows that can."""
    # A plan that was measured in two places is named with the place.
    times = Counter(row.plan for row in matrix.rows)
    rows = [
        (f"{row.plan} ({row.place})" if times[row.plan] > 1 else row.plan, row)
        for row in matrix.rows
    ]
    orders: dict[str, dict[str, MatrixRow]] = {}
    for name, row in rows:
        if row.order:
            orders.setdefault(_order(row), {})[name] = row
    if not orders:
        return []
    sentences = [sentence("orders_differ")] if len(orders) - ("" in orders) > 1 else []
    # Rows in which nobody is clearly ahead, by the code of what is said of them.
    unclear: dict[str, dict[str, MatrixRow]] = {}
    for name, row in orders.pop("", {}).items():
        is_same = all(each.why == SAME for each in row.order)
        unclear.setdefault("order_same" if is_same else "order_open", {})[name] = row
    for order, rows_alike in orders.items():
        is_all = 2 < len(rows_alike) == len(rows) == len(times)
        at = f"all {len(rows)} plans" if is_all else _plans(rows_alike, len(rows))
        ahead = [each.row for row in rows_alike.values() for each in _steps(row)]
        gap = gap_words(ahead, or_more=any(each.or_more for each in ahead))
        sentences.append(sentence("order", order=order, plans=at, gap=gap))
    for code, alike in unclear.items():
        such_as = _bounds(alike) if code == "order_open" or len(unclear) == 1 else ""
        sentences.append(sentence(code, plans=_plans(alike, len(rows)), such_as=such_as))
    unknown = [name for name, row in rows if not row.order]
    if unknown and is_final:
        sentences.append(sentence("order_unknown", plans=_plans(unknown, len(rows))))
    return joined(sentences)


def _plans(names: Collection[str], n_all: int) -> str:
    if len(names) > _MOST_PLANS:
        return f"{len(names)} of {n_all} plans"
    return and_joined(list(names))


def _bounds(rows: Mapping[str, MatrixRow]) -> str:
    """Those of the first pair, and what would settle it."""
    first = next(iter(rows.values())).order[0]
    interval = first.row.interval
    if interval is None:
        return ""
    ends = span_words(interval.low, interval.high)
    such_as = ", such as" if sum(len(row.order) for row in rows.values()) > 1 else ":"
    settle = "" if first.why == SAME else f". {first.why.removesuffix('.')}"
    return f"{such_as} {first.faster} against {first.slower}, {ends}{settle}"


def _has_many(row: MatrixRow) -> bool:
    return len(row.order) >= _MOST_TARGETS


def _steps(row: MatrixRow) -> list[Neighbours]:
    """The differences that its order tells."""
    steps = [each for each in row.order if not each.why]
    return steps[:1] if _has_many(row) else steps


def _order(row: MatrixRow) -> str:
    """nginx is faster than apache; nginx is the fastest, then apache and caddy; of many only who is
    the fastest. "" where nobody is clearly ahead."""
    groups = [[row.order[0].faster]]
    for each in row.order:
        if not each.why:
            groups.append([])
        groups[-1].append(each.slower)
    first, *others = map(and_joined, groups)
    if not others:
        return ""
    are = "is" if len(groups[0]) == 1 else "are"
    if len(row.order) == 1:
        return f"{first} is faster than {others[0]}"
    if _has_many(row):
        ahead = groups[0]
        first = f"{ahead[0]} and {len(ahead) - 1} more" if len(ahead) > 2 else first
        return f"{first} {are} the fastest of {len(row.order) + 1}"
    return f"{first} {are} the fastest, {', '.join(f'then {each}' for each in others)}"

"""The protocol ladder of a target: what each layer costs, a rung at a time.

Each rung is compared with the rung before it, from which it differs by as little as the campaign
allows, and with plain HTTP on the same kind of connection. All comparisons are those of
analysis.pair; nothing is estimated here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import SPLIT_PARTS, PairResult
from campaigns.domain.analysis.ratio import CLEAR, MeanInterval
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.plan.rungs import Section
from campaigns.domain.presentation.overhead_table import split_rows
from campaigns.domain.presentation.tables import (
    NO_RUN,
    Cell,
    Column,
    Figure,
    Format,
    Row,
    Table,
    change_figures,
    column_cells,
    count_cell,
    empty,
    ends_columns,
    figure_cell,
    mean_figures,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import column_decimals, in_ms

MEAN = "mean"
# What rungs can be compared by; only means have parts that add up.
LADDER_METRICS = (MEAN, "p50", "p95", "p99")
# Of rungs that took turns: the median without the injector's part first.
METRICS_IN_TURNS = (TYPICAL, MEAN, "p95", "p99")
SECTION_TITLES = {
    Section.NEW: "New connection",
    Section.KEPT: "Kept connection",
    Section.PROFILES: "Other TLS profiles",
    Section.MANY: "Many at once",
}


@dataclass(frozen=True, slots=True)
class RungStep:
    """A rung against another. `row`: without a word before the third finished repeat. `times_us`:
    of the other and of this one, as the table has them. `counted` and the rest: for what else is
    compared of the two, as in an OverheadAnswer."""

    row: PairResult
    times_us: tuple[float | None, float | None]
    names: tuple[str, str]
    title: str
    counted: tuple[dict[int, int], dict[int, int]]
    is_paired: bool
    blocker: str

    @property
    def ratio(self) -> float | None:
        """Of the times; that of the rounds where busy ones among the times would leave its
        interval."""
        other, own = self.times_us
        ratio, interval = None if None in self.times_us else own / other, self.row.interval
        if interval and not (ratio and interval.low <= ratio <= interval.high):
            return interval.ratio
        return ratio

    @property
    def word(self) -> str:
        return str(self.row.word or "")

    @property
    def why(self) -> str:
        """Why the word is missing or weak."""
        return self.row.text

    @property
    def has_interval(self) -> bool:
        return None not in self.row.ends

    @property
    def is_told(self) -> bool:
        """Whether a word says that the two differ."""
        return self.row.word in CLEAR


@dataclass(frozen=True, slots=True)
class WireBytes:
    """Per request, TLS and HTTP without TCP and IP; `handshake`: of one, both ways. None where the
    injector's kernel or the injector did not tell."""

    sent: float | None = None
    received: float | None = None
    handshake: float | None = None


@dataclass(frozen=True, slots=True)
class Agreed:
    """What a rung's handshakes agreed on, over its counted runs. `chosen`: the words of each
    agreement with how many handshakes had it."""

    full: int = 0
    resumed: int = 0
    chosen: tuple[tuple[str, int], ...] = ()
    certificates: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LadderRung:
    """One arm. `mean` is None where no run counts, and `why` says so. `value`: the ladder's metric,
    µs over runs; None also of a percentile that too few requests support, and `weak` says why it is
    weak. `before` and `plain`: against the rung before and against plain HTTP, by this metric; None
    where there is no such rung or nothing to compare. `parts`: mean µs by part, None of one that
    never occurred. `own_cpu_us`: the injector's CPU time per request. `percentiles`: ms, pooled.
    `not_taken`: what it offered and the server did not take, a sentence each."""

    section: Section
    title: str
    words: str
    test_id: int
    is_plain: bool
    mean: MeanInterval | None
    value: MeanInterval | None
    before: RungStep | None
    plain: RungStep | None
    parts: Mapping[str, float | None]
    wire: WireBytes
    own_cpu_us: float | None
    agreed: Agreed
    percentiles: Mapping[str, Figure] = field(default_factory=dict)
    rate_per_s: float | None = None
    connections: int = 1
    streams: int = 1
    why: str = ""
    weak: str = ""
    not_taken: tuple[str, ...] = ()

    @property
    def chose_otherwise(self) -> str:
        return " ".join(self.not_taken)


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of all sections, in the order of the ladder, compared by `metric`. `same`:
    (what, its value) of every comparison; `differs`: (what, the rungs that differ and how) although
    nobody chose it. `in_turns`: the rungs took turns."""

    target: str
    rungs: tuple[LadderRung, ...]
    metric: str = MEAN
    same: tuple[tuple[str, str], ...] = ()
    differs: tuple[tuple[str, str], ...] = ()
    in_turns: bool = False

    def of(self, section: Section) -> list[LadderRung]:
        return [rung for rung in self.rungs if rung.section == section]

    @property
    def sections(self) -> list[tuple[Section, list[LadderRung]]]:
        return [(each, self.of(each)) for each in Section if self.of(each)]

    @property
    def compared(self) -> list[tuple[LadderRung, RungStep]]:
        """Every rung once, with plain HTTP where there is one, else with the rung before."""
        return [(rung, step) for rung in self.rungs if (step := rung.plain or rung.before)]

    @property
    def has_word(self) -> bool:
        return any(step.word for _, step in self.compared)

    @property
    def decimals(self) -> int:
        """The same for all times, so that they can be compared by eye."""
        return column_decimals([rung.value.mean / 1000 for rung in self.rungs if rung.value])

    @property
    def metrics(self) -> Sequence[str]:
        return METRICS_IN_TURNS if self.in_turns else LADDER_METRICS

    @property
    def confidence(self) -> str:
        """Of its intervals."""
        return "99 %" if self.in_turns else "95 %"

    @property
    def note(self) -> str:
        """Which times the percentages follow from."""
        if self.in_turns:
            return say("rungs_in_turns")
        if not any(step.row.interval for _, step in self.compared):
            return ""
        return say("rungs_typical")

    @property
    def tables(self) -> list[Table]:
        parts = [_parts_table(self)] if self.metric == MEAN else []
        many = [_many_table(self)] if self.of(Section.MANY) else []
        return [_ladder_table(self), *parts, _wire_table(self), _agreed_table(self), *many]

    @property
    def page_tables(self) -> list[Table]:
        """Those of which a page draws nothing, with the rungs of which they have a figure."""
        many = [_many_table(self)] if self.of(Section.MANY) else []
        tables = (_wire_table(self), *many, _agreed_table(self))
        candidates = [
            replace(each, rows=tuple(r for r in each.rows if any(c.value for c in r.cells[1:])))
            for each in tables
        ]
        return [each for each in candidates if each.rows]


_HEAD = (Column("section", "section", is_text=True), Column("detail", "detail", is_text=True))


def _columns_of(ladder: Ladder) -> tuple[Column, ...]:
    since = f"{ladder.confidence} from"
    steps = (
        ("difference", "difference", "ms"),
        ("change", "change", "%"),
        ("change_low", since, "%"),
        ("change_high", "to", "%"),
    )
    return (
        *_HEAD,
        Column(ladder.metric, ladder.metric, "ms"),
        *ends_columns("", "ms", since),
        Column("runs", "runs", "counted"),
        *(Column(f"before_{key}", f"{title}, rung before", unit) for key, title, unit in steps),
        Column("before_word", "word, rung before", is_text=True),
        *(Column(f"plain_{key}", f"{title}, plain HTTP", unit) for key, title, unit in steps),
        Column("plain_word", "word, plain HTTP", is_text=True),
    )


def _ladder_table(ladder: Ladder) -> Table:
    """A row a rung, for CSV and REST."""
    rungs = ladder.rungs
    few = say("interval_of_repeats")
    figures = [mean_figures(each.value, each.why or NO_RUN, few, each.weak) for each in rungs]
    times = rows_of_cells(figures, [Format(ladder.decimals)] * 3)
    rows = tuple(
        Row(
            rung.title,
            (
                text_cell(SECTION_TITLES[rung.section]),
                text_cell(rung.words),
                *of_rung,
                count_cell(rung.value.k if rung.value else 0),
                *step_cells(rung.before, ladder.decimals),
                _word_cell(rung.before),
                *step_cells(rung.plain, ladder.decimals),
                _word_cell(rung.plain),
            ),
            note=rung.chose_otherwise,
            link={"test": rung.test_id},
        )
        for rung, of_rung in zip(rungs, times, strict=True)
    )
    title = f"What each layer costs {ladder.target}"
    return Table("ladder", title, _columns_of(ladder), rows, "rung", ladder.note)


def step_cells(step: RungStep | None, decimals: int) -> list[Cell]:
    """The difference in ms with the decimals of the times, and the change with the ends of its
    interval in percent."""
    if step is None:
        return [empty("There is no rung to compare this one with.")] * 4
    why, (other, own) = step.row.why or step.why, step.times_us
    difference_ms = None if step.ratio is None else (own - other) / 1000
    return [
        figure_cell(Figure(difference_ms, why), decimals, signed=True),
        *(
            figure_cell(each, 1, signed=True)
            for each in change_figures(step.ratio, step.row.ends, why)
        ),
    ]


def _word_cell(step: RungStep | None) -> Cell:
    return text_cell(step.word, step.why) if step else text_cell("")


def parts_of(rungs: Sequence[LadderRung]) -> tuple[list[dict[str, Any]], int]:
    """Of the rungs of a section: the rows of a split, and their decimals."""
    return split_rows(
        [(rung.title, "http" if rung.is_plain else "https", rung.parts) for rung in rungs]
    )


def own_cpu_cells(rungs: Sequence[LadderRung]) -> list[Cell]:
    """µs per request"""
    return column_cells(
        [Figure(rung.own_cpu_us, "The injector did not report it.") for rung in rungs]
    )


def _parts_table(ladder: Ladder) -> Table:
    parts = [p for p in SPLIT_PARTS if any(rung.parts.get(p) is not None for rung in ladder.rungs)]
    columns = (
        Column("section", "section", is_text=True),
        *(Column(part, part, "ms") for part in parts),
        Column("mean", "total", "ms"),
        Column("own_cpu", "injector's CPU", "µs per request"),
    )
    cells = []
    for _, rungs in ladder.sections:
        rows, decimals = parts_of(rungs)
        for rung, row, own in zip(rungs, rows, own_cpu_cells(rungs), strict=True):
            # Nothing of a rung that was not measured.
            times = [empty(rung.why or NO_RUN)] * (len(parts) + 1)
            if rung.mean:
                values = [*(row["parts"][part] for part in parts), row["total_ms"]]
                figures = [Figure(value, "It has no such part.") for value in values]
                times = column_cells(figures, decimals=decimals)
            cells.append([*times, own])
    title = "Where the time goes, mean per request"
    return _table_of(ladder, "ladder-parts", title, columns, cells)


def _wire_table(ladder: Ladder) -> Table:
    why = "The injector's kernel did not report it."
    figures = []
    for _, rungs in ladder.sections:
        before = None
        for rung in rungs:
            wire = rung.wire
            both = None if None in (wire.sent, wire.received) else wire.sent + wire.received
            more = both - before if both and before else None
            sizes = (wire.sent, wire.received, wire.handshake, more)
            figures.append([Figure(each, why) for each in sizes])
            before = both
    columns = (
        Column("section", "section", is_text=True),
        Column("sent", "sent", "B per request"),
        Column("received", "received", "B per request"),
        Column("handshake", "TLS handshake", "B"),
        Column("more", "against the rung before", "B per request"),
    )
    title = "Bytes on the wire, TLS and HTTP without TCP and IP"
    formats = [*[Format(0)] * 3, Format(0, signed=True)]
    return _table_of(ladder, "ladder-wire", title, columns, rows_of_cells(figures, formats))


def _agreed_table(ladder: Ladder) -> Table:
    columns = (
        Column("section", "section", is_text=True),
        Column("agreed", "agreed on", is_text=True),
        Column("certificate", "certificate", is_text=True),
        Column("full", "full handshakes"),
        Column("resumed", "resumed handshakes"),
    )
    cells = [
        [
            text_cell("; ".join(words for words, _ in rung.agreed.chosen)),
            text_cell("; ".join(rung.agreed.certificates)),
            count_cell(rung.agreed.full),
            count_cell(rung.agreed.resumed),
        ]
        for rung in ladder.rungs
    ]
    return _table_of(ladder, "ladder-tls", "TLS as negotiated", columns, cells)


def _many_table(ladder: Ladder) -> Table:
    """As many requests at once on connections and on streams."""
    rungs = ladder.of(Section.MANY)
    columns = (
        Column("connections", "connections"),
        Column("streams", "streams", "on each"),
        Column("mean", "mean", "ms"),
        *(Column(key, key, "ms") for key in ("p50", "p95", "p99")),
        Column("rate", "rate", "requests/s"),
        Column("change", f"change of the {ladder.metric}", "%", "From the row above."),
        *ends_columns("change_", "%", f"{ladder.confidence} from"),
        Column("word", "verdict", is_text=True),
    )
    figures = [
        [
            Figure(in_ms(rung.mean and rung.mean.mean), rung.why or NO_RUN),
            *rung.percentiles.values(),
            Figure(rung.rate_per_s, rung.why or NO_RUN),
        ]
        for rung in rungs
    ]
    cells = rows_of_cells(figures, [*[Format(ladder.decimals)] * 4, Format()])
    rows = tuple(
        Row(
            rung.title,
            (
                count_cell(rung.connections),
                count_cell(rung.streams),
                *of_rung,
                *step_cells(rung.before, ladder.decimals)[1:],
                _word_cell(rung.before),
            ),
            link={"test": rung.test_id},
        )
        for rung, of_rung in zip(rungs, cells, strict=True)
    )
    note = "does one slow reply delay the others? on kept connections"
    return Table("ladder-many", "Many at once", columns, rows, "requests at once", note)


def _table_of(
    ladder: Ladder, key: str, title: str, columns: Any, cells: Sequence[Sequence[Cell]]
) -> Table:
    rows = (
        Row(
            rung.title, (text_cell(SECTION_TITLES[rung.section]), *row), link={"test": rung.test_id}
        )
        for rung, row in zip(ladder.rungs, cells, strict=True)
    )
    return Table(key, title, columns, tuple(rows), "rung")


def told_steps(rungs: Sequence[LadderRung]) -> Iterator[tuple[LadderRung, RungStep]]:
    """The rungs that are compared with the one before and are not the first over TLS."""
    for number, rung in enumerate(rungs):
        if number and rung.before and not rungs[number - 1].is_plain:
            yield rung, rung.before

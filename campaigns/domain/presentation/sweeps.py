"""Sweeps: the same plan on the same arm at several values. As a table, a row for each value: what
was measured there, which points may be believed, and why the others are not. And in a few
sentences: how throughput goes with the value, what is not known, and who is faster than whom.

A point is trusted if all its repeats are. Only trusted points have an interval, a speed-up and a
part in what the sentences say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from campaigns.domain.analysis.messages import Sentence, joined, say, sentence
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval, Word, mean_interval
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.metrics.figures import Figures
from campaigns.domain.percentiles import P95, Shown, shown
from campaigns.domain.plan.sweep import (
    DIVIDED,
    INJECTORS,
    at_point,
    parameter_label,
    parameter_unit,
    point_phrase,
    point_words,
    value_text,
)
from campaigns.domain.presentation.latency_table import figures_by_key
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.sentences import gap_words
from campaigns.domain.presentation.tables import (
    NO_RUN,
    Cell,
    Column,
    Figure,
    Format,
    Row,
    Table,
    change_figures,
    count_cell,
    ends_columns,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import and_joined, counted, in_ms, number, rate

# Growth has ended where a value has this share of the highest throughput.
PLATEAU = 0.95


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """All requests of the runs at one value. `figures` are those of its trusted runs if it is
    trusted, else of all that ended with figures; None without any. `is_usable`: not only of runs
    that nobody may believe. `rate` and `mean_us` are means over its runs, with an interval from
    three on. `why`: why it is not trusted. `speed_up` and `efficiency`: against the smallest value,
    where more of the parameter divides the work. `against`: another arm's response
    time at the same value, where there is one.
    `test_id`: the test at this value, and `run_id` the last of its runs, None before it has one.
    """

    value: float
    figures: Figures | None
    is_trusted: bool
    is_usable: bool
    n_trusted: int
    n_runs: int
    trust: str
    target_state: str
    rate: MeanInterval | None = None
    mean_us: MeanInterval | None = None
    why: str = ""
    speed_up: float | None = None
    efficiency: float | None = None
    against: PairResult | None = None
    test_id: int | None = None
    run_id: int | None = None

    @property
    def rate_per_s(self) -> float | None:
        return self.figures.rate_per_s if self.figures else None

    @property
    def mean_ms(self) -> float | None:
        return in_ms(self.figures and self.figures.mean_us)

    @property
    def p95_ms(self) -> float | None:
        if self.figures is None or shown(self.figures.n, P95) is Shown.NO:
            return None
        return in_ms(self.figures.percentiles[P95])

    @property
    def error_share(self) -> float | None:
        return self.figures.error_share if self.figures else None

    @property
    def under_way(self) -> float | None:
        """Requests under way on average, by Little's law: throughput × mean response time."""
        if self.rate_per_s is None or self.mean_ms is None:
            return None
        return self.rate_per_s * self.mean_ms / 1000

    @property
    def rate_ends(self) -> tuple[float, float] | None:
        """The 95 % interval of the throughput between repeats."""
        return _ends_of(self.rate)

    @property
    def mean_ends_ms(self) -> tuple[float, float] | None:
        ends = _ends_of(self.mean_us)
        return ends and (ends[0] / 1000, ends[1] / 1000)


@dataclass(frozen=True, slots=True)
class SweepAnswer:
    """One plan on one arm at several values of `field`: `table` has a row for each, `points` are
    its curve. `name` tells the arm apart from the others of the same sweep. `reference`: the one
    of them that its points are compared with, "" for that one itself and of a single arm."""

    title: str
    plan_label: str
    field: str
    name: str
    table: Table
    points: list[SweepPoint]
    reference: str = ""


def _ends_of(interval: MeanInterval | None) -> tuple[float, float] | None:
    return None if interval is None or None in interval.ends else interval.ends


def of_runs(runs: Sequence[Figures]) -> tuple[MeanInterval | None, MeanInterval | None]:
    """Throughput and mean time over these runs of one point."""
    means = [each.mean_us for each in runs if each.mean_us is not None]
    rates = [each.rate_per_s for each in runs if each.rate_per_s is not None]
    return (mean_interval(rates) if rates else None), (mean_interval(means) if means else None)


def with_speed_up(parameter: str, points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The points in the order of their values, the trusted ones with their speed-up."""
    points = sorted(points, key=lambda point: point.value)
    first = points[0]
    if parameter not in DIVIDED or not first.is_trusted or not first.rate_per_s:
        return points
    speed_ups = [
        point.rate_per_s / first.rate_per_s if point.is_trusted and point.rate_per_s else None
        for point in points
    ]
    return [
        replace(point, speed_up=each, efficiency=each * first.value / point.value)
        if each
        else point
        for point, each in zip(points, speed_ups, strict=True)
    ]


def end_of_growth(points: Sequence[SweepPoint]) -> tuple[SweepPoint, bool] | None:
    """The first trusted point with 95 % of the highest trusted throughput, and whether growth has
    ended there: a trusted point follows. None with fewer than two trusted points."""
    growth = [point for point in points if point.is_trusted and point.rate_per_s]
    if len(growth) < 2:
        return None
    most = max(point.rate_per_s for point in growth)
    index = next(i for i, point in enumerate(growth) if point.rate_per_s >= PLATEAU * most)
    return growth[index], index < len(growth) - 1


_TIMES = ("duration", "interval", "mean", "mean_low", "mean_high", "min", "p50", "p95", "max")
_RATES = ("rate", "rate_low", "rate_high")
_DIVIDED = ("speed_up", "efficiency")
_WORDS = ("measurement", "target_state")
_AGAINST = ("difference", "difference_low", "difference_high")
_OWN_COLUMNS = {
    **{
        column.key: column
        for key, unit in (("mean_", "ms"), ("rate_", "ok requests/s"), ("difference_", "%"))
        for column in ends_columns(key, unit)
    },
    "efficiency": Column("efficiency", "efficiency", "%", "Speed-up divided by how much more."),
    "under_way": Column(
        "under_way", "under way", "", "Little's law: throughput × mean response time."
    ),
    "difference": Column("difference", "difference", "%"),
    "word": Column("word", "word", is_text=True),
    "trusted": Column("trusted", "trusted runs", "", "Of all that ended."),
}
_TONES = {
    Trust.BUSY: "warn",
    Trust.NO_ANSWER: "bad",
    TargetState.CHANGING: "warn",
    TargetState.OVERLOADED: "warn",
    TargetState.FAILING: "bad",
}
_TARGET_UNKNOWN = say("target_unknown")
_FEW = say("interval_of_repeats")
_NOT_THERE = PairResult("mean", text=say("no_reference"))
_IS_IT = PairResult("mean", text="This is the reference.")
_NO_SPEED_UP = "Against the smallest value, which has no trusted rate to compare with."
# Where runs differ, an interval need not lie around the average beside it.
_NOTE = (
    "Figures are of all requests of a value's runs, intervals and differences of the runs' "
    "averages; differences on a busy machine are of medians without the injector's part. "
    "{against}Bold: the first with 95 % of the highest trusted throughput. Grey and ~: not "
    "all its runs are trusted, so it has no interval and no speed-up. Injector processes on "
    "one host share its cores."
)


def sweep_table(
    key: str,
    title: str,
    field: str,
    arms: Sequence[tuple[str, Sequence[SweepPoint]]],
    reference: str = "",
) -> Table:
    """Value by value a row for each arm: (its name, its points in the order of their values).
    `reference`: the arm that the others are compared with, "" where there is nothing to compare
    with."""
    figure_keys = (*_TIMES, *_RATES, *(_DIVIDED if field in DIVIDED else ()), "under_way")
    has_arms = len(arms) > 1
    by_value = [(point, name) for name, points in arms for point in points]
    by_value.sort(key=lambda each: each[0].value)
    figures = [_figures(point) for point, _ in by_value]
    cells = rows_of_cells(
        [[row[name] for name in figure_keys] for row in figures], [Format()] * len(figure_keys)
    )
    keys = ("n", *figure_keys, "errors", "trusted", *_WORDS)
    if reference:
        against = [
            point.against or (_IS_IT if name == reference else _NOT_THERE)
            for point, name in by_value
        ]
        formats = [Format(1, signed=True)] * 3
        # In percent, of the mean response time, or of the median on a busy machine.
        differences = rows_of_cells(
            [
                change_figures(
                    row.ratio, row.ends, row.why or (row.text if row.baseline is None else _FEW)
                )
                for row in against
            ],
            formats,
        )
        # Beside the arm that they are of, else last.
        words = (*_AGAINST, "word")
        keys = (*words, *keys) if has_arms else (*keys, *words)
    ends = [growth[0] for _, points in arms if (growth := end_of_growth(points))]
    tables = []
    for index, (point, name) in enumerate(by_value):
        words = (
            point_words(field, int(point.value)) if field == INJECTORS else value_text(point.value)
        )
        of_point = _cells(point, cells[index])
        if reference:
            word = text_cell(str(against[index].word or ""), against[index].text)
            beside = (*differences[index], word)
            of_point = (*beside, *of_point) if has_arms else (*of_point, *beside)
        if has_arms:
            of_point = (text_cell(name), *of_point)
        is_end = any(point is end for end in ends)
        kind = ("sweep-end" if is_end else "sweep") if point.is_trusted else "sweep-apart"
        tables.append(Row(words, of_point, kind))
    head = tuple(_OWN_COLUMNS.get(each) or METRICS[each].column() for each in keys)
    if has_arms:
        head = (Column("arm", "arm", is_text=True, is_name=True), *head)
    label = ", ".join(filter(None, [parameter_label(field).lower(), parameter_unit(field)]))
    note = _NOTE.format(
        against=f"Differences and words are against {reference}. " if reference else ""
    )
    return Table(key, title, head, tuple(tables), label, note)


def _cells(point: SweepPoint, own: Sequence[Cell]) -> tuple[Cell, ...]:
    figures = point.figures if point.is_usable else None
    return (
        count_cell(figures and figures.n, NO_RUN),
        *own,
        count_cell(figures and figures.errors, NO_RUN),
        Cell(point.n_trusted, f"{point.n_trusted} of {point.n_runs}", why=point.why),
        *(
            text_cell(state.replace("_", " "), why, _TONES.get(state, ""))
            for state, why in ((point.trust, NO_RUN), (point.target_state, _TARGET_UNKNOWN))
        ),
    )


def _figures(point: SweepPoint) -> dict[str, Figure]:
    names = (*_TIMES, *_RATES, *_DIVIDED, "under_way")
    if point.figures is None or not point.is_usable:
        return dict.fromkeys(names, Figure(None, point.why or NO_RUN))
    rate = point.figures.rate_per_s
    figures = {
        **figures_by_key(point.figures),
        "interval": Figure(1000 / rate if rate else None, "No request succeeded."),
        "under_way": Figure(point.under_way, "No request succeeded."),
        "speed_up": Figure(point.speed_up, point.why or _NO_SPEED_UP),
        "efficiency": Figure(
            None if point.efficiency is None else 100 * point.efficiency, point.why or _NO_SPEED_UP
        ),
        **_ends("mean", point.mean_ends_ms, point),
        **_ends("rate", point.rate_ends, point),
    }
    if point.is_trusted:
        return figures
    return {
        name: Figure(each.value, f"Not trusted: {point.why}", weak=each.value is not None)
        for name, each in figures.items()
    }


def _ends(name: str, ends: tuple[float, float] | None, point: SweepPoint) -> dict[str, Figure]:
    low, high = ends or (None, None)
    why = point.why or _FEW
    return {f"{name}_low": Figure(low, why), f"{name}_high": Figure(high, why)}


def untrusted(arms: Sequence[tuple[str, Sequence[SweepPoint]]]) -> list[tuple[str, str]]:
    """[(value and arm, why it is not trusted)]"""
    return [
        (", ".join(filter(None, [value_text(point.value), name])), point.why)
        for name, points in arms
        for point in points
        if point.why
    ]


_MOST = 4  # arms in the sentence; the tables below have all
_MOST_CLAUSES = 2  # each with a sentence of its own


def sweep_sentence(sweeps: Sequence[SweepAnswer]) -> Sentence:
    """[] where no arm has two trusted points, nor one of a busy machine."""
    has_plans = len({each.plan_label for each in sweeps}) > 1
    curves = [each for each in sweeps if end_of_growth(each.points)]
    # A busy machine hides a part of what an arm can handle, and invents none of it.
    bounds = [each for each in sweeps if each not in curves and _busy_points(each)]
    if not (curves or bounds):
        return []
    rows = [*((_clause, each) for each in curves), *((_bound, each) for each in bounds)]
    clauses = [words(_name(each, has_plans), each) for words, each in rows[:_MOST_CLAUSES]]
    if (more := len(rows) - _MOST_CLAUSES) > 0:
        clauses.append(sentence("sweep_more", sweeps=counted(more, "more sweeps")))
    if bounds:
        clauses.append(sentence("sweep_busy"))
    # What is missing of the other arms.
    names = [_name(each, has_plans) for each in sweeps if each not in [*curves, *bounds]]
    if len(names) > _MOST:
        names = [*names[:_MOST], f"{len(names) - _MOST} more"]
    too_few = sentence("sweep_too_few", arms=and_joined(names)) if names else []
    # From where on no arm has a trusted point.
    points = [point for each in sweeps for point in each.points]
    last = max((point.value for point in points if point.is_trusted), default=inf)
    unknown = []
    if any(point.value > last for point in points):
        unknown = sentence("sweep_unknown", value=point_phrase(sweeps[0].field, last))
    return joined([*clauses, *_against_sentences(sweeps), too_few, unknown])


def _name(sweep: SweepAnswer, has_plans: bool) -> str:
    return ", ".join(filter(None, [sweep.plan_label * has_plans, sweep.name]))


def _busy_points(sweep: SweepAnswer) -> list[SweepPoint]:
    return [p for p in sweep.points if p.is_usable and not p.is_trusted and p.rate_per_s]


def _bound(name: str, sweep: SweepAnswer) -> Sentence:
    best = max(_busy_points(sweep), key=lambda point: point.rate_per_s)
    at, per_s = at_point(sweep.field, best.value), f"{rate(best.rate_per_s)} requests/s"
    return sentence("sweep_at_least", arm=name, rate=per_s, at=at)


def _clause(name: str, sweep: SweepAnswer) -> Sentence:
    point, has_ended = end_of_growth(sweep.points)
    points = [each for each in sweep.points if each.is_trusted and each.rate_per_s]
    first, last, field = points[0], points[-1], sweep.field
    falls_to = f"{rate(last.rate_per_s)} {at_point(field, last.value)}"
    if point is first and _is_lower(last, point):
        begin = f"{rate(first.rate_per_s)} requests/s"
        at = at_point(field, first.value)
        return sentence("sweep_falls", arm=name, first=begin, at=at, last=falls_to)
    if point is first:
        low, high = (point_phrase(field, each.value) for each in (first, last))
        rates = [each.rate_per_s for each in points]
        least, most = rate(min(rates)), rate(max(rates))
        span = f"at {least}" if least == most else f"between {least} and {most}"
        return sentence("sweep_stays", arm=name, rates=f"{span} requests/s", low=low, high=high)
    more = ""
    if field in DIVIDED and point.speed_up:
        fewest = at_point(field, sweep.points[0].value)
        more = f", {number(point.speed_up, 1)} times as much as {fewest}"
    if _is_lower(last, point):
        more += f", and falls to {falls_to}"
    return sentence(
        "sweep_grows" if has_ended else "sweep_still_grows",
        arm=name,
        value=point_phrase(field, point.value),
        at=at_point(field, point.value),
        rate=f"{rate(point.rate_per_s)} requests/s",
        more=more,
    )


def _is_lower(last: SweepPoint, point: SweepPoint) -> bool:
    return last.rate_per_s < PLATEAU * point.rate_per_s


def _against_sentences(sweeps: Sequence[SweepAnswer]) -> Iterator[Sentence]:
    """nginx is faster than apache at 3 of 4 values, by 0.38 to 0.52 ms."""
    for sweep in [each for each in sweeps if each.reference][: _MOST - 1]:
        verdicts = [each.against for each in sweep.points if each.against and each.against.word]
        for word in (Word.FASTER, Word.SLOWER):
            rows = [each for each in verdicts if each.word == word]
            if rows:
                yield sentence(
                    "sweep_against",
                    arm=sweep.name,
                    word=word,
                    reference=sweep.reference,
                    n=len(rows),
                    values=counted(len(verdicts), "values"),
                    gap=gap_words(rows),
                )

"""Sweeps of several arms side by side: a row for each value, the same few figures of each arm; and
what to sweep next. The cells are those of each sweep's own table, which has all figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.analysis.ratio import BOUNDED
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.sweep import at_point, text_of_values, values_words
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.presentation.charts import LineStyle, line_style
from campaigns.domain.presentation.results import SweepAnswer
from campaigns.domain.presentation.sweep_table import end_of_growth
from campaigns.domain.presentation.tables import Cell, Row
from campaigns.domain.units import DASH
from campaigns.models import Campaign, Test
from campaigns.services.blocks import cell_of
from campaigns.views.search_new import OpenQuestion, address_of_search

_MOST_ARMS = 3  # of which each question is asked
_FURTHER = (2, 4)  # times the highest value


def sweep_questions(
    campaign: Campaign, group: Sequence[SweepAnswer], tests: Mapping[int, Test]
) -> list[OpenQuestion]:
    """Of the arms of one finished sweep, for those who may start another campaign. `tests`: by
    their numbers."""
    if campaign.finished_at is None:
        return []
    arms = [
        question
        for sweep in group[:_MOST_ARMS]
        for question in _about_growth(campaign, sweep, _name(sweep, group, tests))
    ]
    return [
        *_about_doubts(campaign, group),
        *arms,
        *_about_rates(tests[group[0].points[0].test_id]),
    ]


def _name(sweep: SweepAnswer, group: Sequence[SweepAnswer], tests: Mapping[int, Test]) -> str:
    """A single arm needs no name beside its target's."""
    if len(group) > 1:
        return sweep.name
    return tests[sweep.points[0].test_id].endpoint.target.name


def _about_doubts(campaign: Campaign, group: Sequence[SweepAnswer]) -> Iterator[OpenQuestion]:
    points = [point for each in group for point in each.points]
    untrusted = sorted({point.value for point in points if point.why})
    if untrusted:
        lower = [point.value for point in points if point.value < untrusted[0]]
        yield OpenQuestion(
            f"What comes at {values_words(untrusted)}?",
            "not all runs there are trusted",
            "Repeat these",
            _again(campaign, [*([max(lower)] if lower else []), *untrusted]),
        )


def _about_growth(campaign: Campaign, sweep: SweepAnswer, name: str) -> Iterator[OpenQuestion]:
    found = end_of_growth(sweep.points)
    if found is None:
        return
    (point, has_ended), points = found, sweep.points
    if has_ended and point.value > points[0].value:
        yield OpenQuestion(
            f"What stops {name}?",
            f"no more growth {at_point(sweep.field, point.value)}; its run says who was busy",
            "See that run",
            reverse("run-detail", args=[point.run_id]),
        )
    elif point is points[-1]:
        further = [point.value, *(point.value * times for times in _FURTHER)]
        yield OpenQuestion(
            f"Where does {name} stop growing?",
            f"still growing {at_point(sweep.field, point.value)}",
            "Sweep on",
            _again(campaign, further),
        )


def _about_rates(test: Test) -> Iterator[OpenQuestion]:
    """A search sends the plan at one rate after another."""
    if test.endpoint.scheme in WEBSOCKET_SCHEMES:
        return
    is_open = test.plan_version.value().load.model == Model.OPEN
    yield OpenQuestion(
        "Which rate keeps an objective?",
        "only between these values" if is_open else "a load that waits for replies cannot tell",
        "How much can it take?",
        address_of_search(cell_of(test)),
    )


def _again(campaign: Campaign, values: Sequence[float]) -> str:
    query = urlencode({"again": campaign.pk, "values": text_of_values(values)})
    return f"{reverse('campaign-new', args=[campaign.project_id])}?{query}"


_KEYS = ("rate", "mean", "p95", "speed_up", "efficiency", "under_way", "trusted")
_AGAINST = ("difference", "difference_low", "difference_high", "word")
_HEADS = {
    "rate": ("throughput", "ok/s"),
    "mean": ("mean", "ms"),
    "p95": ("p95", "ms"),
    "speed_up": ("speed-up", ""),
    "efficiency": ("efficiency", "%"),
    "under_way": ("under way", ""),
    "trusted": ("trusted", "runs"),
}


@dataclass(frozen=True, slots=True)
class ArmCell:
    """A figure of an arm at one value. `interval` is "" without one; `is_end`: growth ends here."""

    cell: Cell
    interval: str = ""
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class ArmAtValue:
    """`cells` are empty where the arm was not measured at this value; `is_apart`: not trusted."""

    cells: list[ArmCell]
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class ArmAgainst:
    """How an arm's mean compares with the reference's at one value: texts, "" where there is none.
    `why`: why there is no word."""

    difference: str = ""
    interval: str = ""
    word: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """`against`: of each arm but the reference."""

    label: str
    arms: list[ArmAtValue]
    against: list[ArmAgainst]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`arms`: [(name, style)]; `relative`: the number of the reference among them, from 1;
    `heads`: [(title, unit)] of each; `compared`: the names of the others; `open_why`: why words are
    missing or open where the points are trusted, each reason once."""

    label_title: str
    arms: list[tuple[str, LineStyle]]
    relative: int
    heads: list[tuple[str, str]]
    compared: list[str]
    rows: list[ValueRow]
    open_why: list[str]

    @property
    def reference(self) -> str:
        return self.arms[self.relative - 1][0]


def side_by_side(sweeps: Sequence[SweepAnswer], *, trusted_only: bool = False) -> SideBySide:
    """`trusted_only`: without what is not trusted, and without values that have nothing else."""
    keys = [
        key
        for key in _KEYS
        if any(key in [column.key for column in sweep.table.columns] for sweep in sweeps)
    ]
    values = sorted({point.value for sweep in sweeps for point in sweep.points})
    by_value = [_rows_by_value(sweep) for sweep in sweeps]
    labels = {value: row.label for rows in by_value for value, row in rows.items()}
    others = [number for number, sweep in enumerate(sweeps) if sweep.reference]
    rows = []
    for value in values:
        found = [each.get(value) for each in by_value]
        if trusted_only:
            found = [row and (None if row.kind == "sweep-apart" else row) for row in found]
        if any(found) or not trusted_only:
            arms = [_at_value(*each, keys) for each in zip(sweeps, found, strict=True)]
            against = [_against(sweeps[n], by_value[n].get(value)) for n in others]
            rows.append(ValueRow(labels[value], arms, against))
    return SideBySide(
        sweeps[0].table.label_title,
        [(sweep.name, line_style(number)) for number, sweep in enumerate(sweeps)],
        next((n for n, sweep in enumerate(sweeps, 1) if not sweep.reference), 1),
        [_HEADS[key] for key in keys],
        [sweeps[n].name for n in others],
        rows,
        _open_why(sweeps),
    )


def _open_why(sweeps: Sequence[SweepAnswer]) -> list[str]:
    told = {point.why for sweep in sweeps for point in sweep.points}
    every = [point.against for sweep in sweeps for point in sweep.points if point.against]
    whys = [each.why for each in every if each.word in {"", *BOUNDED}]
    return [why for why in dict.fromkeys(whys) if why and why not in told]


def _against(sweep: SweepAnswer, row: Row | None) -> ArmAgainst:
    if row is None:
        return ArmAgainst()
    difference, low, high, word = (_cells(sweep, row)[key] for key in _AGAINST)
    if difference.value is None:
        return ArmAgainst(word="no verdict", why=difference.why)
    ends = "" if low.value is None else f"[{low.text}, {high.text}]"
    said = "no verdict" if word.value is None else word.text
    return ArmAgainst(f"{difference.text}\N{NARROW NO-BREAK SPACE}%", ends, said, word.why)


def _cells(sweep: SweepAnswer, row: Row) -> Mapping[str, Cell]:
    names = [column.key for column in sweep.table.columns]
    return dict(zip(names, row.cells, strict=True))


def _rows_by_value(sweep: SweepAnswer) -> Mapping[float, Row]:
    return {point.value: row for point, row in zip(sweep.points, sweep.table.rows, strict=True)}


def _at_value(sweep: SweepAnswer, row: Row | None, keys: Sequence[str]) -> ArmAtValue:
    if row is None:
        return ArmAtValue([])
    cells = _cells(sweep, row)
    is_end = row.kind == "sweep-end"
    return ArmAtValue(
        [
            ArmCell(
                cells[key],
                _interval(cells) if key == "rate" else "",
                is_end=is_end and key == "rate",
            )
            for key in keys
        ],
        is_apart=row.kind == "sweep-apart",
    )


def _interval(cells: Mapping[str, Cell]) -> str:
    ends = [cells[key].text for key in ("rate_low", "rate_high")]
    return "" if DASH in ends else " to ".join(ends)

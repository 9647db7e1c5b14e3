"""What stands first on a campaign's page: a card for each comparison, or a tile for each test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from campaigns.domain.analysis.ratio import BOUNDED, Word
from campaigns.domain.plan.target import counted_in
from campaigns.domain.presentation.charts import Axis, Chart, Charts
from campaigns.domain.presentation.intervals import (
    FACTOR_FROM,
    change_words,
    difference_words,
    ends_words,
)
from campaigns.domain.presentation.results import Answer, OverheadAnswer, TestAnswer
from campaigns.domain.presentation.tables import Cell
from campaigns.domain.units import DASH, THIN, counted, number
from campaigns.views.drawings import RATIOS, RatioAxis, RatioMark, forest_groups
from campaigns.views.load_plots import funnel_charts, funnel_panel

# More comparisons are in the table of ratios alone.
MOST_CARDS = 6
_MOST_TILES = 5
_TICK_GAP = 13.0  # percent; a card is some 420 px wide
_RATIOS_GAP = 16.0  # of half of the page
_ARROWS = dict.fromkeys(BOUNDED, "≤") | {
    Word.SLOWER: "→", Word.FASTER: "←", Word.SAME: "=", Word.OPEN: "?",
}  # fmt: skip
_RATIO = 3  # its cell in a row of overheads


@dataclass(frozen=True, slots=True)
class Card:
    """One comparison. `value` is a figure only where it is settled, else `ends` stands in its
    place. `mark` and `axis` draw its interval, None without one; `at_least`: a part is hidden."""

    title: str
    plan: str
    pill: str
    arrow: str
    is_strong: bool
    is_open: bool
    at_least: bool
    value: str
    unit: str
    times: str
    ends: str
    names: tuple[str, str]
    mark: RatioMark | None = None
    axis: RatioAxis | None = None
    funnel: Charts | None = None


def settling(
    overhead: OverheadAnswer, end_s: float, threshold: float, key: str, title: str = ""
) -> Chart | None:
    """None before the second look."""
    looks = overhead.narrowing
    if len(looks) < 2:
        return None
    in_factors = _in_factors(looks[-1])
    words = _factor_words if in_factors else _share_words
    ends = [look[end] for look in looks for end in ("low", "high")]
    around = [] if in_factors else [1 / (1 + threshold), 1 + threshold]
    low, high = min([*ends, *around]) / 1.03, max([*ends, *around]) * 1.03
    axis = Axis(scale="log", low=low, high=high, ticks=[(t, words(t) or "0") for t in RATIOS])
    names = "" if in_factors else overhead.names[0]
    return funnel_panel(key, title, looks, end_s, axis, names)


def drawn_funnel(overheads: Sequence[OverheadAnswer], threshold: float) -> dict[str, Any]:
    """{"charts": None before the second look, "groups": what narrows}; {} without any."""
    groups = [each for each in overheads if each.narrowing]
    if not groups:
        return {}
    end_s = max(look["seconds"] for each in groups for look in each.narrowing)
    panels = [
        panel
        for n, each in enumerate(groups)
        if (panel := settling(each, end_s, threshold, f"funnel-{n}", each.title))
    ]
    return {"charts": funnel_charts("funnel", panels) if panels else None, "groups": groups}


def cards_of(answer: Answer, threshold: float, limit_s: float | None = None) -> list[Card]:
    """A card for each comparison; none for many, and where there is no answer. `limit_s`: how long
    the arms may take turns, while they do."""
    overheads = answer.overheads
    if answer.has_no_answer or answer.errors.is_everything or len(overheads) > MOST_CARDS:
        return []
    intervals = [_interval(each) for each in overheads]
    axes = {
        in_factors: RatioAxis(
            [[each] for each in intervals if each and _in_factors(each) == in_factors],
            threshold,
            _TICK_GAP,
            _factor_words if in_factors else _share_words,
        )
        for in_factors in (True, False)
    }
    return [
        replace(
            _card(overhead, found, axes[_in_factors(found)] if found else None),
            funnel=funnel_charts(f"funnel-{n}", [panel])
            if limit_s and (panel := settling(overhead, limit_s, threshold, "funnel"))
            else None,
        )
        for n, (overhead, found) in enumerate(zip(overheads, intervals, strict=True))
    ]


def _interval(overhead: OverheadAnswer) -> dict[str, Any] | None:
    return next((each for each in overhead.forest if each["primary"]), None)


def _in_factors(interval: dict[str, Any]) -> bool:
    """As the figure above its axis is told."""
    return interval["ratio"] >= FACTOR_FROM


def _factor_words(ratio: float) -> str:
    return f"{ratio:g}{THIN}×"


def _share_words(ratio: float) -> str:
    change = round(100 * (ratio - 1))
    return f"{number(change, 0, signed=True)}{THIN}%" if change else ""


def _card(
    overhead: OverheadAnswer, interval: dict[str, Any] | None, axis: RatioAxis | None
) -> Card:
    row = overhead.table.rows[0]
    baseline, candidate, *_ = row.cells
    ratio = row.cells[_RATIO].value
    word = Word(overhead.word) if overhead.word else None
    is_strong = word in {Word.SLOWER, Word.FASTER}
    value, unit, ends = "", "", overhead.word_reason
    if interval and overhead.has_size:
        found = interval["ratio"], interval["low"], interval["high"]
        said, ends = "", ends_words(*found)
        if word:
            said, ends = difference_words(word, *found, at_least=overhead.at_least)
        if is_strong:
            value, _, unit = said.removeprefix("at least ").rpartition(" ")
        elif word == Word.SAME:
            value = change_words(ratio)
    elif ratio is not None and not word:
        value = f"about {change_words(ratio)}"
    times = ""
    if ratio is not None:
        where = "on average" if row.kind == "mean" else "at the median"
        times = f"{candidate.text} instead of {baseline.text}{THIN}ms {where}"
    return Card(
        title=overhead.title,
        plan=overhead.plan_label,
        pill=f"{overhead.word[:1].upper()}{overhead.word[1:]}",
        arrow=_ARROWS.get(word, ""),
        is_strong=is_strong,
        is_open=word in {None, Word.OPEN},
        at_least=overhead.at_least and is_strong and bool(value),
        value=value,
        unit=unit,
        times=times,
        ends=ends,
        names=overhead.names,
        mark=axis.mark(interval) if axis else None,
        axis=axis,
    )


def ratios_of(
    overheads: Sequence[OverheadAnswer], threshold: float, *, has_cards: bool
) -> dict[str, Any]:
    """As `forest_groups`, of the rows that have an interval and stand in no card."""
    drawn = forest_groups(overheads, threshold, _RATIOS_GAP)
    groups = []
    for group in drawn["groups"]:
        rows = [
            (row, cells, mark)
            for row, cells, mark in group["rows"]
            if mark and not (has_cards and mark.is_primary)
        ]
        groups += [group | {"rows": rows}] if rows else []
    return {"axis": drawn["axis"], "groups": groups}


# --- tiles ---------------------------------------------------------------------------------------
def tiles_of(answer: Answer) -> list[dict[str, Any]]:
    """A tile for each test, where nothing is compared. None where there is no answer, or nothing
    but failures."""
    if answer.overheads or answer.has_no_answer or answer.errors.is_everything:
        return []
    if len(answer.tests) <= _MOST_TILES:
        return [_test_tile(each) for each in answer.tests]
    slowest = sorted(answer.tests, key=_slowest_first)[: _MOST_TILES - 1]
    more = len(answer.tests) - len(slowest)
    rest = {"title": "And", "note": "", "value": number(more), "unit": "more tests"}
    lines = ["none slower on average, in the tables below"]
    return [*map(_test_tile, slowest), {**rest, "lines": lines}]


def _slowest_first(test: TestAnswer) -> float:
    means_ms = [each for each in test.means_ms if each is not None]
    return -fmean(means_ms) if means_ms else 0.0


def _test_tile(test: TestAnswer) -> dict[str, Any]:
    keys = [column.key for column in test.table.columns]
    pooled = next((row for row in test.table.rows if row.kind == "pooled"), None)
    cells = dict(zip(keys, pooled.cells, strict=True)) if pooled else {}
    shown = next((key for key in ("p95", "p50", "mean") if _has_value(cells, key)), "mean")
    cell = cells[shown] if _has_value(cells, shown) else None
    noun = counted_in([test.scheme])
    lines = [f"{cells['rate'].text} ok {noun}/s"] if _has_value(cells, "rate") else []
    lines += [
        counted(cells[key].value, nouns)
        for key, nouns in (("n", noun), ("errors", "errors"))
        if _has_value(cells, key)
    ]
    return {
        "title": test.label,
        "note": test.plan_label,
        "value": f"{'~' * cell.weak}{cell.text}" if cell else DASH,
        "unit": f"ms, {shown}" if cell else "",
        "lines": lines or ["no usable run"],
    }


def _has_value(cells: dict[str, Cell], key: str) -> bool:
    return key in cells and cells[key].value is not None

"""The tiles of a campaign's page: a figure of each comparison or test, and what belongs to it."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, TypeVar

from campaigns.domain.plan.target import counted_in
from campaigns.domain.shown.intervals import change_ends
from campaigns.domain.shown.results import Answer, OverheadAnswer, TestAnswer
from campaigns.domain.shown.tables import Cell
from campaigns.domain.units import DASH, counted, number

_T = TypeVar("_T")
_MOST_TILES = 5


def tiles_of(answer: Answer) -> list[dict[str, Any]]:
    """A tile per overhead, else per test: a figure and what it is compared with. None where there
    is no answer, or nothing but failures."""
    if answer.has_no_answer or answer.errors.is_everything:
        return []
    if answer.overheads:
        return _at_most(_overhead_tile, answer.overheads, "comparisons")
    if len(answer.tests) > _MOST_TILES:
        slowest = sorted(answer.tests, key=_slowest_first)
        return _at_most(_test_tile, slowest, "tests", "none slower on average, ")
    return [_test_tile(each) for each in answer.tests]


def _at_most(
    tile: Callable[[_T], dict[str, Any]], told: Sequence[_T], nouns: str, order: str = ""
) -> list[dict[str, Any]]:
    """Of the first ones; the last place says how many more there are, and what comes first."""
    if len(told) <= _MOST_TILES:
        return list(map(tile, told))
    shown = list(map(tile, told[: _MOST_TILES - 1]))
    more = len(told) - len(shown)
    rest = {"title": "And", "word": "", "note": "", "value": number(more), "unit": f"more {nouns}"}
    return [*shown, {**rest, "lines": [f"{order}in the tables below"]}]


def _slowest_first(test: TestAnswer) -> float:
    means_ms = [each for each in test.means_ms if each is not None]
    return -fmean(means_ms) if means_ms else 0.0


def _overhead_tile(overhead: OverheadAnswer) -> dict[str, Any]:
    row = overhead.table.rows[0]
    cells = dict(zip([c.key for c in overhead.table.columns], row.cells, strict=True))
    interval = next((each for each in overhead.forest if each["primary"]), None)
    plain, tls = overhead.names
    lines = []
    if interval:
        low, high = change_ends(interval["ratio"], interval["low"], interval["high"])
        lines.append(f"{low} to {high}\u202f%, 95\u202f% interval")
    if _has_value(cells, "difference"):
        lines.append(_difference_line(cells, tls))
    increase = cells["increase"].value
    return {
        "title": overhead.title,
        "note": overhead.plan_label,
        "word": overhead.word,
        "value": DASH if increase is None else number(increase, 1, signed=True),
        "unit": "" if increase is None else f"% vs {plain}",
        "lines": lines or [overhead.word_reason],
    }


def _difference_line(cells: dict[str, Cell], tls: str) -> str:
    """The difference and the part of the TLS time that it is; what takes no longer has no part."""
    difference, share = cells["difference"], cells["share"]
    line = f"{difference.text}\u202fms"
    if difference.value > 0 and _has_value(cells, "share") and share.value > 0:
        line += f", {share.text}\u202f% of {tls} time"
    return line


def _test_tile(test: TestAnswer) -> dict[str, Any]:
    keys = [column.key for column in test.table.columns]
    pooled = next((row for row in test.table.rows if row.kind == "pooled"), None)
    cells = dict(zip(keys, pooled.cells, strict=True)) if pooled else {}
    shown = next((key for key in ("p95", "p50", "mean") if _has_value(cells, key)), "mean")
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
        "word": "",
        "value": cells[shown].text if _has_value(cells, shown) else DASH,
        "unit": f"ms, {shown}" if _has_value(cells, shown) else "",
        "lines": lines or ["no usable run"],
    }


def _has_value(cells: dict[str, Cell], key: str) -> bool:
    return key in cells and cells[key].value is not None

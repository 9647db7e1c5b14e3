"""The rows of the overview of histories: what moved first, then the rest."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.shown.history_words import (
    Standing,
    day,
    expected_words,
    standing_of,
    why_not_counted,
)
from campaigns.domain.units import DASH, figure, percent
from campaigns.queries.history import HistoryKey, NamedHistory
from campaigns.views.history_sparks import spark_of
from campaigns.views.history_tables import against_cell

_ORDER = {standing: place for place, standing in enumerate(Standing)}
_MOVED = {Standing.SLOWER, Standing.FASTER, Standing.MOVED}
_GLYPHS = {
    Standing.SLOWER: "warn",
    Standing.FASTER: "good",
    Standing.MOVED: "info",
    Standing.ODD: "draft",
    Standing.UNCOUNTED: "not_usable",
    Standing.NEW: "queued",
    Standing.UNCHANGED: "dash",
}


def in_order(
    found: Iterable[NamedHistory], is_quiet: Callable[[HistoryKey, TestHistory], bool]
) -> list[tuple[Standing, NamedHistory]]:
    """By standing, the largest difference first. With a quiet last change a test is unchanged."""
    pairs = []
    for named in found:
        standing = standing_of(named.history)
        if standing in _MOVED and is_quiet(named.key, named.history):
            standing = Standing.UNCHANGED
        pairs.append((standing, named))
    return sorted(pairs, key=lambda pair: (_ORDER[pair[0]], -_moved(pair[1]), pair[1].plan.name))


def counts_of(pairs: Iterable[tuple[Standing, NamedHistory]]) -> Counter[Standing]:
    return Counter(standing for standing, _ in pairs)


def _moved(named: NamedHistory) -> float:
    change = named.history.last_change
    return abs(change.ratio - 1) if change else abs(_against_level(named) or 0.0)


def _against_level(named: NamedHistory) -> float | None:
    """The newest value over what was expected, minus 1."""
    expected, newest = named.history.course.expected, named.history.newest
    if expected is None or not newest.is_counted:
        return None
    return newest.value_us / expected.level - 1


def row_of(standing: Standing, named: NamedHistory) -> dict[str, Any]:
    history, change = named.history, named.history.last_change
    newest, expected = history.newest, history.course.expected
    has_moved = standing in _MOVED
    return {
        "named": named,
        "standing": standing,
        "glyph": _GLYPHS[standing],
        "since": day(history.points[change.index].at) if has_moved else "",
        "change": percent(change.ratio - 1, decimals=1, signed=True) if has_moved else "",
        "newest": figure(newest.value_us / 1000) if newest.is_counted else DASH,
        "expected": expected_words(expected) if expected else DASH,
        "against_level": percent(_against_level(named), decimals=1, signed=True),
        **against_cell(newest.against),
        "baseline": newest.against.baseline if newest.against else "",
        "is_outside": bool(expected and newest.is_counted and history.is_odd),
        "why": why_not_counted(newest),
        "at": newest.at,
        "spark": spark_of(history),
    }


def rows_of(pairs: Sequence[tuple[Standing, NamedHistory]]) -> list[dict[str, Any]]:
    return [row_of(*pair) for pair in pairs]

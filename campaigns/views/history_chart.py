"""What a history's page shows of points and changes: rows of tables, and columns for its chart.

The chart draws the numbers and shows the texts; campaigns are evenly spaced, numbered from 0.
"""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from campaigns.domain.judged.changes import Change
from campaigns.domain.judged.histories import CampaignPoint, TestHistory
from campaigns.domain.shown.history_words import (
    change_words,
    day,
    evidence,
    why_not_counted,
    word_of,
)
from campaigns.domain.shown.sentences import plain_text
from campaigns.domain.units import DASH, count, decimals_for, number, percent

_PERCENTILES = ("p50", "p95", "p99")


def others_than(metric: str) -> list[str]:
    """The percentiles beside the metric."""
    return [name for name in _PERCENTILES if name != metric]


def rows_of_points(points: Sequence[CampaignPoint], metric: str = "") -> list[dict[str, Any]]:
    """The table's rows: times in ms, each column with the same decimals."""
    keys = ("p50_us", "p95_us", "p99_us", "value_us")
    texts = {key: _column([getattr(point, key) for point in points]) for key in keys}
    places = _decimals([point.value_us for point in points])
    return [
        {
            "point": point,
            "interval": _interval(point, places),
            "errors": percent(point.error_share),
            "requests": count(point.n),
            "why": why_not_counted(point),
            "trust": point.trust.replace("_", " "),
            "others": [texts[f"{name}_us"][index] for name in others_than(metric)],
            **{key.removesuffix("_us"): texts[key][index] for key in keys},
        }
        for index, point in enumerate(points)
    ]


def _column(values_us: Sequence[float | None]) -> list[str]:
    places = _decimals(values_us)
    return [number(_ms(value), places) for value in values_us]


def _decimals(values_us: Sequence[float | None]) -> int:
    return decimals_for([_ms(value) for value in values_us])


def _interval(point: CampaignPoint, places: int) -> str:
    ends = point.interval_us
    return "" if ends is None else f"[{', '.join(number(each / 1000, places) for each in ends)}]"


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else value_us / 1000


def rows_of_changes(history: TestHistory) -> list[dict[str, Any]]:
    """Newest first."""
    return [
        {
            "sentence": change_words(history, change),
            "evidence": evidence(change),
            "word": word_of(history, change),
            "campaign": history.points[change.index].campaign,
        }
        for change in reversed(history.course.changes)
    ]


def chart_of(history: TestHistory, scheme: str) -> dict[str, Any]:
    points = history.points
    rows, numbers = rows_of_points(points), [_numbers(point) for point in points]
    return {
        "scheme": scheme,
        "at": [day(point.at) for point in points],
        "links": [reverse("campaign-detail", args=[point.campaign]) for point in points],
        **{key: [row[key] for row in numbers] for key in _NUMBERS},
        "isOdd": sorted(history.course.odd),
        "valueText": [_value_text(row) for row in rows],
        "percentilesText": [
            "  ".join(f"{name} {row[name]}" for name in _PERCENTILES) for row in rows
        ],
        "errorsText": [row["errors"] for row in rows],
        "changes": [_change(history, change) for change in history.course.changes],
        "levels": _levels(history),
        "marks": [
            {"index": mark.index, "text": ", ".join(name for name, *_ in mark.differences)}
            for mark in history.marks
        ],
    }


_NUMBERS = ("value", "low", "high", "aside", "p50", "p95", "p99", "errors")


def _numbers(point: CampaignPoint) -> dict[str, float | None]:
    """In ms and percent, to four digits: finer than a pixel."""
    low, high = point.interval_us or (None, None)
    times = {
        "value": point.value_us,
        "low": low,
        "high": high,
        "aside": None if point.is_counted else point.aside_us,
        "p50": point.p50_us,
        "p95": point.p95_us,
        "p99": point.p99_us,
    }
    share = point.error_share
    return {
        **{key: None if each is None else round(each / 1000, 4) for key, each in times.items()},
        "errors": None if share is None else round(share * 100, 4),
    }


def _value_text(row: dict[str, Any]) -> str:
    if row["why"]:
        return f"{DASH}  does not count: {row['why']}"
    return f"{row['value']} {row['interval']}".strip()


def _change(history: TestHistory, change: Change) -> dict[str, Any]:
    size = percent(change.ratio - 1, decimals=1, signed=True)
    return {
        "index": change.index,
        "from": history.before(change),
        "to": change.latest,
        "text": size,
        "word": str(word_of(history, change) or ""),
        "sentence": plain_text(change_words(history, change)),
    }


def _levels(history: TestHistory) -> list[dict[str, float]]:
    """Where each level is drawn: from its first campaign to the last one before the next."""
    changes, last = history.course.changes, len(history.points) - 1
    if not changes:
        return []
    edges = [0, *(change.index for change in changes), last + 1]
    heights = [changes[0].before, *(change.after for change in changes)]
    return [
        {"from": first, "to": end - 1, "value": round(height / 1000, 4)}
        for first, end, height in zip(edges, edges[1:], heights, strict=False)
    ]

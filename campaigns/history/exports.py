"""Histories as CSV: a row for each campaign of a test, or for each test. Times in µs. Triage as
CSV: a row for each change of a test, with what people said of its entry."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from campaigns.core.tables import csv_of_rows
from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import CampaignPoint, TestHistory
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.presentation.history_words import (
    direction_of,
    standing_of,
    why_not_counted,
    words_of_causes,
)
from campaigns.history.queries.history import HistorySeries
from campaigns.models import TriageChange, TriageEntry

_AGAINST = ("baseline", "against_word", "against", "against_low", "against_high")
_POINT = (
    *("campaign_id", "campaign", "test_id", "started_at", "plan_version", "runs", "value_us"),
    *("low_us", "high_us", "p50_us", "p95_us", "p99_us"),
    *("mean_low_us", "p50_low_us", "p95_low_us", "p99_low_us"),
    *("requests", "errors", "measurement"),
    *(
        "target_state",
        "why_not_counted",
        "outlier",
        "change",
        "change_low",
        "change_high",
        "p_value",
    ),
    *("direction", "causes", "reference_change", "marks"),
    *_AGAINST,
)
_TEST = (
    *("test_id", "plan", "target", "endpoint", "connection_mode", "injectors", "standing"),
    *("campaigns", "started_at", "value_us", "low_us", "high_us", "expected_low_us"),
    *("expected_high_us", "since", "change", "change_low", "change_high", "p_value"),
    *("direction", "causes", "reference_change", "is_reference"),
    *_AGAINST,
)


# Columns that a point has by the same name.
_ALIKE = ("plan_version", "value_us", "errors", "target_state")


def csv_of_history(series: HistorySeries) -> str:
    """A row for each campaign; one where a new level begins has the change's size and interval.
    `marks`: those since the campaign before. `…_low_us` are lower ends of what was measured."""
    course, times = series.history.course, [point.at for point in series.history.points]
    marks: dict[int, list[str]] = {}
    for mark in series.marks:
        marks.setdefault(bisect_left(times, mark.at), []).append(mark.text)
    changes = {change.index: _change(series.history, change) for change in course.changes}
    rows = (
        {
            **_point(point),
            "outlier": "yes" if index in course.outliers else "",
            **changes.get(index, {}),
            "marks": "; ".join(marks.get(index, ())),
        }
        for index, point in enumerate(series.history.points)
    )
    return csv_of_rows(_POINT, rows)


def csv_of_histories(histories: Iterable[HistorySeries]) -> str:
    """A row for each test: its newest campaign, and the change that led to its level."""
    return csv_of_rows(_TEST, (_test(series) for series in histories))


def _point(point: CampaignPoint) -> dict[str, Any]:
    low, high = point.interval_us or (None, None)
    return {
        "campaign_id": point.campaign,
        "campaign": point.campaign_name,
        "test_id": point.test,
        "started_at": point.at.isoformat(),
        "runs": point.k,
        "low_us": low,
        "high_us": high,
        **{name: getattr(point, name) for name in _ALIKE},
        **{f"{name}_us": ends.high for name, ends in point.ends_us.items()},
        **{f"{name}_low_us": ends.low for name, ends in point.ends_us.items()},
        "requests": point.n,
        "measurement": point.trust,
        "why_not_counted": why_not_counted(point),
        **_against(point.against),
    }


def _against(against: Against | None) -> dict[str, Any]:
    if against is None:
        return {}
    values = {"against": against.ratio, "against_low": against.low, "against_high": against.high}
    return {
        "baseline": against.baseline,
        "against_word": against.word,
        **{name: None if each is None else each - 1 for name, each in values.items()},
    }


def _change(history: TestHistory, change: Change) -> dict[str, Any]:
    reference = history.moved_beside(change)
    return {
        **_size(change),
        "direction": str(direction_of(change)),
        "causes": words_of_causes(history.causes(change)),
        "reference_change": reference and reference.ratio - 1,
    }


def _size(change: Change | TriageChange) -> dict[str, Any]:
    return {
        "change": change.ratio - 1,
        "change_low": change.low - 1,
        "change_high": change.high - 1,
        "p_value": change.p_value,
    }


def _test(series: HistorySeries) -> dict[str, Any]:
    history, change = series.history, series.history.last_change
    expected = history.course.expected
    return {
        **_point(history.newest),
        "plan": series.plan.name,
        "target": series.endpoint.target.name,
        "endpoint": series.endpoint.origin,
        "connection_mode": series.key.connection_mode,
        "injectors": series.key.injectors,
        "standing": str(standing_of(history)),
        "campaigns": history.n_counted,
        "expected_low_us": expected and expected.low,
        "expected_high_us": expected and expected.high,
        "since": change and history.points[change.index].at.isoformat(),
        "is_reference": "yes" if series.is_of_reference else "",
        **(_change(history, change) if change else {}),
    }


_COLUMNS = (
    *("entry", "target", "plan", "endpoint", "connection_mode", "injectors", "since"),
    *("since_campaign", "began_after", "began_until", "before_us", "after_us", "change"),
    *("change_low", "change_high", "p_value", "causes", "reference_change"),
    *("acknowledged_by", "acknowledged_at", "note", "link"),
)
_OF_CHANGE = ("connection_mode", "injectors", "before_us", "after_us")


def csv_of_triage(entries: Iterable[TriageEntry]) -> str:
    rows = (_row(entry, change) for entry in entries for change in entry.changes.all())
    return csv_of_rows(_COLUMNS, rows)


def _row(entry: TriageEntry, change: TriageChange) -> dict[str, Any]:
    return {
        "entry": entry.pk,
        "target": entry.target.name,
        "plan": change.plan.name,
        "endpoint": change.endpoint.origin,
        "since": change.since_at.isoformat(),
        "since_campaign": change.since_id,
        "began_after": change.after_at.isoformat(),
        "began_until": change.until_at.isoformat(),
        **{name: getattr(change, name) for name in _OF_CHANGE},
        **_size(change),
        "causes": words_of_causes(change.causes),
        "reference_change": change.reference_ratio and change.reference_ratio - 1,
        "acknowledged_by": entry.acknowledged_by and entry.acknowledged_by.username,
        "acknowledged_at": entry.acknowledged_at and entry.acknowledged_at.isoformat(),
        "note": entry.note,
        "link": entry.link,
    }

"""The charts of histories. A mark is a campaign or, of a long history, a week of older ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from campaigns.compare.queries.columns import utc_day
from campaigns.core.drawings import round_up
from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import PLAN_VERSION, CampaignPoint, TestHistory, mean_of
from campaigns.domain.lifecycle import TargetState
from campaigns.domain.presentation.charts import (
    CROSS,
    DOUBT,
    OUTLIER,
    Axis,
    Band,
    Chart,
    Charts,
    ChartTable,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
)
from campaigns.domain.presentation.history_words import day, word_of
from campaigns.domain.units import DASH, change_size, counted, ends_ms, percent
from campaigns.history.queries.history import HistorySeries
from campaigns.history.views.history_rows import PERCENTILES, rows_of_points

_MOST_SINGLE, _NEWEST_SINGLE = 120, 60
_SOUND = {"", TargetState.HEALTHY}

Group = tuple[int, int]  # the indices of the first point and of the one after the last


def history_charts(
    series: HistorySeries,
    metric: str,
    title: str,
    reference: HistorySeries | None = None,
    reference_words: str = "",
) -> Charts | None:
    """`title`: the metric in words; `reference_words`: what became of the reference. None without a
    point."""
    history = series.history
    points, groups = history.points, folded(history.points)
    if not points:
        return None
    rows = iter(rows_of_points([points[a] for a, b in groups if b - a == 1], metric))
    marks = [
        _week(points[a:b], metric) if b - a > 1 else _campaign(points[a], next(rows))
        for a, b in groups
    ]
    outliers = {
        at for at, (a, b) in enumerate(groups) if b - a == 1 and a in history.course.outliers
    }
    times = [mark["time"] for mark in marks]
    changes = [_change(history, change, groups) for change in history.course.changes]
    deploys = [Mark(at=_seconds(mark.at), label=mark.text, lane="deploys") for mark in series.marks]
    plans = _changes_of(series.history, is_plan=True)
    environments = _changes_of(series.history, is_plan=False)
    lanes = [
        *deploys,
        *(Mark(at=at, label=text, lane="plan", dash=(5, 3)) for at, text in plans),
        *(Mark(at=at, label=text, lane="environment", dash=(1, 3)) for at, text in environments),
    ]
    lines = [*(change["mark"] for change in changes), *lanes]
    bands = [change["band"] for change in changes]
    ground = {"bands": bands, "marks": [replace(mark, label="") for mark in lines]}
    panels = [
        _value_panel(series, title, marks, outliers, {"bands": bands, "marks": lines}),
        _percentile_panel(series.endpoint.scheme, marks, ground),
        _errors_panel(marks, ground),
    ]
    if reference:
        panels.append(_reference_panel(reference, series, title, reference_words, marks, ground))
    return Charts(
        "history",
        "History",
        keys_words="with Shift change by change; Enter opens the campaign",
        panels=panels,
        places=Places(
            x=times,
            at=[mark["at"] for mark in marks],
            links=[mark["link"] for mark in marks],
            stops=[times[change["index"]] for change in changes],
            asks=("since", "until"),
            ranges=[mark["days"] for mark in marks],
        ),
        table=ChartTable(
            ["Campaigns", f"{title}, ms", "p50, ms", "p95, ms", "p99, ms", "Errors"],
            [[mark[key] for key in _TEXTS] for mark in reversed(marks)],
        ),
    )


def value_chart(series: HistorySeries, metric: str, title: str) -> Charts:
    """Only its metric, on a page of other things. `title`: the metric in words."""
    url = f"{reverse('history-test', args=[series.newest_test])}?{urlencode({'metric': metric})}"
    charts = history_charts(series, metric, title)
    value = replace(
        charts.panels[0],
        title=f"{series.plan.name}, {series.arm_label}: {title}",
        link=(url, "History"),
    )
    # A range of it would ask for another view of the history, and that is another page.
    places = replace(charts.places, asks=(), ranges=())
    return replace(charts, panels=[value], places=places)


_TEXTS = ("at", "valueText", "p50Text", "p95Text", "p99Text", "errorsText")
_FIGURES = "The figures are in the table of campaigns."
_LEVEL = LineStyle("ink")
_LEAST_ERRORS = 0.5  # percent at the top of their axis: a few in a million fill no panel
_LINES = (("p99", 2.2, ()), ("p95", 1.6, (7, 3)), ("p50", 1.5, ()))
_Marks = Sequence[dict[str, Any]]
_DATES = Axis(scale="date", title="Campaigns")


def _value_panel(
    test: HistorySeries, metric: str, marks: _Marks, outliers: set[int], ground: dict[str, Any]
) -> Chart:
    scheme = test.endpoint.scheme
    style = LineStyle(scheme, is_hollow=scheme in {"http", "ws"})
    usual = [(m["time"], m["value"]) for at, m in enumerate(marks) if at not in outliers]
    radius = max(1.5, min(3.5, 140 / len(marks)))
    series = [
        *_levels(test.history),
        _whiskers(marks, LineStyle("ink-3")),
        Series(look="dots", style=style, radius=radius, **columns("x y", usual)),
    ]
    if outliers:
        some = columns("x y", ((marks[at]["time"], marks[at]["value"]) for at in sorted(outliers)))
        series.append(Series(look="dots", style=OUTLIER, radius=radius, **some))
    aside = [mark["time"] for mark in marks if mark["isAside"]]
    if aside:  # what does not count has no place on the axis
        series.append(_feet(CROSS, aside))
    return Chart(
        "value",
        f"{metric} response time",
        "ms",
        f"The {metric} of every campaign with its interval. {_FIGURES}",
        x=_DATES,
        y=Axis(around=True),
        series=series,
        reads=[mark["valueText"] for mark in marks],
        keys=[
            (_LEVEL, "level"),
            *([(OUTLIER, "outlier")] if outliers else []),
            *([(CROSS, "does not count")] if aside else []),
        ],
        **ground,
    )


def _whiskers(marks: _Marks, style: LineStyle, radius: float = 0) -> Series:
    rows = ((mark["time"], mark["value"], mark["low"], mark["high"]) for mark in marks)
    return Series(look="dots", style=style, radius=radius, **columns("x y low high", rows))


def _feet(style: LineStyle, times: Sequence[int]) -> Series:
    """Marks at the foot of a panel."""
    return Series(look="foot", style=style, radius=4, x=times, y=[0.0] * len(times))


def _percentile_panel(scheme: str, marks: _Marks, ground: dict[str, Any]) -> Chart:
    times = [mark["time"] for mark in marks]
    return Chart(
        "percentiles",
        "Percentiles",
        "ms, from 0",
        f"p50, p95 and p99 of every campaign. {_FIGURES}",
        size="low",
        x=_DATES,
        series=[
            Series(
                name=name,
                style=LineStyle(f"{scheme}-{name}", dash),
                width=width,
                x=times,
                y=[mark[name] for mark in marks],
                end=name,
            )
            for name, width, dash in _LINES
        ],
        reads=["  ".join(f"{p} {mark[f'{p}Text']}" for p in PERCENTILES) for mark in marks],
        **ground,
    )


def _errors_panel(marks: _Marks, ground: dict[str, Any]) -> Chart:
    """A triangle at the foot: the target was not healthy."""
    times = [mark["time"] for mark in marks]
    errors = [mark["errors"] for mark in marks]
    thick = max(1.0, min(12.0, 600 / len(marks)))
    unsound = [mark["time"] for mark in marks if not mark["isSound"]]
    return Chart(
        "errors",
        "Errors",
        "% of requests",
        f"The share of failed requests in every campaign. {_FIGURES}",
        size="errors",
        x=_DATES,
        y=Axis(low=0, high=round_up(max(_LEAST_ERRORS, *(1.05 * (e or 0) for e in errors)))),
        series=[
            *([_feet(DOUBT, unsound)] if unsound else []),
            Series(look="bars", style=LineStyle("bad"), x=times, y=errors, thick=thick),
        ],
        reads=[mark["errorsText"] for mark in marks],
        keys=[(DOUBT, "target not healthy")] if unsound else [],
        **ground,
    )


def _reference_panel(
    reference: HistorySeries,
    own_series: HistorySeries,
    metric: str,
    words: str,
    marks: _Marks,
    ground: dict[str, Any],
) -> Chart:
    """On the same range in percent as the test's own axis. It has campaigns of its own, of which
    each place reads the nearest."""
    points = reference.history.points
    spans = [_span(points[first:end]) for first, end in folded(points)]
    own = [mark["value"] for mark in marks]
    share = _level_now(reference, [span["value"] for span in spans]) / (
        _level_now(own_series, own) or 1.0
    )

    def reading(time: int) -> str:
        near = min(spans, key=lambda span: abs(span["time"] - time))
        return f"{near['at']}: {_value_words(near)}"

    where = f"{reference.plan.name}, {reference.arm_label}"
    on = f"on {reference.endpoint.target.name}"
    return Chart(
        "reference",
        "Reference",
        f"{metric} in ms, the same range in % as above; {on}: {words}",
        f"The {metric} of the reference, which shows whether the machine moved.",
        link=(reverse("history-test", args=[reference.newest_test]), where),
        size="errors",
        x=_DATES,
        y=Axis(like=share or 1.0),
        series=[*_levels(reference.history), _whiskers(spans, LineStyle("ink-2"), radius=2.5)],
        reads=[reading(mark["time"]) for mark in marks],
        **ground,
    )


def _level_now(series: HistorySeries, values: Sequence[float | None]) -> float:
    """The newest level; without changes the median."""
    changes = series.history.course.changes
    if changes:
        return changes[-1].after / 1000
    numbers = [value for value in values if value is not None]
    return median(numbers) if numbers else 0.0


def folded(points: Sequence[CampaignPoint]) -> list[Group]:
    """Each campaign; of a long history the older ones week by week."""
    n = len(points)
    if n <= _MOST_SINGLE:
        return [(index, index + 1) for index in range(n)]
    older = n - _NEWEST_SINGLE
    weeks = groupby(range(older), key=lambda index: points[index].at.isocalendar()[:2])
    spans = [list(indices) for _, indices in weeks]
    return [(span[0], span[-1] + 1) for span in spans] + [(at, at + 1) for at in range(older, n)]


def _campaign(point: CampaignPoint, row: dict[str, Any]) -> dict[str, Any]:
    share, is_unsound = point.error_share, point.target_state not in _SOUND
    return {
        **_span([point]),
        "link": reverse("campaign-detail", args=[point.campaign]),
        "isAside": not point.is_counted,
        "isSound": not is_unsound,
        **_percentiles([point]),
        "errors": None if share is None else round(share * 100, 4),
        "valueText": f"{DASH}  does not count: {row['why']}"
        if row["why"]
        else f"{row['value']} {row['interval']}".strip(),
        "errorsText": row["errors"] + (f"  target {point.target_state}" if is_unsound else ""),
    }


def _week(points: Sequence[CampaignPoint], metric: str) -> dict[str, Any]:
    """A mark at the mean of its campaigns, from the smallest to the largest value."""
    span = _span(points)
    share = mean_of([each for point in points if (each := point.error_share) is not None])
    unsound = [point for point in points if point.target_state not in _SOUND]
    since, until = span["days"]
    return {
        **span,
        "link": "?" + urlencode({"since": since, "until": until, "metric": metric}),
        "isAside": span["value"] is None,
        "isSound": not unsound,
        **_percentiles(points),
        "errors": None if share is None else round(share * 100, 4),
        "valueText": f"{_value_words(span)}, {counted(len(points), 'campaigns')}",
        "errorsText": percent(share)
        + (f"  target not healthy in {counted(len(unsound), 'campaigns')}" if unsound else ""),
    }


def _percentiles(points: Sequence[CampaignPoint]) -> dict[str, Any]:
    """By name their mean, and by p95Text with its lower end."""
    figures = {}
    for name in PERCENTILES:
        ends = [point.ends_us[name] for point in points if name in point.ends_us]
        high_us = mean_of([each.high for each in ends])
        low_us = mean_of([each.high if each.low is None else each.low for each in ends])
        figures |= {name: _ms(high_us), f"{name}Text": ends_ms(low_us, high_us)}
    return figures


def _span(points: Sequence[CampaignPoint]) -> dict[str, Any]:
    """When these campaigns were and what they had: of one its interval, of several the smallest and
    the largest."""
    first, last = points[0].at, points[-1].at
    values = [point.value_us for point in points if point.is_counted]
    if len(points) == 1:
        low, high = points[0].interval_us or (None, None)
    else:
        low, high = min(values, default=None), max(values, default=None)
    return {
        "time": _seconds(first + (last - first) / 2),
        "at": f"{day(first)} to {day(last)}" if day(first) != day(last) else day(first),
        "days": (str(utc_day(first)), str(utc_day(last))),
        "value": _ms(mean_of(values)),
        "low": _ms(low),
        "high": _ms(high),
    }


def _value_words(span: dict[str, Any]) -> str:
    if span["low"] is None:
        return _text(span["value"])
    return f"{_text(span['value'])} [{_text(span['low'])}, {_text(span['high'])}]"


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _ms(value_us: float | None) -> float | None:
    """To four digits: finer than a pixel."""
    return None if value_us is None else round(value_us / 1000, 4)


def _text(value_ms: float | None) -> str:
    return DASH if value_ms is None else f"{value_ms:.3g}"


def _change(history: TestHistory, change: Change, groups: Sequence[Group]) -> dict[str, Any]:
    """{"index": of its mark, "mark", "band": in which it lies}"""
    points = history.points
    return {
        "index": next(at for at, (_, end) in enumerate(groups) if change.index < end),
        "mark": Mark(
            at=_between(points, change.index),
            label=change_size(change.ratio),
            colour="warn" if word_of(history, change) else "ink-3",
            dash=(5, 3),
        ),
        "band": Band(
            low=_seconds(points[history.before(change)].at), high=_seconds(points[change.latest].at)
        ),
    }


def _between(points: Sequence[CampaignPoint], index: int) -> int:
    """Half-way from the campaign before."""
    at, before = points[index].at, points[index - 1].at if index else points[index].at
    return _seconds(before + (at - before) / 2)


def _levels(history: TestHistory) -> list[Series]:
    """Each level from one change to the next."""
    points, changes = history.points, history.course.changes
    if not changes:
        return []
    edges = [_seconds(points[0].at), *(_between(points, change.index) for change in changes)]
    edges.append(_seconds(points[-1].at))
    heights = [changes[0].before, *(change.after for change in changes)]
    return [
        Series(style=_LEVEL, width=1.4, x=[first, end], y=[height / 1000, height / 1000])
        for first, end, height in zip(edges, edges[1:], heights, strict=False)
    ]


def _changes_of(history: TestHistory, *, is_plan: bool) -> Iterator[tuple[int, str]]:
    for mark in history.marks:
        facts = {name: after for name, _, after in mark.differences}
        version = facts.pop(PLAN_VERSION, "")
        text = version if is_plan else ", ".join(facts)
        if text:
            yield _between(history.points, mark.index), text

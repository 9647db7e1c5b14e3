"""The charts of a test's history. A mark is a campaign."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import median
from typing import Any

from django.urls import reverse

from campaigns.compare.queries.columns import utc_day
from campaigns.core.drawings import round_up
from campaigns.domain.analysis.histories import PLAN_VERSION, CampaignPoint, TestHistory
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
from campaigns.domain.units import DASH, ends_ms, percent
from campaigns.history.queries.history import HistorySeries
from campaigns.history.views.history_rows import PERCENTILES, rows_of_points

_SOUND = {"", TargetState.HEALTHY}
_FIGURES = "The figures are in the table of campaigns."
_LEVEL = LineStyle("ink")
_LEAST_ERRORS = 0.5  # percent at the top of their axis: a few in a million fill no panel
_LINES = (("p99", 2.2, ()), ("p95", 1.6, (7, 3)), ("p50", 1.5, ()))
_DATES = Axis(scale="date", title="Campaigns")


def history_charts(named: HistorySeries, metric: str, title: str, compared: str) -> Charts | None:
    """`title`: the metric in words; `compared`: what became of the reference. None without a
    point."""
    history, points = named.history, named.history.points
    if not points:
        return None
    rows = rows_of_points(points, metric)
    values = [
        f"{DASH}  does not count: {row['why']}"
        if row["why"]
        else f"{row['value']} {row['interval']}".strip()
        for row in rows
    ]
    errors = [f"{row['errors']}{_state_text(row['point'])}" for row in rows]
    percentiles = [[_ends_text(point, name) for name in PERCENTILES] for point in points]
    changes = [
        Mark(
            at=_before(points, change.index),
            label=percent(change.ratio - 1, decimals=1, signed=True),
            colour="warn" if word_of(history, change) else "ink-3",
            dash=(5, 3),
        )
        for change in history.course.changes
    ]
    lines = [*changes, *_lanes(named)]
    ranges = [history.range_of(change) for change in history.course.changes]
    bands = [Band(low=_seconds(first), high=_seconds(last)) for first, last in ranges]
    ground = {"bands": bands, "marks": [replace(mark, label="") for mark in lines]}
    panels = [
        _value_panel(named, title, values, {"bands": bands, "marks": lines}),
        _percentile_panel(named, percentiles, ground),
        _errors_panel(points, errors, ground),
    ]
    if named.reference:
        panels.append(_reference_panel(named, title, compared, ground))
    times, at = [_seconds(point.at) for point in points], [day(point.at) for point in points]
    figures = zip(at, values, percentiles, errors, strict=True)
    return Charts(
        "history",
        "History",
        keys_words="with Shift change by change; Enter opens the campaign",
        panels=panels,
        places=Places(
            x=times,
            at=at,
            links=[reverse("campaign-detail", args=[point.campaign]) for point in points],
            stops=[times[change.index] for change in history.course.changes],
            asks=("since", "until"),
            ranges=[[str(utc_day(point.at))] * 2 for point in points],
        ),
        table=ChartTable(
            ["Campaigns", f"{title}, ms", "p50, ms", "p95, ms", "p99, ms", "Errors"],
            [[when, value, *some, failed] for when, value, some, failed in figures][::-1],
        ),
    )


def _lanes(named: HistorySeries) -> list[Mark]:
    """What was deployed or changed, each kind in a row of its own above the chart."""
    lanes = [Mark(at=_seconds(mark.at), label=mark.text, lane="deploys") for mark in named.marks]
    for changed in named.history.marks:
        facts = {name: after for name, _, after in changed.differences}
        plan, environment = facts.pop(PLAN_VERSION, ""), ", ".join(facts)
        for lane, text, dash in (("plan", plan, (5, 3)), ("environment", environment, (1, 3))):
            if text:
                at = _before(named.history.points, changed.index)
                lanes.append(Mark(at=at, label=text, lane=lane, dash=dash))
    return lanes


def _value_panel(
    named: HistorySeries, metric: str, texts: Sequence[str], ground: dict[str, Any]
) -> Chart:
    points, scheme = named.history.points, named.endpoint.scheme
    style = LineStyle(scheme, is_hollow=scheme in {"http", "ws"})
    radius = max(1.5, min(3.5, 140 / len(points)))
    places = [(_seconds(point.at), _ms(point.value_us)) for point in points]
    outliers = sorted(named.history.course.outliers)
    usual = columns("x y", [places[at] for at in range(len(places)) if at not in outliers])
    series = [
        *_levels(named.history),
        _whiskers(points, LineStyle("ink-3")),
        Series(look="dots", style=style, radius=radius, **usual),
    ]
    keys = [(_LEVEL, "level")]
    if outliers:
        some = columns("x y", [places[at] for at in outliers])
        series.append(Series(look="dots", style=OUTLIER, radius=radius, **some))
        keys.append((OUTLIER, "outlier"))
    if aside := [_seconds(point.at) for point in points if not point.is_counted]:
        series.append(_feet(CROSS, aside))  # what does not count has no place on the axis
        keys.append((CROSS, "does not count"))
    return Chart(
        "value",
        f"{metric} response time",
        "ms",
        f"The {metric} of every campaign with its interval. {_FIGURES}",
        x=_DATES,
        y=Axis(around=True),
        series=series,
        reads=texts,
        keys=keys,
        **ground,
    )


def _whiskers(points: Sequence[CampaignPoint], style: LineStyle, radius: float = 0) -> Series:
    rows = (
        (_seconds(point.at), *map(_ms, (point.value_us, *(point.interval_us or (None, None)))))
        for point in points
    )
    return Series(look="dots", style=style, radius=radius, **columns("x y low high", rows))


def _feet(style: LineStyle, times: Sequence[int]) -> Series:
    """Marks at the foot of a panel."""
    return Series(look="foot", style=style, radius=4, x=times, y=[0.0] * len(times))


def _percentile_panel(
    named: HistorySeries, texts: Sequence[Sequence[str]], ground: dict[str, Any]
) -> Chart:
    points = named.history.points
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
                style=LineStyle(f"{named.endpoint.scheme}-{name}", dash),
                width=width,
                x=[_seconds(point.at) for point in points],
                y=[_ms(ends and ends.high) for ends in (p.ends_us.get(name) for p in points)],
                end=name,
            )
            for name, width, dash in _LINES
        ],
        reads=[
            "  ".join(f"{p} {text}" for p, text in zip(PERCENTILES, some, strict=True))
            for some in texts
        ],
        **ground,
    )


def _errors_panel(
    points: Sequence[CampaignPoint], texts: Sequence[str], ground: dict[str, Any]
) -> Chart:
    """A triangle at the foot: the target was not healthy."""
    shares = [point.error_share for point in points]
    errors = [None if share is None else round(share * 100, 4) for share in shares]
    unsound = [_seconds(point.at) for point in points if point.target_state not in _SOUND]
    bars = {"x": [_seconds(point.at) for point in points], "y": errors}
    thick = max(1.0, min(12.0, 600 / len(points)))
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
            Series(look="bars", style=LineStyle("bad"), thick=thick, **bars),
        ],
        reads=texts,
        keys=[(DOUBT, "target not healthy")] if unsound else [],
        **ground,
    )


def _reference_panel(
    named: HistorySeries, metric: str, compared: str, ground: dict[str, Any]
) -> Chart:
    """On the same range in percent as the test's own axis. It has campaigns of its own, of which
    each place reads the nearest."""
    reference = named.reference
    share = _level_now(reference.history) / (_level_now(named.history) or 1.0)
    points = reference.history.points

    def read(at: datetime) -> str:
        near = min(points, key=lambda point: abs(point.at - at))
        ends = ", ".join(map(_text, near.interval_us)) if near.interval_us else ""
        return f"{day(near.at)}: {_text(near.value_us)}{f' [{ends}]' if ends else ''}"

    on = f"on {reference.endpoint.target.name}"
    return Chart(
        "reference",
        "Reference",
        f"{metric} in ms, the same range in % as above; {on}: {compared}",
        f"The {metric} of the reference, which shows whether the machine moved.",
        link=(
            reverse("history-test", args=[reference.newest_test]),
            f"{reference.plan.name}, {reference.arm_label}",
        ),
        size="errors",
        x=_DATES,
        y=Axis(like=share or 1.0),
        series=[
            *_levels(reference.history),
            _whiskers(points, LineStyle("ink-2"), radius=2.5),
        ],
        reads=[read(point.at) for point in named.history.points],
        **ground,
    )


def _level_now(history: TestHistory) -> float:
    """The newest level in ms; without changes the median."""
    if change := history.last_change:
        return change.after / 1000
    known = [value for value in history.values_us if value is not None]
    return median(known) / 1000 if known else 0.0


def _levels(history: TestHistory) -> Iterator[Series]:
    """Each level from one change to the next."""
    points, changes = history.points, history.course.changes
    if not changes:
        return
    edges = [_seconds(points[0].at), *(_before(points, change.index) for change in changes)]
    edges.append(_seconds(points[-1].at))
    heights = [changes[0].before, *(change.after for change in changes)]
    for first, end, height in zip(edges, edges[1:], heights, strict=False):
        yield Series(style=_LEVEL, width=1.4, x=[first, end], y=[height / 1000, height / 1000])


def _before(points: Sequence[CampaignPoint], index: int) -> int:
    """Half-way from the campaign before."""
    at, before = points[index].at, points[max(0, index - 1)].at
    return _seconds(before + (at - before) / 2)


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _ms(value_us: float | None) -> float | None:
    """To four digits: finer than a pixel."""
    return None if value_us is None else round(value_us / 1000, 4)


def _text(value_us: float | None) -> str:
    return DASH if value_us is None else f"{value_us / 1000:.3g}"


def _ends_text(point: CampaignPoint, name: str) -> str:
    ends = point.ends_us.get(name)
    if ends is None:
        return ends_ms(None, None)
    return ends_ms(ends.high if ends.low is None else ends.low, ends.high)


def _state_text(point: CampaignPoint) -> str:
    return "" if point.target_state in _SOUND else f"  target {point.target_state}"

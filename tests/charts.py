"""What tests ask of charts (domain/presentation/charts.py)."""

from collections.abc import Iterator
from typing import Any

from campaigns.domain.presentation.charts import Chart, Charts, Series


def panel(charts: Charts, key: str) -> Chart:
    (chart,) = [each for each in charts.panels if each.key == key]
    return chart


def points(series: Series) -> list[tuple[float, float]]:
    """Those that are drawn."""
    return [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]


def marked_points(chart: Chart, colour: str) -> list[Any]:
    """The points of every series of marks in this colour."""
    return [each for s in chart.series if s.style.token == colour for each in points(s)]


def labels_in_lanes(charts: Charts) -> Iterator[tuple[str, str, float]]:
    """(lane, label, place) of the first panel's marks in lanes."""
    for mark in charts.panels[0].marks:
        if mark.lane:
            yield mark.lane, mark.label, mark.at

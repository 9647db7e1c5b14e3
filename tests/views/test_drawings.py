"""Where the marks of plots lie."""

from itertools import pairwise

import pytest

from campaigns.domain.presentation.results import SplitAnswer
from campaigns.domain.presentation.tables import Row, Table, count_cell
from campaigns.views.drawings import RatioAxis, parts_bar, split_bars


def row(ratio, low, high, primary=False):
    return {"metric": "p50", "ratio": ratio, "low": low, "high": high, "primary": primary}


def test_the_axis_holds_one_the_band_and_every_interval():
    axis = RatioAxis([[row(1.5, 1.4, 1.6)], [row(0.9, 0.7, 1.1)]], threshold=0.05)
    marks = [axis.at(value) for value in (0.7, 1 / 1.05, 1, 1.05, 1.6)]
    assert marks == sorted(marks)
    assert marks[0] > 0
    assert marks[-1] < 100


def test_the_axis_is_logarithmic():
    axis = RatioAxis([[row(1, 0.5, 2)]], threshold=0.05)
    assert axis.at(2) - axis.at(1) == pytest.approx(axis.at(1) - axis.at(0.5), abs=0.02)


def test_ticks_keep_their_distance_and_one_is_among_them():
    axis = RatioAxis([[row(3, 0.2, 15)]], threshold=0.05)
    places = [tick.at for tick in axis.ticks]
    assert "1" in [tick.text for tick in axis.ticks]
    assert all(right - left >= 6.9 for left, right in pairwise(places))


def split(http, https):
    parts = ("connect", "tls", "wait")
    rows = [
        {"label": name, "scheme": name, "parts": dict(zip(parts, each, strict=True)),
         "total_ms": sum(value or 0 for value in each)}
        for name, each in (("http", http), ("https", https))
    ]  # fmt: skip
    difference = {part: (https[i] or 0) - (http[i] or 0) for i, part in enumerate(parts)}
    return SplitAnswer(rows, {"parts": difference, "total_ms": sum(difference.values())}, 1)


def test_the_difference_begins_where_the_http_bar_ends():
    bars = split_bars([split((4.0, None, 14.0), (4.0, 10.0, 14.0))])
    group = bars["groups"][0]
    http = list(group["rows"][0]["pieces"])
    difference = list(group["difference"]["pieces"])
    assert difference[0].x == pytest.approx(http[-1].x + http[-1].width)
    assert difference[0].part == "tls"


def test_a_negative_part_is_drawn_to_the_left():
    bars = split_bars([split((4.0, None, 14.0), (4.0, 10.0, 12.0))])
    pieces = {piece.part: piece for piece in bars["groups"][0]["difference"]["pieces"]}
    assert pieces["wait"].is_negative
    assert pieces["wait"].x + pieces["wait"].width == pytest.approx(pieces["tls"].x)


def test_a_difference_whose_parts_reach_beyond_both_bars_stays_in_the_drawing():
    bars = split_bars([split((4.0, None, 14.0), (4.0, 10.0, 4.5))])
    difference = bars["groups"][0]["difference"]
    right = max(piece.x + piece.width for piece in difference["pieces"])
    assert right <= 84.1
    assert difference["end"] == pytest.approx(right, abs=0.01)


def test_the_bar_of_a_run_is_its_parts_end_to_end_and_leaves_the_sums_out():
    def measured(part, mean_ms: int):
        return Row(part, (count_cell(mean_ms),), part)

    rows = [measured("wait", 75), measured("tls", 25), measured("response", 100)]
    pieces = parts_bar(Table("parts", "Parts", (), tuple(rows)))
    assert [(piece.part, piece.x, piece.width) for piece in pieces] == [
        ("wait", 0, 75),
        ("tls", 75, 25),
    ]

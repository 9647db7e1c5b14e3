"""A long run's points: few enough for a browser, with every extreme."""

from campaigns.domain.presentation.run_points import (
    LAST_S,
    MOST_POINTS,
    SPARK_S,
    noted_points,
    point_columns,
    thinned,
    thinned_columns,
)
from tests.values import make_point


def columns_of(seconds, **special) -> dict:
    """Alike points of these seconds, but for those given as s123={...}."""
    return point_columns([make_point(each, **special.get(f"s{each}", {})) for each in seconds])


def test_a_short_run_keeps_every_second():
    columns = columns_of(range(MOST_POINTS))
    assert thinned(columns)["second"] == columns["second"]


def test_half_a_day_is_at_most_a_thousand_points_with_its_last_five_minutes():
    seconds = thinned(columns_of(range(43_200)))["second"]
    assert len(seconds) <= MOST_POINTS
    assert seconds == sorted(set(seconds))
    assert seconds[-LAST_S:] == list(range(43_200 - LAST_S, 43_200))


def test_no_extreme_is_lost():
    special = {
        "s1234": {"p99_ms": 9_000.0},
        "s2222": {"ok": 0},
        "s2500": {"ok": 5_000},
        "s2900": {"failed": 77},
        "s3001": {"p50_ms": 0.1},
        "s3100": {"open_connections": 900},
    }
    seconds = thinned(columns_of(range(7200), **special))["second"]
    assert {int(key[1:]) for key in special} <= set(seconds)


def test_a_line_breaks_where_a_second_is_missing_and_not_where_one_is_left_out():
    seconds = [each for each in range(7200) if each != 4000]
    columns = thinned(columns_of(seconds))
    breaks = [second for second, gap in zip(columns["second"], columns["gap"], strict=True) if gap]
    assert len(breaks) == 1
    assert breaks[0] > 4000
    assert columns["second"][columns["second"].index(breaks[0]) - 1] < 4000


def test_the_points_of_a_later_message_know_the_point_before_them():
    points = [make_point(each) for each in (0, 1, 3, 4)]
    for first, gaps in ((2, [True, False]), (3, [False]), (4, [])):
        columns = thinned_columns(points, first)
        assert columns["second"] == [0, 1, 3, 4][first:]
        assert columns["gap"] == gaps


def test_columns_of_a_finished_run_are_the_same_with_texts_of_what_is_kept_alone():
    points = [make_point(n, p99_ms=n % 700, errors={}) for n in range(-5, 7200) if n != 4000]
    assert thinned_columns(points) == thinned(point_columns(points))
    assert thinned_columns([]) == thinned(point_columns([]))


def test_a_page_looks_at_the_first_point_of_each_error_and_at_the_last_two_minutes():
    points = [make_point(n, errors={}) for n in range(1000)]
    for second, kind in ((7, "reset"), (9, "reset"), (500, "dns_failed"), (990, "write_error")):
        points[second]["errors"] = {kind: 1}
    looks = noted_points(points)
    assert [point["second"] for point in looks] == [7, 500, *range(1000 - SPARK_S, 1000)]
    assert noted_points(points[:20]) == points[:20]

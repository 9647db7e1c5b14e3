"""The sparkline of a campaign in its list."""

from campaigns.views.sparks import TREND_HEIGHT, trend_of


def heights(path: str) -> list[float]:
    return [float(point.split(" ")[1]) for point in path[1:].split("L")]


def test_two_campaigns_draw_no_line():
    assert trend_of([10.0, None, 11.0]) is None


def test_a_change_below_a_tenth_stays_small():
    small, large = (heights(trend_of([100, 100, last]).path) for last in (101, 150))
    middle = TREND_HEIGHT / 2
    assert small[0] == large[0] == middle
    assert 0 < middle - small[-1] < 1
    assert middle - large[-1] > 5


def test_its_title_has_the_extremes():
    assert trend_of([10, 12, None, 31]).title == "p95 of the last 3: from 10.0 to 31.0 ms"

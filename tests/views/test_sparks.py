"""Small lines: a broken one, the trend of a campaign in its list, and those of a run's tiles."""

import pytest

from campaigns.views.drawings import TREND_HEIGHT, broken_line, sparks_of, trend_of
from tests.values import make_point

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("heights", "path"),
    [
        ((5, 6, 7), "M0 5L1 6L2 7"),
        ((5, 6, None, 7, 8), "M0 5L1 6M3 7L4 8"),
        ((None, 5, 6, None), "M1 5L2 6"),
        ((5, None, 6, None, 7), "M0 5h0M2 6h0M4 7h0"),
        ((None, None), ""),
        ((), ""),
    ],
)
def test_none_breaks_it_and_a_point_alone_is_a_dot(heights, path):
    assert broken_line(list(enumerate(heights))) == path


def heights(path: str) -> list[float]:
    return [float(point.split(" ")[1]) for point in path[1:].split("L")]


def test_a_change_below_a_tenth_stays_small():
    small, large = (heights(trend_of([100, 100, last]).path) for last in (101, 150))
    middle = TREND_HEIGHT / 2
    assert small[0] == large[0] == middle
    assert 0 < middle - small[-1] < 1
    assert middle - large[-1] > 5


def test_its_title_has_the_extremes():
    assert trend_of([10, 12, None, 31]).title == "p95 of the last 3: from 10.0 to 31.0 ms"


def test_a_reply_every_other_second_is_seen_in_a_tile():
    """Between two seconds without a reply there is no line to a figure."""
    seconds = [make_point(n, p50_ms=None if n % 2 else 10.0 + n) for n in range(5)]
    spark = sparks_of(seconds)["p50"]
    assert spark.path.count("M") == spark.path.count("h0") == 3
    assert (spark.end, spark.title) == ((93.0, 3.0), "from 10.0 to 14.0")

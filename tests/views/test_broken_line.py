"""A line with breaks: what is drawn of it."""

import pytest

from campaigns.views.sparks import broken_line

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

"""The sentence under the chart of response times."""

import pytest

from campaigns.domain.judged.steady import Steadiness
from campaigns.domain.shown.trend_words import trend_words


@pytest.mark.parametrize(
    ("found", "second", "is_over", "said"),
    [
        (None, None, True, ""),
        (Steadiness(0.0, 0, 1.0), 0, True, "Response times were steady."),
        (Steadiness(0.0, 0, 1.0), 0, False, "Response times are steady."),
        (
            Steadiness(0.5, 30, 0.8),
            30,
            True,
            "Response times rose: from 30 s on the p50 is 25.0 % higher.",
        ),
        (
            Steadiness(0.5, 30, 2.0),
            90,
            False,
            "Response times are falling: from 1:30 on the p50 is 50.0 % lower.",
        ),
    ],
)
def test_what_the_steady_state_test_found_is_said(found, second, is_over, said):
    assert trend_words(found, second, is_over=is_over).replace("\u202f", " ") == said

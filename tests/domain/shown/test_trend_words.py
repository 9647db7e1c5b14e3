"""The sentence under the chart of response times."""

import numpy as np
import pytest

from campaigns.domain.judged.steady import Steadiness, steadiness
from campaigns.domain.shown.trend_words import trend_words


@pytest.mark.parametrize(
    ("found", "second", "is_over", "said"),
    [
        (None, 0, True, ""),
        (Steadiness(0.0, 0, 1.0), 0, True, "No lasting change of response times was found."),
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
    assert trend_words(found, 0, second, is_over=is_over).replace("\u202f", " ") == said


@pytest.mark.parametrize(("level", "said"), [(50, "400 % higher"), (5, "50 % lower")])
def test_what_was_otherwise_in_between_is_said_with_both_its_ends(level, said):
    noise = np.random.default_rng(1).normal(0, 0.0001, 120)
    found = steadiness(np.array([10] * 40 + [level] * 48 + [10] * 32) * np.exp(noise))
    words = trend_words(found, found.left_at, found.steady_from, is_over=True)
    expected = f"Response times changed and came back: from 40 s to 1:28 the p50 was {said}."
    assert words.replace("\u202f", " ").replace(".0 %", " %") == expected

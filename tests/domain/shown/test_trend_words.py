"""The sentence under the chart of response times."""

import numpy as np
import pytest

from campaigns.domain.judged.steady import Steadiness, steadiness
from campaigns.domain.shown.trend_words import trend_words


@pytest.mark.parametrize(
    ("found", "second", "is_over", "said"),
    [
        (None, None, True, ""),
        (Steadiness(0.0, 0, 1.0), 0, True, "No lasting change of response times was found."),
        (Steadiness(0.0, 0, 1.0), 0, False, "No lasting change of response times so far."),
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


def test_what_was_longer_in_between_is_not_called_steady():
    noise = np.random.default_rng(1).normal(0, 0.02, 120)
    p50 = np.array([10] * 40 + [50] * 48 + [10] * 32) * np.exp(noise)
    said = trend_words(steadiness(list(p50)), 0, is_over=True)
    assert said == "No lasting change of response times was found."

from datetime import UTC, datetime

import pytest

from campaigns.domain.shown.when_words import when_words

NOW = datetime(2026, 12, 18, 15, 0, tzinfo=UTC)  # a Friday


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (datetime(2026, 12, 18, 2, 0, tzinfo=UTC), "today 02:00"),
        (datetime(2026, 12, 17, 23, 59, tzinfo=UTC), "yesterday 23:59"),
        (datetime(2026, 12, 15, 2, 0, tzinfo=UTC), "Tue 15 Dec 02:00"),
        (datetime(2026, 12, 11, 2, 0, tzinfo=UTC), "Fri 11 Dec 02:00, last week"),
        (datetime(2026, 12, 4, 2, 0, tzinfo=UTC), "Fri 4 Dec 02:00"),
        (datetime(2025, 12, 4, 2, 0, tzinfo=UTC), "Thu 4 Dec 2025"),
    ],
)
def test_it_says_the_day_as_people_do(then, words):
    assert when_words(then, NOW) == words


def test_a_year_begins_without_losing_a_week():
    then = datetime(2026, 12, 31, 2, 0, tzinfo=UTC)
    assert when_words(then, datetime(2027, 1, 5, 2, 0, tzinfo=UTC)) == "Thu 31 Dec 02:00, last week"

"""What a search says when it ends, and while it goes on."""

import pytest

from campaigns.domain.judged.capacity import CapacityAnswer, Ending
from campaigns.domain.judged.capacity_interval import CapacityInterval, SearchResult
from campaigns.domain.shown.capacity_words import bound_words, search_sentence
from campaigns.domain.shown.sentences import plain_text

OBJECTIVE = "p95 below 300 ms"
FOUND = CapacityInterval(1850, 1790, 1910, 5)
ONE = (SearchResult(1840, 1860, 12.0),)


def said(
    ending=Ending.FOUND,
    capacity=None,
    at_least=None,
    below=None,
    drift=0.0,
    n=5,
    live=False,
    rule=2,
):
    answer = CapacityAnswer(ending, capacity, at_least, below, ONE * n, drift, rule)
    return plain_text(search_sentence(answer, OBJECTIVE, is_going_on=live)).replace("\u202f", " ")


def test_a_capacity_is_said_with_its_interval_and_its_searches():
    assert said(capacity=FOUND) == (
        "1,850 requests/s (1,790 to 1,910, five searches) keep p95 below 300 ms."
    )


def test_a_search_of_an_earlier_rule_says_what_its_trials_say():
    assert said(Ending.FOUND, FOUND, 1800, 1900, rule=None).startswith("No capacity is known")


def test_a_drift_is_no_steady_answer():
    words = said(Ending.DRIFTED, FOUND, drift=-0.12)
    assert words.startswith("No steady answer")
    assert "−12 %" in words


@pytest.mark.parametrize(
    ("ending", "at_least", "below", "rule", "words"),
    [
        (Ending.STOPPED, 400, None, 2, "at least 400"),
        (Ending.SILENT, 400, 800, 2, "between 400 and 800"),
        (Ending.INJECTOR, 400, 800, 2, "at least 400"),
        (Ending.BELOW, None, 100, 2, "below 100"),
        (Ending.DEADLINE, None, None, 2, ""),
        (Ending.DRIFTED, 400, 800, 2, ""),
        (Ending.STOPPED, 400, 800, None, ""),
    ],
)
def test_a_capacity_that_was_not_found_has_bounds(ending, at_least, below, rule, words):
    answer = CapacityAnswer(ending, None, at_least, below, (), 0.0, rule)
    assert bound_words(answer) == words

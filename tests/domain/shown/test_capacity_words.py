"""What a search says when it ends, and while it goes on."""

from dataclasses import replace

import pytest

from campaigns.domain.judged.capacity import MOST_SEARCHES, CapacityAnswer, Ending
from campaigns.domain.judged.capacity_interval import CapacityInterval, SearchResult
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.shown.capacity_words import bound_words, objective_words, search_sentence
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


def test_the_objective_is_said_in_words():
    rules = [Threshold("p95", 300, "ms"), Threshold("errors", 1, "%")]
    assert objective_words(rules) == "p95 below 300 ms and errors below 1 %"
    assert objective_words([Threshold("p95", 1_234_567, "us")]) == "p95 below 1,234,567 us"


def test_a_capacity_is_said_with_its_interval_and_its_searches():
    assert said(capacity=FOUND) == (
        "1,850 requests/s (1,790 to 1,910, five searches) keep p95 below 300 ms."
    )


def test_the_most_searches_have_a_word():
    found = CapacityInterval(1850, 1790, 1910, MOST_SEARCHES)
    assert "1,910, ten searches)" in said(capacity=found)


def test_what_stopped_it_is_said_after_what_is_known():
    known = {"capacity": FOUND, "at_least": 1800, "below": 1900}
    for ending, why in (
        (Ending.DEADLINE, "The search ran out of time."),
        (Ending.STOPPED, "The search was stopped."),
        (Ending.SILENT, "The target stopped answering."),
    ):
        assert said(ending, **known).endswith(f"keep p95 below 300 ms. {why}")


def test_without_a_finished_search_the_ends_are_said():
    assert said(Ending.STOPPED, at_least=800, below=1600, n=0) == (
        "Between 800 and 1,600 requests/s. The search was stopped."
    )
    assert said(Ending.STOPPED, at_least=800, n=0) == (
        "At least 800 requests/s keep p95 below 300 ms. The search was stopped."
    )
    assert said(Ending.STOPPED, n=0) == "Nothing is known. The search was stopped."


def test_an_injector_that_is_doubted_at_once_is_doubted_at_the_first_rate():
    assert said(Ending.INJECTOR, n=0) == (
        "Nothing is known. The injector is the limit: two trials at the first rate cannot be "
        "trusted."
    )


def test_a_search_of_an_earlier_rule_says_what_its_trials_say():
    assert said(Ending.FOUND, FOUND, 1800, 1900, rule=None) == (
        "No capacity is known: this search was made under an earlier rule. Up to 1,800 requests/s "
        "no trial failed. The lowest rate that failed is 1,900 requests/s. Search again."
    )
    assert said(Ending.LIMIT, at_least=900, rule=None).startswith("At least 900 requests/s keep")


def test_two_searches_have_no_interval():
    two = CapacityInterval(1850, None, None, 2)
    assert said(Ending.STOPPED, two, n=2).startswith("About 1,850 requests/s keep")


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        (Ending.LIMIT, "No higher rate was allowed."),
        (
            Ending.INJECTOR,
            "The injector is the limit: two trials at the next rate cannot be trusted.",
        ),
    ],
)
def test_a_limit_that_is_not_the_target_s_is_at_least_that(ending, why):
    assert said(ending, at_least=1600, n=0) == (
        f"At least 1,600 requests/s keep p95 below 300 ms. {why}"
    )


def test_a_limit_that_was_kept_at_last_is_not_said_to_have_been_kept_always():
    assert said(Ending.LIMIT, at_least=975, below=1000, n=0) == (
        "At least 975 requests/s keep p95 below 300 ms. From there to the highest rate that was "
        "allowed, trials both passed and failed."
    )


def test_a_first_rate_that_fails_is_below_it():
    assert said(Ending.BELOW, below=100, n=0) == (
        "Below 100 requests/s: already this rate does not keep p95 below 300 ms."
    )


def test_a_search_that_was_lost_after_others_that_agreed_names_no_drift_between_these():
    assert said(Ending.DRIFTED, FOUND, drift=0.003) == (
        "No steady answer: the target drifted from one search to the next."
    )


def test_a_drift_is_no_steady_answer():
    assert said(Ending.DRIFTED, FOUND, drift=-0.12) == (
        "No steady answer: the target drifted by −12 % from the first search to the last."
    )
    assert "from one search to the next" in said(Ending.DRIFTED, FOUND)


def test_while_it_goes_on_it_says_when_the_interval_comes():
    two = CapacityInterval(1850, None, None, 2)
    assert said(capacity=two, n=2, live=True) == (
        "So far about 1,850 requests/s keep p95 below 300 ms. Two searches done; the interval "
        "comes with the third."
    )
    assert "keep p95 below 300 ms. One search done; the interval" in said(
        capacity=replace(two, n_searches=1), n=1, live=True
    )
    assert said(at_least=400, n=0, live=True) == (
        "So far at least 400 requests/s keep p95 below 300 ms."
    )


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

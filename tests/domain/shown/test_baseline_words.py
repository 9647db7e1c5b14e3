"""What a campaign's headline says of its baselines."""

from dataclasses import replace

from campaigns.domain.judged.against import Against
from campaigns.domain.shown.baseline_words import baseline_sentence
from campaigns.domain.shown.sentences import plain_text

SLOWER = Against("release 1.4", "p95", "slower", "", 1.12, 1.09, 1.15)
FASTER = Against("release 1.4", "p95", "faster", "", 0.88, 0.85, 0.91)
SAME = Against("release 1.4", "mean", "no practical difference", "", 1.01, 0.99, 1.03)
NO_WORD = Against("release 1.4", "p95", "", "A verdict needs 3 finished repeats of both; 2 …")


def said(*tests: Against) -> str:
    pairs = [(f"plan {number}, HTTP new", against) for number, against in enumerate(tests)]
    return plain_text(baseline_sentence(pairs)).replace("\u202f", " ")


def test_one_test_is_told_with_its_size_and_interval():
    assert "12 % slower [9, 15], or the environment" in said(SLOWER)
    assert "12 % faster [9, 15], or the environment" in said(FASTER)


def test_several_tests_are_counted_and_the_worst_is_named():
    worse = Against("release 1.4", "p95", "slower", "", 1.3, 1.2, 1.4)
    words = said(SLOWER, worse, FASTER, SAME, NO_WORD)
    assert "2 slower, 1 faster, 1 no practical difference, 1 without a verdict of 5 tests" in words
    assert "worst: plan 1, HTTP new, p95 30 % slower [20, 40]" in words


def test_where_the_reference_moved_as_well_it_is_the_environment():
    moved = [replace(each, reference="moved") for each in (SLOWER, FASTER, SAME)]
    assert "environment, 12 % slower [9, 15]" in said(moved[0])
    assert "or the environment" not in said(replace(SLOWER, reference="unmoved"))
    assert "2 environment, 1 no practical difference of 3 tests" in said(*moved)


def test_nothing_is_said_without_a_baseline():
    assert said() == ""

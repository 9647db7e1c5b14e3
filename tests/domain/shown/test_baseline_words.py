"""What a campaign's headline says of its baselines."""

from dataclasses import replace

from campaigns.domain.judged.words import Against
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
    told = "p95 against baseline “release 1.4”: 12 % slower [9, 15], or the environment."
    assert said(SLOWER) == told
    assert "12 % faster [9, 15], or the environment" in said(FASTER)


def test_no_difference_and_no_word_are_told_with_what_is_known():
    assert said(SAME).startswith("average against baseline “release 1.4”: no practical difference")
    assert said(NO_WORD).endswith("no verdict. A verdict needs 3 finished repeats of both; 2 …")


def test_several_tests_are_counted_and_the_worst_is_named():
    worse = Against("release 1.4", "p95", "slower", "", 1.3, 1.2, 1.4)
    assert said(SLOWER, worse, FASTER, SAME, NO_WORD) == (
        "Against baseline “release 1.4”: 2 slower, 1 faster, 1 no practical difference, "
        "1 without a verdict of 5 tests; worst: plan 1, HTTP new, p95 30 % slower [20, 40], or the "
        "environment."
    )


def test_a_reference_that_did_not_move_leaves_the_word_alone():
    assert said(replace(SLOWER, reference="unmoved")) == (
        "p95 against baseline “release 1.4”: 12 % slower [9, 15]. The reference did not move."
    )


def test_where_the_reference_moved_as_well_it_is_the_environment():
    moved = [replace(each, reference="moved") for each in (SLOWER, FASTER, SAME)]
    assert said(moved[0]) == (
        "p95 against baseline “release 1.4”: environment, 12 % slower [9, 15]. The reference "
        "moved as well."
    )
    assert said(*moved) == (
        "Against baseline “release 1.4”: 2 environment, 1 no practical difference of 3 tests. The "
        "reference moved as well."
    )


def test_a_reference_that_tells_nothing_leaves_both():
    told = said(replace(SLOWER, reference="inconclusive"))
    assert told.endswith(", or the environment. Whether the reference moved is not clear.")


def test_references_of_several_baselines_do_not_contradict_each_other():
    told = said(replace(SLOWER, reference="unmoved"), replace(FASTER, reference="moved"))
    assert told.endswith(
        " The reference did not move for 1 test. The reference moved as well for 1 test."
    )


def test_nothing_is_said_without_a_baseline():
    assert said() == ""

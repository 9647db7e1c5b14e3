"""Whether one of two arms costs the target more."""

from campaigns.domain.judged.target_cost import RunCost, cost_difference


def arm(*amounts: float) -> dict[int, RunCost]:
    return {block: RunCost(each, 0.001) for block, each in enumerate(amounts, start=1)}


def test_a_run_that_is_set_aside_is_named_since_the_means_have_it():
    baseline, candidate = arm(6.0, 6.1, 48.2, 5.9, 6.05), arm(7.0, 7.1, 7.05, 6.9, 7.02)
    found = cost_difference(baseline, candidate, paired=True, threshold=0.05)
    assert found.word == "costs more"
    assert found.baseline > found.candidate
    assert "block 3" in found.why


def test_a_clear_word_without_such_a_run_needs_no_words():
    found = cost_difference(arm(6, 6.1, 5.9), arm(7, 7.1, 6.9), paired=True, threshold=0.05)
    assert (found.word, found.why) == ("costs more", "")

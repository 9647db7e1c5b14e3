from dataclasses import replace

import pytest

from campaigns.domain.analysis.comparison import ComparisonVerdict, Word
from campaigns.domain.analysis.overhead import OverheadRow
from campaigns.domain.analysis.ratio import ratio_interval
from campaigns.domain.presentation.sentences import (
    ArmTime,
    Pair,
    overhead_sentence,
    plain_text,
    times_sentence,
)

NARROW = "\u202f"


def pair(http: float, https: float, word=Word.SLOWER, mode="new", plan="", **options) -> Pair:
    noise = options.pop("noise", 0.01)
    around = [1 - noise, 1, 1 / (1 - noise)]
    interval = ratio_interval([http] * 3, [https * each for each in around], paired=True)
    row = OverheadRow("mean", http, https, interval)
    verdict = ComparisonVerdict(word, options.pop("reason", None), options.pop("text", ""))
    return Pair(plan, mode, row, verdict, options.pop("has_word", True))


def said(*pairs: Pair, is_final: bool = True) -> str:
    return plain_text(overhead_sentence(pairs, is_final=is_final)).replace(NARROW, " ")


def test_it_says_how_much_slower_with_both_times():
    assert said(pair(18_870, 29_130)).endswith(
        "slower than HTTP: +54 % (95 % interval +50 to +59 %; 29.1 instead of 18.9 ms)."
    )


def test_a_large_difference_is_a_factor():
    assert "slower than HTTP: 3.9 times as long" in said(pair(1_060, 4_130))


@pytest.mark.parametrize(
    ("word", "bounds"),
    [
        (Word.OPEN, "is too close to call: at most 97 % faster, at most 144 times as long"),
        (Word.NOT_SLOWER, "is not slower than HTTP: at most 97 % faster"),
    ],
)
def test_what_is_open_is_bounded_and_says_what_would_settle_it(word, bounds):
    text = said(pair(10_000, 20_000, word, noise=0.8, text="About 9 more blocks would settle it."))
    assert bounds in text
    assert text.endswith("About 9 more blocks would settle it.")


def test_on_a_busy_machine_the_median_without_the_injector_s_part_is_said():
    on_busy = pair(10_000, 15_000)
    typical = replace(on_busy, row=replace(on_busy.row, metric="typical"))
    assert said(typical).startswith("At the median: on a new connection HTTPS is slower")
    assert "+50 % (95 % interval +46 to +54 % at the median;" in said(on_busy, typical)


def test_before_the_third_repeat_there_is_no_word_and_the_sentence_says_so():
    text = said(pair(10_000, 20_000, None, has_word=False), is_final=False)
    assert "takes about 2.0 times as long, 20.0 instead of 10.0 ms" in text
    assert "No verdict yet" in text


def test_a_pair_without_a_figure_says_that_nothing_can_be_compared():
    missing = Pair("", "resumed", OverheadRow("mean", None, None), ComparisonVerdict(None), False)
    assert "nothing can be compared" in said(missing)


def test_tests_without_a_verdict_are_told_one_by_one_and_never_as_a_range_over_unlike_plans():
    times = [
        ArmTime("list", "server A", 1330, "1.33 ms on average"),
        ArmTime("detail", "server B", 8560, "8.56 ms on average"),
        ArmTime("detail", "server A", 1490, "1.49 ms on average"),
    ]
    assert plain_text(times_sentence(times, is_final=False)) == (
        "So far list takes 1.33 ms on average (server A). detail takes 1.49 ms on average "
        "(server A), 8.56 ms on average (server B)."
    )
    many = plain_text(times_sentence(times * 2, is_final=True))
    assert many.startswith("list takes")
    assert many.endswith(" 2 more tests below.")

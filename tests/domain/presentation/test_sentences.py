from campaigns.domain.analysis.comparison import ComparisonVerdict, Word
from campaigns.domain.analysis.overhead import OverheadRow
from campaigns.domain.analysis.ratio import ratio_interval
from campaigns.domain.presentation.sentences import Pair, overhead_sentence, plain_text

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
        "slower than HTTP: +54 % (95 % interval +50 to +58 %), 29.1 instead of 18.9 ms."
    )


def test_an_interval_that_excludes_nothing_is_not_told_to_the_digit():
    text = said(pair(10_000, 20_000, Word.INCONCLUSIVE, noise=0.8))
    assert "(95 % interval −97 to more than +1,000 %; 20.0 instead of 10.0 ms)" in text


def test_before_the_third_repeat_there_is_no_word_and_the_sentence_says_so():
    text = said(pair(10_000, 20_000, Word.INCONCLUSIVE, has_word=False), is_final=False)
    assert "20.0 instead of 10.0 ms (+100 %)" in text
    assert "No verdict yet" in text


def test_a_run_that_is_left_out_is_said_and_left_out_of_the_times():
    https = [11_000, 11_100, 10_900, 700_000, 11_050]
    interval = ratio_interval([10_000, 10_050, 9_950, 10_000, 10_020], https, paired=True)
    row = OverheadRow("mean", 10_004, 148_810, interval)
    found = ComparisonVerdict(
        Word.SLOWER, text="Without repeat 4: its HTTPS run took 63 times as long."
    )
    text = said(Pair("", "new", row, found, True))
    assert "+10.2 % (95 % interval +9.4 to +11.1 %), 11.0 instead of 10.0 ms" in text


def test_a_pair_without_a_figure_says_that_nothing_can_be_compared():
    missing = Pair(
        "", "resumed", OverheadRow("mean", None, None), ComparisonVerdict(Word.INCONCLUSIVE), False
    )
    assert "nothing can be compared" in said(missing)

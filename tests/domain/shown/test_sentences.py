from campaigns.domain.judged.comparison import ComparisonVerdict, Reason, Word
from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.ratio import ratio_interval
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.sentences import Pair, overhead_sentence, plain_text

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
    sentence = overhead_sentence([pair(18_870, 29_130)], is_final=True)
    assert said(pair(18_870, 29_130)) == (
        "On a new connection HTTPS is slower than HTTP: +54 % (95 % interval +50 to +58 %), "
        "29.1 instead of 18.9 ms."
    )
    bold = [text for text, is_bold in sentence if is_bold]
    assert bold == [f"slower than HTTP: +54{NARROW}%"]


def test_no_practical_difference_is_said_with_its_size():
    text = said(pair(14_510, 14_900, Word.SAME, "keep-alive", noise=0.001))
    assert text == (
        "With keep-alive there is no practical difference between HTTP and HTTPS "
        "(+2.7 %, 95 % interval +2.4 to +3.0 %)."
    )


def test_an_inconclusive_comparison_gives_the_figures_and_what_would_settle_it():
    text = said(
        pair(10_000, 11_000, Word.INCONCLUSIVE, reason=Reason.CI_TOO_WIDE, text="Needs about 7.")
    )
    assert text == (
        "On a new connection HTTPS against HTTP is inconclusive: "
        "+10 % (95 % interval +7 to +13 %; 11.0 instead of 10.0 ms). Needs about 7."
    )


def test_an_interval_that_excludes_nothing_is_not_told_to_the_digit():
    text = said(pair(10_000, 20_000, Word.INCONCLUSIVE, noise=0.8))
    assert "(95 % interval −97 to more than +1,000 %; 20.0 instead of 10.0 ms)" in text


def test_before_the_third_repeat_there_is_no_word_and_the_sentence_says_so():
    text = said(pair(10_000, 20_000, Word.INCONCLUSIVE, has_word=False), is_final=False)
    assert text == (
        "So far on a new connection HTTPS takes 20.0 instead of 10.0 ms (+100 %). "
        "No verdict yet: that takes 3 finished repeats of each."
    )


def test_while_it_runs_a_word_stands_so_far():
    text = said(pair(10_000, 20_000), is_final=False)
    assert text.startswith("So far on a new connection HTTPS is slower than HTTP")


def test_percentages_have_as_many_digits_as_the_interval_supports():
    for noise, change in ((0.2, "+54 %"), (0.002, "+54.4 %"), (0.00001, "+54.37 %")):
        assert change in said(pair(18_870, 29_130, noise=noise))


def test_a_run_that_is_left_out_is_said_and_left_out_of_the_times():
    https = [11_000, 11_100, 10_900, 700_000, 11_050]
    interval = ratio_interval([10_000, 10_050, 9_950, 10_000, 10_020], https, paired=True)
    row = OverheadRow("mean", 10_004, 148_810, interval)
    found = ComparisonVerdict(
        Word.SLOWER, text="Without repeat 4: its HTTPS run took 63 times as long."
    )
    text = said(Pair("", "new", row, found, True))
    assert (
        "+10.2 % (95 % interval +9.4 to +11.1 %), 11.0 instead of 10.0 ms. Without repeat 4" in text
    )


def test_several_plans_are_named():
    text = said(
        pair(10_000, 20_000, plan="100 over 5 s"), pair(10_000, 8_000, Word.FASTER, plan="B")
    )
    assert text.startswith("100 over 5 s: on a new connection HTTPS is slower")
    assert "B: on a new connection HTTPS is faster than HTTP: −20 %" in text


def test_a_plan_has_its_own_name_where_it_begins_a_sentence():
    text = said(pair(1, 1, Word.SAME, plan="curl"), pair(1, 2, plan="curl 2"))
    assert text.startswith("curl: on a new connection there is no practical difference")
    assert " curl 2: on a new connection HTTPS is slower" in text


def test_more_than_four_comparisons_are_counted_not_told():
    assert "2 more comparisons are below." in said(*[pair(10_000, 20_000)] * 6)


def test_a_pair_without_a_figure_says_that_nothing_can_be_compared():
    missing = Pair(
        "", "resumed", OverheadRow("mean", None, None), ComparisonVerdict(Word.INCONCLUSIVE), False
    )
    assert said(missing) == "With a resumed TLS session nothing can be compared yet."


def test_every_metric_says_how_it_is_computed():
    assert all(metric.formula.endswith(".") for metric in METRICS.values())
    assert METRICS["mean"].others["JMeter"] == "Average"
    assert METRICS["share"].column().unit == "% of HTTPS"

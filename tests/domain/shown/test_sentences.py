from campaigns.domain.judged.comparison import ComparisonVerdict, Reason, Word, ratio_interval
from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.sentences import Pair, overhead_sentence, plain_text

NARROW = "\u202f"


def pair(http: float, https: float, word=Word.SLOWER, mode="new", plan="", **options) -> Pair:
    row = OverheadRow("mean", http, https, ratio_interval([http] * 3, [https] * 3, paired=False))
    verdict = ComparisonVerdict(word, options.pop("reason", None), options.pop("text", ""))
    return Pair(plan, mode, row, verdict, options.pop("has_word", True))


def said(*pairs: Pair, is_final: bool = True) -> str:
    return plain_text(overhead_sentence(pairs, is_final=is_final)).replace(NARROW, " ")


def test_it_says_how_much_slower_with_both_times():
    sentence = overhead_sentence([pair(18_870, 29_130)], is_final=True)
    assert said(pair(18_870, 29_130)) == (
        "On a new connection HTTPS is slower than HTTP: +54.4 % (29.1 instead of 18.9 ms)."
    )
    bold = [text for text, is_bold in sentence if is_bold]
    assert bold == [f"slower than HTTP: +54.4{NARROW}%"]


def test_no_practical_difference_is_said_with_its_size():
    text = said(pair(14_510, 14_900, Word.SAME, "keep-alive"))
    assert text == (
        "With keep-alive there is no practical difference between HTTP and HTTPS (+2.7 %)."
    )


def test_an_inconclusive_comparison_gives_the_figures_and_what_would_settle_it():
    text = said(
        pair(10_000, 11_000, Word.INCONCLUSIVE, reason=Reason.CI_TOO_WIDE, text="Needs about 7.")
    )
    assert text == (
        "On a new connection HTTPS against HTTP is inconclusive: "
        "+10.0 % (11.0 instead of 10.0 ms). Needs about 7."
    )


def test_before_the_third_repeat_there_is_no_word_and_the_sentence_says_so():
    text = said(pair(10_000, 20_000, Word.INCONCLUSIVE, has_word=False), is_final=False)
    assert text == (
        "So far on a new connection HTTPS takes 20.0 instead of 10.0 ms (+100.0 %). "
        "No word yet: it needs 3 finished repeats of both."
    )


def test_while_it_runs_a_word_stands_so_far():
    text = said(pair(10_000, 20_000), is_final=False)
    assert text.startswith("So far on a new connection HTTPS is slower than HTTP")


def test_several_plans_are_named():
    text = said(
        pair(10_000, 20_000, plan="100 over 5 s"), pair(10_000, 8_000, Word.FASTER, plan="B")
    )
    assert text.startswith("100 over 5 s: on a new connection HTTPS is slower")
    assert "B: on a new connection HTTPS is faster than HTTP: −20.0 %" in text


def test_more_than_four_comparisons_are_counted_not_told():
    assert "2 more comparisons stand below." in said(*[pair(10_000, 20_000)] * 6)


def test_a_pair_without_a_figure_says_that_nothing_can_be_compared():
    missing = Pair(
        "", "resumed", OverheadRow("mean", None, None), ComparisonVerdict(Word.INCONCLUSIVE), False
    )
    assert said(missing) == "With a resumed TLS session nothing can be compared yet."


def test_every_metric_says_how_it_is_computed():
    assert all(metric.formula.endswith(".") for metric in METRICS.values())
    assert METRICS["mean"].others["JMeter"] == "Average"
    assert METRICS["share"].column().unit == "% of HTTPS"

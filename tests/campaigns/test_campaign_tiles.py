"""The cards of comparisons: word, figure, bounds, and how a figure is told that is not settled."""

from dataclasses import replace
from math import log
from types import SimpleNamespace

import pytest

from campaigns.campaigns.views.campaign_tiles import MOST_CARDS, cards_of, ratios_of, settling
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import RatioInterval, Word
from campaigns.domain.presentation.overhead_table import OverheadAnswer, forest, overhead_table


def overhead(word: Word | None, ratio: float, low: float, high: float, **fields) -> OverheadAnswer:
    interval = RatioInterval(ratio, low, high, 3, baseline=1000, candidate=1000 * ratio)
    rows = [PairResult("typical", 1000, 1000 * ratio, interval)]
    rows += [PairResult("p50", 1020, 1200 * ratio, None)]
    return OverheadAnswer(
        plan_label="plan",
        connection_mode="new",
        baseline_test_id=1,
        candidate_test_id=2,
        table=overhead_table("k", "T", rows, word, ""),
        forest=forest(rows, word),
        split=None,
        word=str(word or ""),
        word_reason="7 more blocks are needed",
        like_for_like={},
        title="New connection",
        names=("HTTP", "HTTPS"),
        is_chosen=False,
        n_usable=5,
        more=None,
        **fields,
    )


def cards(*overheads, limit_s=None):
    errors = SimpleNamespace(is_everything=False)
    answer = SimpleNamespace(overheads=overheads, has_no_answer=False, errors=errors)
    return cards_of(answer, 0.05, limit_s)


def words(card) -> tuple[str, str, str]:
    least = "at least " if card.at_least else ""
    return tuple(
        text.replace("\u202f", " ").strip()
        for text in (card.pill, f"{least}{card.value} {card.unit}", card.ends)
    )


def test_a_card_has_a_large_figure_only_where_it_is_settled():
    for word, ratio, low, high, texts in [
        (Word.SLOWER, 3.9, 3.8, 4.0, ("Slower", "3.9 × slower", "3.8 to 4.0 ×")),
        (Word.FASTER, 0.8, 0.75, 0.86, ("Faster", "20 % faster", "14 to 25 %")),
        (Word.SAME, 1.01, 0.98, 1.04, ("No practical difference", "+1.0 %", "−2 to +4 %")),
        (
            Word.NOT_FASTER,
            1.2,
            0.998,
            1.87,
            ("Not faster", "", "at most 0.2 % faster, at most 87 % slower"),
        ),
        (Word.OPEN, 1.01, 0.9, 1.2, ("Too close to call", "", "10 % faster to 20 % slower")),
        (None, 1.5, 1.2, 1.8, ("", "", "+20 to +80 %")),
    ]:
        (card,) = cards(overhead(word, ratio, low, high))
        assert words(card) == texts


def test_a_median_has_the_measured_one_as_its_other_end_where_these_are_apart():
    (card,) = cards(overhead(Word.SLOWER, 4.1, 3.6, 4.9))
    times = card.times.replace("\u202f", " ")
    assert times == "4.10 to 4.92 instead of 1.02 ms at the median"


def test_a_hidden_part_makes_the_figure_a_least_one():
    (card,) = cards(overhead(Word.SLOWER, 4.1, 3.6, 4.9, at_least=True))
    assert words(card) == ("Slower", "at least 3.6 × slower", "best estimate 4.1 ×")


def test_without_a_size_only_the_direction_is_told():
    (card,) = cards(overhead(Word.SLOWER, 4.1, 3.6, 4.9, has_size=False))
    assert words(card) == ("Slower", "", "7 more blocks are needed")


def test_factors_share_an_axis_and_percentages_another():
    first, second, third = cards(
        overhead(Word.SLOWER, 3.9, 3.8, 4.0),
        overhead(Word.SLOWER, 2.1, 2.0, 2.2),
        overhead(Word.SAME, 1.01, 0.98, 1.04),
    )
    assert first.axis is second.axis is not third.axis
    assert first.axis.ticks[0].text.endswith("×")
    assert third.axis.ticks[0].text.endswith("%")


def test_many_comparisons_are_in_the_table_alone():
    assert cards(*[overhead(Word.SAME, 1.0, 0.98, 1.02)] * (MOST_CARDS + 1)) == []


def test_without_any_figure_there_are_no_cards_once_it_has_ended():
    row = PairResult("typical", None, None)
    nothing = replace(
        overhead(None, 1, 1, 1), table=overhead_table("k", "T", [row], None, ""), forest=[]
    )
    assert cards(nothing, nothing) == []
    assert [card.ends for card in cards(nothing, limit_s=60)] == ["Warming up"]


def test_a_ratio_stands_in_its_card_or_in_the_table_of_ratios():
    one = overhead(Word.SAME, 1.0, 0.98, 1.02)
    assert ratios_of([one], 0.05, has_cards=True)["groups"] == []
    (group,) = ratios_of([one], 0.05, has_cards=False)["groups"]
    assert [row.kind for row, *_ in group["rows"]] == ["typical"]


def looks_of(*words):
    ends = ((16, 8.0, 0.9, 2.0), (24, 12.0, 1.0, 1.5), (36, 18.0, 1.1, 1.3))
    return [
        {"rounds": n, "seconds": s, "ratio": 1.2, "low": low, "high": high, "word": str(word)}
        for (n, s, low, high), word in zip(ends, words, strict=True)
    ]


def test_a_funnel_says_when_it_is_settled_or_expected_to_be():
    open_one = overhead(Word.OPEN, 1.2, 1.1, 1.3, narrowing=looks_of(*[Word.OPEN] * 3), more_s=18)
    chart = settling(open_one, 60, 0.05, "funnel")
    assert [(mark.at, mark.axis) for mark in chart.marks if mark.label.startswith("about")] == [
        (36, "x")
    ]
    low, high = chart.series[2:]
    assert (low.x[0], low.x[-1]) == (18, 36)
    assert (low.y[0], high.y[0]) == pytest.approx((1.1, 1.3))
    assert log(high.y[-1] / 1.2) == pytest.approx(log(1.3 / 1.2) / 2**0.5)
    beyond = settling(replace(open_one, more_s=100), 60, 0.05, "funnel")
    assert beyond.series[2].x[-1] == 60
    assert not any(mark.label.startswith("about") for mark in beyond.marks)
    looks = looks_of(Word.SLOWER, Word.OPEN, Word.SLOWER)
    end_chart = settling(overhead(Word.SLOWER, 1.2, 1.1, 1.3, narrowing=looks), 60, 0.05, "funnel")
    assert [mark.at for mark in end_chart.marks if mark.label.startswith("settled")] == [18]
    assert len(end_chart.series) == 2


def test_a_funnel_narrows_from_left_to_right_up_to_now():
    looks = looks_of(*[Word.OPEN] * 3)
    one = overhead(Word.OPEN, 1.2, 1.1, 1.3, narrowing=looks)
    chart = settling(one, 60, 0.05, "funnel")
    area, _ = chart.series
    assert (list(area.x), chart.x.high) == ([8, 12, 18], 60)
    heights = [high - low for low, high in zip(area.low, area.high, strict=True)]
    assert heights == sorted(heights, reverse=True)
    one = overhead(Word.OPEN, 1.2, 1.1, 1.3, narrowing=looks[:1])
    assert settling(one, 60, 0.05, "funnel") is None

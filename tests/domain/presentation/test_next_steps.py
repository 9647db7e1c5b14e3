from dataclasses import replace

from campaigns.domain.analysis.advice import Advice
from campaigns.domain.presentation.next_steps import next_steps
from campaigns.domain.presentation.overhead_table import overhead_table
from campaigns.domain.presentation.results import FlaggedRun, OverheadAnswer

ODD = FlaggedRun(14, "12.5", 3, "HTTPS", 64.3)
OVERHEAD = OverheadAnswer(
    plan_label="plan",
    connection_mode="new",
    baseline_test_id=1,
    candidate_test_id=2,
    table=overhead_table("k", "T", [], None, ""),
    forest=[],
    split=None,
    word="inconclusive",
    word_reason="",
    like_for_like={},
    title="New connection",
    names=("HTTP", "HTTPS"),
    is_chosen=False,
    n_usable=5,
    decided_by=None,
    set_aside=(),
    advice=(),
)


def overhead(**fields) -> OverheadAnswer:
    return replace(OVERHEAD, **fields)


def steps(*overheads: OverheadAnswer, room: int = 40) -> list[tuple[str, str, int]]:
    found = next_steps(overheads, room)
    return [(each.text.replace("\u202f", " "), each.label, each.blocks) for each in found]


def test_the_run_that_decides_is_named_with_its_block_to_repeat():
    (step,) = next_steps([overhead(decided_by=ODD)], 40)
    assert step.run == ODD
    assert (step.label, step.blocks) == ("Repeat block 3", 1)
    assert "64 times" in step.text


def test_a_run_that_decides_two_comparisons_is_repeated_once():
    assert len(steps(*[overhead(decided_by=ODD)] * 2)) == 1


def test_the_advice_gives_as_many_blocks_as_each_case_needs_with_its_probability():
    advice = (Advice(0.0, 3, 0.86), Advice(0.1, 8, 0.83))
    ((text, label, blocks),) = steps(overhead(advice=advice))
    assert (label, blocks) == ("Add 8 blocks", 8)
    assert "83 %" in text


def test_an_odd_run_comes_before_more_blocks():
    labels = [
        label
        for _, label, _ in steps(overhead(advice=(Advice(0, 8, 0.8),)), overhead(decided_by=ODD))
    ]
    assert labels == ["Repeat block 3"]


def test_more_blocks_than_fit_are_not_offered():
    ((_, label, blocks),) = steps(overhead(advice=(Advice(0.0, 100, 0.8),)), room=45)
    assert (label, blocks) == ("", 0)


def test_what_no_number_settles_offers_none():
    ((_, _, blocks),) = steps(overhead(advice=(Advice(0.0, None, 0.3),)))
    assert blocks == 0


def test_of_two_comparisons_the_one_that_fits_is_offered():
    wide = overhead(advice=(Advice(0.0, None, 0.3),))
    assert [blocks for *_, blocks in steps(wide, overhead(advice=(Advice(0, 6, 0.8),)))] == [6]


def test_too_few_repeats_are_filled_up():
    ((_, *step),) = steps(overhead(n_usable=1))
    assert step == ["Add 2 blocks", 2]


def test_where_no_run_of_a_side_can_be_used_more_of_the_same_is_not_offered():
    assert steps(overhead(n_usable=0)) == []


def test_a_verdict_needs_nothing_more():
    assert steps(overhead(word="slower"), overhead(word="inconclusive")) == []

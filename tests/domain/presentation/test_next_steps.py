from dataclasses import replace

from campaigns.domain.presentation.overhead_table import overhead_table
from campaigns.domain.presentation.results import OverheadAnswer
from campaigns.domain.presentation.what_to_do import next_step

OVERHEAD = OverheadAnswer(
    plan_label="plan",
    connection_mode="new",
    baseline_test_id=1,
    candidate_test_id=2,
    table=overhead_table("k", "T", [], None, ""),
    forest=[],
    split=None,
    word="too close to call",
    word_reason="",
    like_for_like={},
    title="New connection",
    names=("HTTP", "HTTPS"),
    is_chosen=False,
    n_usable=5,
    more=None,
)


def blocks_offered(*needed: int | None, room: int = 40, n_usable: int = 5) -> int | None:
    """None: no step at all."""
    step = next_step([replace(OVERHEAD, more=more, n_usable=n_usable) for more in needed], room)
    return step and step.blocks


def test_as_many_blocks_are_offered_as_settle_it_and_fit():
    assert blocks_offered(8) == 8
    assert blocks_offered(300, 6) == 6
    assert blocks_offered(100, room=45) == 0


def test_what_is_settled_or_cannot_be_used_needs_no_more_blocks():
    assert blocks_offered(None) is None
    assert blocks_offered(2, n_usable=0) is None

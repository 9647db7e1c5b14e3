"""States of runs and shards, and the words that stop them."""

import json

from campaigns.domain.lifecycle import (
    LIVE_SHARD_STATES,
    MAX_AGE_S,
    RUN_MOVES,
    SHARD_MOVES,
    RunState,
    ShardState,
    StopReason,
    as_told_to_injectors,
)


def reachable(start, moves) -> set:
    states, edge = {start}, {start}
    while edge:
        edge = {target for source, target in moves if source in edge} - states
        states |= edge
    return states


def test_every_run_state_can_be_reached_and_every_one_leads_to_done():
    assert reachable(RunState.QUEUED, RUN_MOVES) == set(RunState)
    for state in RunState:
        assert RunState.DONE in reachable(state, RUN_MOVES)


def test_a_done_run_never_moves_again():
    assert not [move for move in RUN_MOVES if move[0] == RunState.DONE]


def test_every_shard_state_can_be_reached_and_live_ones_can_end():
    assert reachable(ShardState.OPEN, SHARD_MOVES) == set(ShardState)
    ends = {ShardState.DONE, ShardState.LOST, ShardState.CANCELLED}
    for state in LIVE_SHARD_STATES:
        assert ends & reachable(state, SHARD_MOVES)


def test_a_shard_that_has_sent_load_is_never_opened_again():
    assert ShardState.OPEN not in reachable(ShardState.RUNNING, SHARD_MOVES)


def test_every_state_but_running_and_done_has_a_maximum_age():
    assert set(MAX_AGE_S) == set(RunState) - {RunState.RUNNING, RunState.DONE}


def test_a_reason_is_stored_and_sent_as_its_word():
    assert StopReason("no_start") is StopReason.NO_START
    assert json.dumps({"stop": StopReason.KILL}) == '{"stop": "kill"}'


def test_an_injector_is_told_the_words_of_its_contract_only():
    for reason, word in [
        ("user", "user"),
        ("kill", "kill"),
        ("overrun", "overrun"),
        ("shard_lost", "user"),
        ("clock_set", "user"),
        ("", "user"),
    ]:
        assert as_told_to_injectors(reason) == word

"""Why runs and injectors stop: one word for programs, and texts for people."""

import json

import pytest

from campaigns.domain.stop_reasons import StopReason, as_told_to_injectors


def test_a_reason_is_stored_and_sent_as_its_word():
    assert StopReason("no_start") is StopReason.NO_START
    assert json.dumps({"stop": StopReason.KILL}) == '{"stop": "kill"}'


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("user", "user"),
        ("kill", "kill"),
        ("overrun", "overrun"),
        ("shard_lost", "user"),
        ("clock_set", "user"),
        ("", "user"),
    ],
)
def test_an_injector_is_told_the_words_of_its_contract_only(asked, told):
    assert as_told_to_injectors(asked) == told

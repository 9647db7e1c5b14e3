"""`make benchmark ARGS=words-real` in parts, whose results are told together."""

import contextlib
import json

import pytest

from benchmarks import words_real
from benchmarks.words_real import IN_TURN, ONE_AFTER_THE_OTHER, PARTS, measure_all, rows_of

pytestmark = pytest.mark.pure


def burnt(part: str, *holds: bool) -> list[dict]:
    return [
        {"part": part, "seed": seed, "holds": each, "interval": [0.9, 1.1], "lost": 1}
        for seed, each in enumerate(holds)
    ]


@pytest.mark.parametrize(("part", "is_met"), [(IN_TURN, True), (ONE_AFTER_THE_OTHER, False)])
def test_arms_in_turn_are_meant_to_hold_and_others_to_fail(part, is_met):
    (row,) = rows_of(burnt(part, *[True] * 9, False))
    assert row.measured == "the interval contains the truth in 90%; 10 runs do not count"
    assert row.is_met is is_met


def test_a_later_call_adds_campaigns_to_those_of_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(words_real, "free_ports", lambda n: [8081] * n)
    monkeypatch.setattr(words_real, "program", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(words_real, "_comes_and_goes", contextlib.nullcontext)
    monkeypatch.setitem(PARTS, IN_TURN, (_of_seed, 40))
    results = tmp_path / "words.jsonl"
    for n in (2, 1):
        (row,) = measure_all([IN_TURN], n, results)
    assert row.name == "burners, in turn, 2 campaigns"
    assert row.measured.endswith("50%")
    seeds = [json.loads(line)["seed"] for line in results.read_text().splitlines()]
    assert seeds == [0, 1, 2]


def _of_seed(port: int, seed: int) -> dict:
    """The last campaign has no interval, so it says nothing."""
    return {"holds": seed == 0, "interval": [0.9, 1.1] if seed < 2 else None, "lost": 0}

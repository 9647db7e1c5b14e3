"""The order in which a campaign's runs are made.

Repeats are blocks: each block runs every test once, so that whatever drifts over hours (heat, a
neighbour's load, a growing table) touches all tests alike instead of the last one only.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Turn:
    """One place in the order: `position` and `repeat` count from 1, `test` from 0."""

    position: int
    repeat: int
    test: int


def order_of_runs(n_tests: int, repeats: int, *, is_random: bool, seed: int) -> list[Turn]:
    """The turns of all runs: each block in a random order drawn from `seed`, or as listed."""
    source = np.random.default_rng(seed)
    turns = []
    for repeat in range(1, repeats + 1):
        block = source.permutation(n_tests) if is_random else np.arange(n_tests)
        turns += [Turn(len(turns) + 1 + n, repeat, int(test)) for n, test in enumerate(block)]
    return turns

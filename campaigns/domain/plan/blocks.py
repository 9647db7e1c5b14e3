"""The order of a campaign's runs.

Repeats are blocks: each block runs every test once, so that a drift over hours (heat, a neighbour's
load, a growing table) affects all tests alike instead of only the last. Blocks are
counterbalanced: every second one is the reverse of its predecessor, so that a steady drift cancels
out of every comparison; and over the blocks of a whole square each test is at every place, and
directly after every other test, equally often (Williams 1949).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

USUAL_BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One place in the order: `position` and `repeat` count from 1, `test` from 0."""

    position: int
    repeat: int
    test: int


def order_of_runs(n_tests: int, repeats: int, *, is_random: bool, seed: int) -> list[Turn]:
    """The turns of all runs: blocks in an order drawn from `seed`, or each as listed."""
    blocks = _balanced_blocks(n_tests, np.random.default_rng(seed)) if is_random else None
    turns: list[Turn] = []
    for repeat in range(1, repeats + 1):
        block = next(blocks) if blocks else range(n_tests)
        turns += [Turn(len(turns) + 1 + n, repeat, int(test)) for n, test in enumerate(block)]
    return turns


def _balanced_blocks(n: int, source: np.random.Generator) -> Iterator[np.ndarray]:
    """Blocks without end: the rows of a Williams square, each followed by its reverse, then the
    same with every block reversed: AB BA, BA AB.

    So curved drifts cancel too, and the correlated noise of neighbouring runs does not add up. The
    assignment of tests, the order of the rows and their direction are drawn again for every two
    squares.
    """
    while True:
        tests = source.permutation(n)
        # How many rows with their reverses make a square; of an even number, row + n / 2
        # is one.
        rows = [
            tests[(_zigzag(n) + row) % n] for row in source.permutation(n // 2 if n % 2 == 0 else n)
        ]
        rows = [row[::-1] if source.integers(2) else row for row in rows]
        for row in rows:
            yield row
            yield row[::-1]
        for row in rows:
            yield row[::-1]
            yield row


def _zigzag(n: int) -> np.ndarray:
    """0, n − 1, 1, n − 2, …: a row of which every shift modulo n is one of a Williams square."""
    places = np.arange(n)
    return np.where(places % 2, -(places + 1) // 2, places // 2) % n

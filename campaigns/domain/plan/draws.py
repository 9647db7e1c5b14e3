"""Seeded random numbers for arrivals: the same seed gives the same ones, on every injector.

Only PCG64's uniform doubles are taken from numpy, for their sequence is fixed; the exponential is
made from them here.
"""

from collections.abc import Iterator

import numpy as np

CHUNK = 4096
# Separate streams, so that draws for one purpose do not shift those for another.
MEASURED, WARM_UP = 0, 1


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed % 2**64, stream]))


def _chunks(count: int) -> Iterator[int]:
    for done in range(0, count, CHUNK):
        yield min(CHUNK, count - done)


def _exponentials(count: int, seed: int, stream: int) -> Iterator[np.ndarray]:
    generator = _generator(seed, stream)
    for size in _chunks(count):
        yield -np.log1p(-generator.random(size))


def poisson_positions(count: int, seed: int, stream: int = MEASURED) -> Iterator[np.ndarray]:
    """`count` increasing positions in [0, count), in chunks: a Poisson process of rate 1 that is
    known to have exactly so many arrivals.

    Sₖ/Sₙ₊₁ of exponential gaps are the order statistics of n uniform values (Devroye 1986, V.2.1).
    """
    if not count:
        return
    scale = count / sum(float(gaps.sum()) for gaps in _exponentials(count + 1, seed, stream))
    below_end = np.nextafter(float(count), 0.0)
    passed, left = 0.0, count
    for gaps in _exponentials(count + 1, seed, stream):
        sums = passed + np.cumsum(gaps)
        passed = float(sums[-1])
        if left:
            yield np.minimum(sums[:left] * scale, below_end)
        left = max(0, left - len(sums))


def even_positions(count: int, seed: int, stream: int = MEASURED) -> Iterator[np.ndarray]:
    """0, 1, 2 … below `count`, in chunks: nothing is drawn."""
    for first in range(0, count, CHUNK):
        yield np.arange(first, min(first + CHUNK, count), dtype=np.float64)


def uniform_offsets(
    count: int | None, low: float, high: float, seed: int, stream: int = MEASURED
) -> Iterator[np.ndarray]:
    """Sums of gaps that are uniform in [low, high), in chunks; endless where `count` is None."""
    generator = _generator(seed, stream)
    passed = 0.0
    sizes = iter(lambda: CHUNK, None) if count is None else _chunks(count)
    for size in sizes:
        sums = passed + np.cumsum(low + (high - low) * generator.random(size))
        passed = float(sums[-1])
        yield sums

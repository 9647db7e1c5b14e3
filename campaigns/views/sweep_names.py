"""The names at the ends of a sweep's lines, moved apart where they would cover each other.

Positions in percent of the drawing, distances in pixels: the drawing's height is fixed. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HEIGHT_PX = 220
_LINE_PX = 13  # from one name to the next
_LOWEST_PX = 0.88 * HEIGHT_PX
_LONGEST = 18
# A name beside each of more lines would cover the curves.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class EndName:
    """`x` and `y`: where the line ends; `down_px`: how much lower its name stands."""

    x: float
    y: float
    down_px: float
    text: str
    is_second: bool


def end_names(ends: Sequence[tuple[str, float, float, bool]]) -> list[EndName]:
    """Of the lines' (name, x, y, is it a second one); those without a name have none."""
    named = sorted((end for end in ends if end[0]), key=lambda end: end[2])[:MOST_NAMED]
    heights = _apart([y * HEIGHT_PX / 100 for _, _, y, _ in named])
    return [
        EndName(x, y, round(height - y * HEIGHT_PX / 100, 1), _short(name), is_second)
        for (name, x, y, is_second), height in zip(named, heights, strict=True)
    ]


def _apart(heights: Sequence[float]) -> list[float]:
    """As near to where they were as a line's distance allows, and none below the axis; `heights`
    rise."""
    moved = list(heights)
    for upper, lower in pairwise(range(len(moved))):
        moved[lower] = max(moved[lower], moved[upper] + _LINE_PX)
    floor = _LOWEST_PX
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], floor)
        floor = moved[number] - _LINE_PX
    return moved


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"

"""Stages of an open load: rates that hold or change evenly, and when their arrivals are due."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from campaigns.domain.typed_text import per_second_in, seconds_in

MAX_STAGES = 100
NS = 1_000_000_000
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_LINE = re.compile(
    rf"\s*({_NUMBER}\s*(?:ms|s|m|min|h)?)\s*:"
    rf"\s*({_NUMBER})\s*(?:-\s*({_NUMBER})\s*)?(/(?:s|m|min|h))?\s*"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """For `duration_s` the rate goes evenly from one value to the other; a step where equal."""

    duration_s: float
    from_per_s: float
    to_per_s: float


def area(stages: Sequence[Stage]) -> Fraction:
    """The exact integral of the rate: arrivals, not yet whole."""
    return sum((_area(stage) for stage in stages), Fraction(0))


def _area(stage: Stage) -> Fraction:
    rates = Fraction(str(stage.from_per_s)) + Fraction(str(stage.to_per_s))
    return Fraction(str(stage.duration_s)) * rates / 2


def count_staged(stages: Sequence[Stage]) -> int:
    """Arrivals k of which the integral reaches k before the end: as many as fit, from 0 on."""
    return ceil(area(stages))


class RateCurve:
    """Where the integral of the rate reaches a position."""

    def __init__(self, stages: Sequence[Stage]):
        areas = [Fraction(0)]
        starts = [Fraction(0)]
        for stage in stages:
            areas.append(areas[-1] + _area(stage))
            starts.append(starts[-1] + Fraction(str(stage.duration_s)))
        self.area = float(areas[-1])
        self._ends = np.array([float(each) for each in areas[1:]])
        self._areas = np.array([float(each) for each in areas[:-1]])
        self._starts_ns = np.array([float(each * NS) for each in starts[:-1]])
        self._last_ns = int(starts[-1] * NS) - 1
        self._rates = np.array([stage.from_per_s for stage in stages], dtype=np.float64)
        self._slopes = np.array(
            [(stage.to_per_s - stage.from_per_s) / stage.duration_s for stage in stages]
        )

    def due_ns(self, positions: np.ndarray) -> np.ndarray:
        """When each position is reached, in ns from the start; for one in a pause, the pause's end.

        a·t + s·t²/2 = c has the root 2c / (a + √(a² + 2·s·c)), which loses no digits.
        """
        at = np.minimum(np.searchsorted(self._ends, positions, side="right"), len(self._ends) - 1)
        beyond = np.maximum(positions - self._areas[at], 0.0)
        rate = self._rates[at]
        root = np.sqrt(np.maximum(rate * rate + 2 * self._slopes[at] * beyond, 0.0))
        divisor = rate + root
        seconds = np.divide(2 * beyond, divisor, out=np.zeros_like(divisor), where=divisor > 0)
        dues = np.floor(self._starts_ns[at] + seconds * NS).astype(np.int64)
        return np.minimum(np.maximum.accumulate(dues), self._last_ns)


def stages_of_text(text: str) -> list[dict[str, float] | str]:
    """The stages of "30: 10, 60: 10-50"; unparsable text is kept for the plan to reject."""
    stages: list[dict[str, float] | str] = []
    for line in filter(None, map(str.strip, re.split(r"[,;\n]", text))):
        if match := _LINE.fullmatch(line):
            duration, start, end, per = match.groups()
            ends = (start, end or start)
            from_per_s, to_per_s = (per_second_in(f"{each}{per or ''}") for each in ends)
            rates = {"from_per_s": from_per_s, "to_per_s": to_per_s}
            stages.append({"duration_s": seconds_in(duration), **rates})
        else:
            stages.append(line)
    return stages


def text_of_stages(stages: Sequence[dict[str, Any]]) -> str:
    """The stages as typed, one per line."""
    lines = []
    for stage in stages:
        start, end = _plain(stage["from_per_s"]), _plain(stage["to_per_s"])
        rates = start if start == end else f"{start}-{end}"
        lines.append(f"{_plain(stage['duration_s'])}: {rates}")
    return "\n".join(lines)


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))

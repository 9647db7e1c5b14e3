"""The marks of a search's trials: how each looks, what it says, and where its number fits.

Positions in percent of the drawing; see drawings.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from campaigns.domain.judged.capacity import TrialResult
from campaigns.domain.plan.threshold import SHARES
from campaigns.domain.shown.capacity_words import RESULT_WORDS
from campaigns.domain.units import ms, rate
from campaigns.queries.searches import MadeTrial

# Where a dot's number may be, the first choice first: above, to the right, to the left, below. A
# drawing is at least so many px wide and high, a digit and a dot about so many.
_LABEL_PLACES = ((0, -9, "middle"), (8, 4, "start"), (-8, 4, "end"), (0, 18, "middle"))
_DRAWING_PX, _DIGIT_PX, _LETTERS_PX, _DOT_PX = 280, 7, 11, 10


class Shape(StrEnum):
    PASSED = "passed"
    BROKE = "broke"
    GREW = "grew"
    ERRORS = "errors"
    UNTRUSTED = "untrusted"


SHAPE_WORDS = {
    Shape.PASSED: "passed",
    Shape.BROKE: "objective broken",
    Shape.GREW: "and in flight grew",
    Shape.ERRORS: "by errors alone",
    Shape.UNTRUSTED: "not counted",
}


@dataclass(frozen=True, slots=True)
class DotLabel:
    """A text beside a dot: so many px to the right of it and below it, aligned at its `anchor`."""

    text: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class TrialDot:
    """`said`: what the crosshair reads of it; `label`: its number, where it is written."""

    number: int
    x: float
    y: float
    shape: Shape
    words: str
    said: str
    label: DotLabel | None = None

    @property
    def misleads(self) -> bool:
        """Its height does not say what came of it."""
        return self.shape in (Shape.ERRORS, Shape.UNTRUSTED)


def trial_dot(made: MadeTrial, x: float, y: float, value_ms: float | None = None) -> TrialDot:
    number, trial = made.run.repeat, made.trial
    time = f", {ms(value_ms * 1000)}" if value_ms else ""
    result = RESULT_WORDS[trial.result]
    reason = f": {trial.reason}" if trial.reason else ""
    return TrialDot(
        number,
        x,
        y,
        shape_of(made),
        words=f"Trial {number}: {rate(trial.rate_per_s)} requests/s{time}, {result}{reason}",
        said=f"trial {number}: {rate(trial.rate_per_s)}/s{time}, {result}",
    )


def shape_of(made: MadeTrial) -> Shape:
    if made.trial.result != TrialResult.FAILED:
        is_passed = made.trial.result == TrialResult.PASSED
        return Shape.PASSED if is_passed else Shape.UNTRUSTED
    if made.run.judged and made.run.judged.target.has("in_flight_growing"):
        return Shape.GREW
    broken = broken_by(made)
    return Shape.ERRORS if broken and broken <= set(SHARES) else Shape.BROKE


def broken_by(made: MadeTrial) -> set[str]:
    """The metrics of the rules that the trial broke."""
    return {each.metric for each in made.run.verdicts if not each.passed}


def numbered(dots: Sequence[TrialDot], which: Iterable[TrialDot]) -> list[TrialDot]:
    """`which` of them with their numbers, where these lie on no dot and on no other number."""
    taken = [_box(dot, 0, 0, _DOT_PX, _DOT_PX) for dot in dots]
    wanted = {dot.number for dot in which}
    found = []
    for dot in dots:
        place = _free_place(dot, taken) if dot.number in wanted else None
        if place:
            taken.append(_label_box(dot, *place))
            dot = replace(dot, label=DotLabel(str(dot.number), *place))
        found.append(dot)
    return found


_Box = tuple[float, float, float, float]  # left, right, top, bottom


def _free_place(dot: TrialDot, taken: Sequence[_Box]) -> tuple[int, int, str] | None:
    for place in _LABEL_PLACES:
        box = _label_box(dot, *place)
        if not any(_overlap(box, other) for other in taken):
            return place
    return None


def _label_box(dot: TrialDot, dx: int, dy: int, anchor: str) -> _Box:
    wide = _DIGIT_PX * len(str(dot.number))
    aside = {"start": wide / 2, "end": -wide / 2, "middle": 0}[anchor]
    return _box(dot, dx + aside, dy - _LETTERS_PX / 2, wide, _LETTERS_PX)


def _box(dot: TrialDot, dx: float, dy: float, wide: float, high: float) -> _Box:
    x, y = dot.x * _DRAWING_PX / 100 + dx, dot.y * _DRAWING_PX / 100 + dy
    return x - wide / 2, x + wide / 2, y - high / 2, y + high / 2


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]

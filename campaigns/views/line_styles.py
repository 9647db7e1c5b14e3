"""How the arms of several targets are told apart: by colour, dash and marker together."""

from dataclasses import dataclass

_CIRCLE = "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z"
_SQUARE = "M-3.8-3.8H3.8V3.8H-3.8Z"
_TRIANGLE = "M0-5 4.8 3.8H-4.8Z"
_DIAMOND = "M0-5.2 5.2 0 0 5.2-5.2 0Z"
# As Chart.js calls a mark, its path around 0, and whether it is hollow.
_MARKS = (
    ("circle", _CIRCLE, True),
    ("rect", _SQUARE, False),
    ("triangle", _TRIANGLE, True),
    ("rectRot", _DIAMOND, False),
    ("rect", _SQUARE, True),
    ("circle", _CIRCLE, False),
    ("rectRot", _DIAMOND, True),
    ("triangle", _TRIANGLE, False),
)
_DASHES = ((), (7, 4), (2, 3), (9, 3, 2, 3))


@dataclass(frozen=True, slots=True)
class LineStyle:
    """`token`: its colour, a custom property of tokens.css; `mark`: the path of its marker."""

    token: str
    dash: tuple[int, ...]
    shape: str
    mark: str
    is_hollow: bool

    @property
    def dash_text(self) -> str:
        return " ".join(map(str, self.dash))


def line_style(number: int) -> LineStyle:
    """Of the arm with this number, from 0; from the ninth on the colours come again with another
    dash."""
    shape, mark, is_hollow = _MARKS[number % len(_MARKS)]
    dash = _DASHES[(number + number // len(_MARKS)) % len(_DASHES)]
    return LineStyle(f"series-{number % len(_MARKS) + 1}", dash, shape, mark, is_hollow)

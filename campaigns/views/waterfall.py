"""Positions of a request's waterfall bars: x in percent of the width, y in px. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.queries.probes import ProbePhase, ProbeReport
from campaigns.views.drawings import TICK_STEPS, Tick, round_up

_ROW, _BAR, _FOOT = 26, 14, 24
# A phase that took no time is still visible.
_LEAST_WIDTH = 0.2


@dataclass(frozen=True, slots=True)
class Bar:
    """`middle` is the baseline of its texts; `end` is where its value text begins."""

    name: str
    text: str
    x: float
    width: float
    end: float
    y: float
    middle: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    bars: list[Bar]
    ticks: list[Tick]
    floor: int
    height: int


def draw_waterfall(parts: Sequence[ProbePhase]) -> Waterfall:
    """One row per part, on one time axis in ms."""
    total_ms = max((part.start_us + part.duration_us for part in parts), default=0) / 1000 or 0.001
    step_ms = round_up(total_ms / 4, TICK_STEPS)
    ticks_ms = [step_ms * n for n in range(int(total_ms * 1.02 / step_ms) + 1)]
    scale = 100 / max(total_ms, ticks_ms[-1])
    floor = len(parts) * _ROW
    return Waterfall(
        bars=[_bar(part, row, scale / 1000) for row, part in enumerate(parts)],
        ticks=[Tick(round(ms * scale, 3), f"{ms:,.12g}") for ms in ticks_ms],
        floor=floor,
        height=floor + _FOOT,
    )


def _bar(part: ProbePhase, row: int, scale_us: float) -> Bar:
    y = row * _ROW + (_ROW - _BAR) / 2
    x = round(part.start_us * scale_us, 3)
    width = max(_LEAST_WIDTH, round(part.duration_us * scale_us, 3))
    end = round(x + width, 3)
    return Bar(part.name, f"{part.duration_ms} ms", x, width, end, y, middle=y + _BAR / 2 + 4)


@dataclass(frozen=True, slots=True)
class StackedPart:
    """One part in a stacked bar; its label is as long as there is room for it."""

    name: str
    label: str
    title: str
    x: float
    width: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One row of parts for each report, in their order, on one axis in ms."""

    rows: list[list[StackedPart]]
    ticks: list[Tick]


# In percent of a bar that is some 420 px wide: a name needs 66 px, a number 24.
_NAME_WIDTH, _NUMBER_WIDTH = 16, 7


def draw_stacked(reports: Sequence[ProbeReport | None]) -> Stacked:
    """Each request as one bar of its parts; no parts where no answer came."""
    ends = [each.parts[-1] for each in reports if each and each.parts]
    total_ms = max((end.start_us + end.duration_us for end in ends), default=0) / 1000 or 1
    step_ms = round_up(total_ms / 4, TICK_STEPS)
    n_steps = int(total_ms / step_ms) + 1
    scale = 100 / (n_steps * step_ms)
    return Stacked(
        rows=[
            [_part(part, scale / 1000) for part in each.parts] if each else [] for each in reports
        ],
        ticks=[Tick(round(n * step_ms * scale, 3), f"{n * step_ms:,.12g}") for n in range(n_steps)],
    )


def _part(part: ProbePhase, scale_us: float) -> StackedPart:
    width = max(_LEAST_WIDTH, round(part.duration_us * scale_us, 3))
    named = f"{part.name} {part.duration_ms}"
    label = named if width >= _NAME_WIDTH else part.duration_ms if width >= _NUMBER_WIDTH else ""
    return StackedPart(part.name, label, f"{named} ms", round(part.start_us * scale_us, 3), width)

"""Positions of a load curve's marks: x in percent of the width, y in px from the top. Pure."""

from dataclasses import dataclass

from campaigns.domain.plan.load_curve import LoadCurve
from campaigns.views.drawings import TICK_STEPS, Tick, round_up

_TOP, FLOOR, _MARK = 8.0, 156.0, 7
# Minimum distance, in percent, between the labels of the warm-up's start and of 0.
_LEAST_GAP = 10
# The last part of a load without a planned end is dotted.
_SOLID_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class LoadDrawing:
    """`zero` is the start of the measurement, after the warm-up. `line`, `dotted` and `arrivals`
    are SVG paths, "" if there is none.
    """

    zero: float
    line: str
    dotted: str
    arrivals: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]


def draw_load(curve: LoadCurve) -> LoadDrawing:
    x_step = round_up(curve.end_s / 4, TICK_STEPS)
    y_step = round_up(1.15 * curve.peak / 3, TICK_STEPS)
    top = y_step * -(-1.15 * curve.peak // y_step)

    def x(second: float) -> float:
        return round(100 * (second - curve.begin_s) / (curve.end_s - curve.begin_s), 3)

    def y(level: float) -> float:
        return round(FLOOR - (FLOOR - _TOP) * level / top, 2)

    seconds = [curve.begin_s] if x(0) > _LEAST_GAP else []
    n_ticks = 0 if curve.is_open_ended else int(curve.end_s / x_step * 1.001)
    seconds += [x_step * n for n in range(n_ticks + 1)]
    levels = [y_step * n for n in range(round(top / y_step) + 1)]
    corners = [(x(second), y(level)) for second, level in curve.points]
    solid, dotted = _divided(corners) if curve.is_open_ended else (corners, [])
    return LoadDrawing(
        zero=x(0),
        line=_path(solid),
        dotted=_path(dotted),
        arrivals="".join(f"M{x(second):g} {FLOOR:g}v-{_MARK}" for second in curve.arrivals_s),
        x_ticks=[Tick(x(second), f"{second:,.12g}".replace("-", "−")) for second in seconds],
        y_ticks=[Tick(y(level), f"{level:,.12g}") for level in levels],
    )


def _divided(corners: list[tuple[float, float]]) -> tuple[list, list]:
    (start, _), (end, level) = corners[-2:]
    middle = (start + (end - start) * _SOLID_SHARE, level)
    return [*corners[:-1], middle], [middle, (end, level)]


def _path(corners: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in corners) if corners else ""

"""A plan's load over time, as a drawing shows it: arrivals a second, or connections."""

from dataclasses import dataclass

from campaigns.domain.plan.load import (
    Distribution,
    Load,
    Model,
    mean_rate_per_s,
    peak_rate_per_s,
    planned_arrivals,
    planned_duration_s,
)

# More single starts than this are indistinguishable in a drawing.
MOST_ARRIVALS = 120
# The minimum time that a drawing shows if only the target decides how long the load lasts.
_OPEN_END_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """`points`: (second, level), from minus the warm-up to the end; between two of them the level
    changes evenly. `peak`: the highest level. `arrivals_s`: when single arrivals are due, [] where
    they are random or too many to draw. `is_open_ended`: the target decides when it ends.
    """

    points: list[tuple[float, float]]
    peak: float
    arrivals_s: list[float]
    is_open_ended: bool

    @property
    def begin_s(self) -> float:
        return self.points[0][0]

    @property
    def end_s(self) -> float:
        return self.points[-1][0]


def load_curve(load: Load, warm_up_s: float) -> LoadCurve:
    """The curve of a load that was checked, with its warm-up before second 0."""
    duration_s = planned_duration_s(load)
    end_s = duration_s or max(_OPEN_END_S, warm_up_s * 4, 1.5 * (load.ramp_up_s - warm_up_s))
    peak, begin_s = _peak(load), -warm_up_s
    if load.stages:
        points = _stage_points(load, warm_up_s)
    elif load.ramp_up_s:  # which is always shorter than the load; load_rules sees to that
        points = [(begin_s, 0), (begin_s + load.ramp_up_s, peak), (end_s, peak)]
    else:
        points = [(begin_s, peak), (end_s, peak)]
    return LoadCurve(points, peak, _arrivals_s(load), is_open_ended=duration_s is None)


def _peak(load: Load) -> float:
    match load.model:
        case Model.CLOSED:
            return load.connections
        case Model.SEQUENTIAL:
            return 1
        case Model.WINDOW:
            return load.high
    return peak_rate_per_s(load)


def _stage_points(load: Load, warm_up_s: float) -> list[tuple[float, float]]:
    """Two points a stage, so that a step is upright; the warm-up has the first stage's rate."""
    first = load.stages[0].from_per_s
    points = [(-warm_up_s, first), (0.0, first)] if warm_up_s else []
    begin_s = 0.0
    for stage in load.stages:
        points.append((begin_s, stage.from_per_s))
        begin_s += stage.duration_s
        points.append((begin_s, stage.to_per_s))
    return points


def _arrivals_s(load: Load) -> list[float]:
    if load.stages or load.distribution != Distribution.DETERMINISTIC:
        return []
    count, rate_per_s = planned_arrivals(load), mean_rate_per_s(load)
    if rate_per_s is None or count is None or count > MOST_ARRIVALS:
        return []
    return [number / rate_per_s for number in range(count)]

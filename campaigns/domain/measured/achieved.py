"""The load that was achieved, against the planned one: only times of like loads are comparable.

Loads are compared by what the plan controls. An open load controls the rate; the number in flight
depends on the target. A closed load controls the number in flight; a slower target lowers its rate,
which is a result, not a fault.
"""

from collections.abc import Sequence
from typing import Protocol

from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.load import Model, planned_duration_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import ThinkKind
from campaigns.domain.units import figure, percent

MAX_DIFFERENCE = 0.05
_SCHEDULED = {Model.OPEN, Model.OVER}
# A closed load runs dry at its end, which matters if there are few rounds.
_MIN_ROUNDS = 20


class Loaded(Protocol):
    """The load figures of a `measured.measurement.Measurement`."""

    @property
    def sent_per_s(self) -> float | None: ...

    @property
    def mean_in_flight(self) -> float | None: ...


def sent_per_s(
    plan: Plan, total: Total, duration_s: float, sending_s: float | None = None
) -> float | None:
    """Requests/s of a run that ended as planned. `sending_s`: from the start of measuring to the
    last request's start, if known.

    A schedule's rate is what was sent over its planned time, or over the actual time if longer,
    without waiting for the last replies or the last sessions' remaining calls.
    """
    if plan.calls_per_arrival > 1:
        sending_s = None
    sent = total.count("started") - total.count("dropped")
    planned_s = planned_duration_s(plan.load) if plan.load.model in _SCHEDULED else None
    over_s = max(planned_s, sending_s or 0.0) if planned_s else duration_s
    return sent / over_s if over_s else None


def sent_until_stopped(total: Total, duration_s: float) -> float | None:
    """Requests/s of a run that did not last its planned time, so over its actual duration."""
    sent = total.count("started") - total.count("dropped")
    return sent / duration_s if duration_s else None


def mean_in_flight(total: Total, duration_s: float) -> float | None:
    """The exact mean over time: total time in attempts over the run's duration."""
    if not duration_s:
        return None
    return (total.timing("service").sum_us + total.timing("failed").sum_us) / 1e6 / duration_s


def unlike(plan: Plan, first: Sequence[Loaded], second: Sequence[Loaded]) -> str:
    """Why times of two sets of this plan's runs are not comparable, with both numbers; or ""."""
    if plan.load.model in _SCHEDULED:
        name, unit = "sent_per_s", "requests/s sent"
    elif _holds_its_connections(plan):
        name, unit = "mean_in_flight", "requests in flight on average"
    else:
        return ""
    values = [_mean([getattr(each, name) for each in runs]) for runs in (first, second)]
    if None in values or not max(values):
        return ""
    difference = abs(values[0] - values[1]) / max(values)
    if difference <= MAX_DIFFERENCE:
        return ""
    return (
        f"The loads differ: {figure(values[0])} and {figure(values[1])} {unit}, "
        f"{percent(difference, limit=MAX_DIFFERENCE)} apart (limit {percent(MAX_DIFFERENCE)})."
    )


def _holds_its_connections(plan: Plan) -> bool:
    """Whether the number in flight almost always equals the plan's connections."""
    load = plan.load
    if load.model != Model.CLOSED or load.ramp_up_s or load.start_offset_s:
        return False
    if plan.session.think_time.kind != ThinkKind.NONE or plan.exchange is not None:
        return False
    return load.requests is None or load.requests >= _MIN_ROUNDS * (load.connections or 1)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

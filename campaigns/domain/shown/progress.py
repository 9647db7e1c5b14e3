"""How far a run is, in words and as a share."""

from dataclasses import asdict, dataclass
from math import ceil, floor
from typing import Any

from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.units import clock, count, counted, number, percent

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Progress:
    """`share` of what is planned, 0 where only the target decides how long it takes; `measured`:
    "24 s"; `left`: "37:38 left", "" where that is unknown."""

    share: float
    words: str
    measured: str
    left: str = ""

    @property
    def percent(self) -> str:
        return whole_percent(self.share)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def whole_percent(share: float) -> str:
    """The percent that are full, for a title; "" where nothing is known."""
    return percent(floor(round(share * 100, 2)) / 100, decimals=0) if share else ""


def progress_of(seen: Measurement) -> Progress:
    planned_s, last = planned_duration_s(seen.plan.load), seen.last_second
    measured_s = max(0, last + 1) if last is not None else 0
    if last is not None and last < 0:
        return Progress(0.0, f"warming up, {-last} s left", "0 s")
    if planned_s:
        return _of_time(min(measured_s, ceil(planned_s)), planned_s)
    ended, planned = seen.figures.attempts, seen.plan.planned_requests
    of = f", {count(ended)} of {counted(planned, seen.plan.nouns)}" if planned else ""
    share = round(min(1.0, ended / planned), 4) if planned else 0.0
    return Progress(share, f"{_length(measured_s)} measured{of}", _length(measured_s))


def _of_time(measured_s: int, planned_s: float) -> Progress:
    share, left_s = round(min(1.0, measured_s / planned_s), 4), ceil(planned_s) - measured_s
    if planned_s < MINUTE_S:
        of = number(planned_s, 0 if planned_s == int(planned_s) else 1)
        words, left = f"{count(measured_s)} of {of} s measured", f"{left_s} s left"
    else:
        words = f"{clock(measured_s)} of {clock(ceil(planned_s))} measured"
        left = f"{clock(left_s)} left"
    return Progress(share, words, _length(measured_s), left)


def _length(seconds: int) -> str:
    return f"{seconds} s" if seconds < MINUTE_S else clock(seconds)

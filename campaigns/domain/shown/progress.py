"""How far a run is, in words and as a share."""

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.units import count, counted, number


@dataclass(frozen=True, slots=True)
class Progress:
    """`share` of what is planned, 0 where only the target decides how long it takes; `measured`:
    "24 s"."""

    share: float
    words: str
    measured: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def progress_of(seen: Measurement) -> Progress:
    planned_s, last = planned_duration_s(seen.plan.load), seen.last_second
    measured_s = max(0, last + 1) if last is not None else 0
    if planned_s is not None:
        measured_s = min(measured_s, ceil(planned_s))
    if last is not None and last < 0:
        return Progress(0.0, f"warming up, {-last} s left", "0 s")
    if planned_s:
        of = number(planned_s, 0 if planned_s == int(planned_s) else 1)
        return Progress(
            round(min(1.0, measured_s / planned_s), 4),
            f"{count(measured_s)} of {of} s measured",
            f"{count(measured_s)} s",
        )
    ended, planned = seen.figures.attempts, seen.plan.planned_requests
    of = f", {count(ended)} of {counted(planned, seen.plan.nouns)}" if planned else ""
    share = round(min(1.0, ended / planned), 4) if planned else 0.0
    return Progress(share, f"{count(measured_s)} s measured{of}", f"{count(measured_s)} s")

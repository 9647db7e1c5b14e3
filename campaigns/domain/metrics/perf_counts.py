"""What `perf stat` counted on a target's machine: in a second that an agent told, and in a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from campaigns.domain.json_reader import JsonReader, is_number

EVENTS = (
    *("task-clock", "context-switches", "cpu-migrations", "page-faults"),
    *("cycles", "instructions", "branches", "branch-misses"),
)
# Of the whole machine, task-clock is the time of all cores, busy or not: no count of work.
OF_MACHINE = EVENTS[1:]
USER_ONLY = "user space only"
LACKS = ("not supported", "not counted", USER_ONLY)
# Bounds of what an agent or an exporter may tell: an interval, and any figure.
LONGEST_S = 5.0
HIGHEST = 1e18
_LONGEST_FAULT = 400


class PerfOf(StrEnum):
    """What a campaign has counted: nothing, what the agent watches, or all that runs there."""

    NONE = ""
    PROCESSES = "processes"
    MACHINE = "machine"

    @property
    def words(self) -> str:
        return {"processes": "the watched processes", "machine": "the whole machine"}.get(self, "")

    @property
    def events(self) -> tuple[str, ...]:
        return OF_MACHINE if self is PerfOf.MACHINE else EVENTS


def perf_scope(perf: str, *, is_profiled: bool) -> PerfOf:
    """Whom perf looks at in a campaign: also where it only records a profile."""
    return PerfOf(perf) or (PerfOf.PROCESSES if is_profiled else PerfOf.NONE)


def read_perf(reader: JsonReader) -> dict[str, Any]:
    """A second: {"of", "lasted_s", "counts": {event: [count, % of the time that perf had a counter
    for it]}, "lacks": {event: one of LACKS}}, or {"of", "fault": why nothing was counted}.

    An event has the suffix :u where it was counted in user space alone. Events that this release
    does not know are left out.
    """
    of = reader.choice("of", PerfOf, PerfOf.NONE)
    if not of:
        reader.fail("of", "Write processes or machine.")
    if fault := reader.text("fault", limit=_LONGEST_FAULT).strip():
        return {"of": of, "fault": fault}
    lacks = reader.child("lacks").data
    return {
        "of": of,
        "lasted_s": reader.number("lasted_s", 1.0, low=0, high=LONGEST_S, above_low=True),
        "counts": _counts(reader.child("counts")),
        "lacks": {event: why for event, why in lacks.items() if _is_known(event) and why in LACKS},
    }


def _counts(reader: JsonReader) -> dict[str, list[float]]:
    found = {}
    for event in filter(_is_known, reader.data):
        told = reader.data[event]
        if not isinstance(told, list) or len(told) != 2 or not all(map(is_number, told)):
            reader.fail(event, "Write a list of two numbers: the count, and % of the time.")
        elif not 0 <= told[0] <= HIGHEST or not 0 <= told[1] <= 100:
            reader.fail(event, f"Write a count from 0 to {HIGHEST:,.0f}, and % from 0 to 100.")
        else:
            found[event] = told
    return found


def _is_known(event: str) -> bool:
    return event.removesuffix(":u") in EVENTS


@dataclass(frozen=True, slots=True)
class PerfUse:
    """`perf stat` over a run's measured seconds. `rates`: events/s, and % of the time that perf had
    a counter for them; below 100 they are extrapolated. `lacks`: why others have none. `lasted_s`:
    how long it counted. `fault`: why it did not at times, as it was told last."""

    of: PerfOf
    lasted_s: float = 0.0
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "PerfUse":
        rates = {event: tuple(rate) for event, rate in data["rates"].items()}
        return cls(**{**data, "of": PerfOf(data["of"]), "rates": rates})


def perf_use(told: Sequence[Mapping[str, Any]]) -> PerfUse | None:
    """Of seconds as `read_perf` returns them; None without one. An event has its rate over the
    seconds in which it was counted."""
    if not told:
        return None
    of = told[-1]["of"]
    counted = [each for each in told if each["of"] == of and "counts" in each]
    events = dict.fromkeys(event for each in counted for event in each["counts"])
    lacks = {event: why for each in counted for event, why in each["lacks"].items()}
    return PerfUse(
        PerfOf(of),
        sum(each["lasted_s"] for each in counted),
        {event: _rate(event, counted) for event in events},
        {event: why for event, why in lacks.items() if event not in events},
        next((each["fault"] for each in reversed(told) if "fault" in each), ""),
    )


def _rate(event: str, counted: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    seconds = [
        (*each["counts"][event], each["lasted_s"]) for each in counted if event in each["counts"]
    ]
    whole_s = sum(lasted_s for _, _, lasted_s in seconds)
    share_percent = sum(share * lasted_s for _, share, lasted_s in seconds) / whole_s
    return sum(count for count, _, _ in seconds) / whole_s, share_percent


def perf_together(uses: Sequence[PerfUse]) -> PerfUse:
    """Of several machines: the events that all of them counted, added up."""
    first, *others = uses
    shared = [event for event in first.rates if all(event in each.rates for each in others)]
    rates = {
        event: (
            sum(each.rates[event][0] for each in uses),
            min(each.rates[event][1] for each in uses),
        )
        for event in shared
    }
    return PerfUse(first.of, min(each.lasted_s for each in uses), rates)

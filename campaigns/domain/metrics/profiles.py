"""What `perf record` found on a target's machine in a run: the functions in which its CPU time
went.

What `perf stat` counted on a target's machine: in a second that an agent told, and in a run.

How the shares of functions in the CPU time differ between the profiles of two sides: samples are
counts, so a difference has Newcombe's interval of two shares, which is made of Wilson's intervals
of each (Statistics in Medicine 17, 1998, method 10). Runs differ by more than chance alone: the
samples count for as many fewer as the runs of a side vary more than binomially (Pearson's X² over
its degrees of freedom). All functions are looked at and only those that changed are shown, so that
the bounds are of all of them together (Bonferroni).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from statistics import NormalDist
from typing import Any, Self

from campaigns.domain.errors import InvalidFields
from campaigns.domain.percentiles import CONFIDENCE
from campaigns.domain.typed_text import JsonReader, is_number, storable

EVENTS = (
    *("task-clock", "context-switches", "cpu-migrations", "page-faults"),
    *("cycles", "instructions", "branches", "branch-misses"),
)
# Of the whole machine, task-clock is the time of all cores, busy or not: no count of work.
OF_MACHINE = EVENTS[1:]
USER_ONLY = "user space only"
LACKS = ("not supported", "not counted", USER_ONLY)
# Bounds of what an exporter may tell: an interval, and any figure.
LONGEST_S = 5.0
HIGHEST = 1e18
_LONGEST_FAULT = 400
_ROUNDING_S = 0.001
_TOTALS = (
    "benchsite_perf_events_total",
    "benchsite_perf_seconds_total",
    "benchsite_perf_running_seconds_total",
)
_LACK, _FAULT = "benchsite_perf_lack", "benchsite_perf_fault"
PERF_METRICS = (*_TOTALS, _LACK, _FAULT)


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


_WHOM = (PerfOf.PROCESSES, PerfOf.MACHINE)
# The count, for how many seconds it was counted, and for how many of these by a counter.
Totals = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PerfReading:
    """What an agent's perf has counted so far. `totals` and `lacks` (why there is none) are by whom
    and event, `faults` (why nothing is counted now) by whom.

    An event has the suffix :u where it was counted in user space alone.
    """

    totals: dict[tuple[str, str], Totals] = field(default_factory=dict)
    lacks: dict[tuple[str, str], str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, samples: Mapping[str, Iterable[tuple[str, Mapping[str, str], float]]]) -> Self:
        """Of samples by their names, which are PERF_METRICS. What is not known is left out."""

        def rows(metric: str) -> Iterator[tuple[tuple[str, str], Mapping[str, str], float]]:
            for _, labels, value in samples.get(metric, ()):
                of, event = labels.get("of", ""), labels.get("event", "")
                if of in _WHOM and event.removesuffix(":u") in EVENTS:
                    yield (of, event), labels, value

        counts = [{key: value for key, _, value in rows(metric)} for metric in _TOTALS]
        reasons = {key: labels.get("reason", "") for key, labels, _ in rows(_LACK)}
        faults = [labels for _, labels, _ in samples.get(_FAULT, ())]
        return cls(
            {
                key: tuple(each[key] for each in counts)
                for key in counts[0]
                if all(key in each for each in counts)
            },
            {key: why for key, why in reasons.items() if why in LACKS},
            {
                each.get("of", ""): storable(each.get("reason", ""))[:_LONGEST_FAULT]
                for each in faults
            },
        )

    def since(self, before: Self) -> dict[str, Any] | None:
        """What was counted between two readings: {"of", "lasted_s", "counts": {event: [count, % of
        the time that perf had a counter for it]}, "lacks": {event: one of LACKS}}, or {"of",
        "fault"}. None where nothing was to be counted, or the agent began anew."""
        for of in _WHOM:
            growth = {}
            for (whom, event), totals in self.totals.items():
                if whom == of:  # what was not there before began since
                    then = before.totals.get((whom, event), (0.0, 0.0, 0.0))
                    growth[event] = [now - old for now, old in zip(totals, then, strict=True)]
            lasted_s = max((each[1] for each in growth.values()), default=0.0)
            if 0 < lasted_s <= LONGEST_S:
                lacks = {event: why for (whom, event), why in self.lacks.items() if whom == of}
                # Without an event that was not counted for some of the time.
                counts = {
                    event: [round(count, 3), min(100.0, round(100 * running_s / counted_s, 2))]
                    for event, (count, counted_s, running_s) in growth.items()
                    if count >= 0 and running_s >= 0 and counted_s > lasted_s - _ROUNDING_S
                }
                return {"of": of, "lasted_s": round(lasted_s, 6), "counts": counts, "lacks": lacks}
        return next(
            ({"of": of, "fault": self.faults[of]} for of in _WHOM if of in self.faults), None
        )


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


def perf_use(readings: Sequence[Mapping[str, Any]]) -> PerfUse | None:
    """Of seconds as `PerfReading.since` tells them; None without one. An event has its rate over
    the seconds in which it was counted."""
    if not readings:
        return None
    of = readings[-1]["of"]
    seconds = [each for each in readings if each["of"] == of and "counts" in each]
    events = dict.fromkeys(event for each in seconds for event in each["counts"])
    lacks = {event: why for each in seconds for event, why in each["lacks"].items()}
    return PerfUse(
        PerfOf(of),
        sum(each["lasted_s"] for each in seconds),
        {event: _rate(event, seconds) for event in events},
        {event: why for event, why in lacks.items() if event not in events},
        next((each["fault"] for each in reversed(readings) if "fault" in each), ""),
    )


def _rate(event: str, readings: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    seconds = [
        (*each["counts"][event], each["lasted_s"]) for each in readings if event in each["counts"]
    ]
    whole_s = sum(lasted_s for _, _, lasted_s in seconds)
    share_percent = sum(share * lasted_s for _, share, lasted_s in seconds) / whole_s
    return sum(count for count, _, _ in seconds) / whole_s, share_percent


def perf_together(uses: Sequence[PerfUse]) -> PerfUse:
    """Of several machines: the events that all of them counted, added up."""
    first, *others = uses
    of_all = [event for event in first.rates if all(event in each.rates for each in others)]
    rates = {
        event: (
            sum(each.rates[event][0] for each in uses),
            min(each.rates[event][1] for each in uses),
        )
        for event in of_all
    }
    return PerfUse(first.of, min(each.lasted_s for each in uses), rates)


MOST_FUNCTIONS = 30
_LONGEST_PROFILE_FAULT, _LONGEST_NAME = 400, 200
_MOST_SAMPLES, _LONGEST_S = 10**12, 1e6


@dataclass(frozen=True, slots=True)
class ProfiledFunction:
    """`object`: the program, library or kernel that it is in."""

    samples: int
    command: str
    object: str
    symbol: str

    @property
    def names(self) -> tuple[str, str, str]:
        return self.command, self.object, self.symbol


@dataclass(frozen=True, slots=True)
class Profile:
    """`began_s` and `ended_s`: by the site's clock, since the epoch. `samples`: of all functions,
    of which those with most are there. `fault`: why nothing was recorded."""

    of: PerfOf
    began_s: float
    ended_s: float
    samples: int = 0
    functions: tuple[ProfiledFunction, ...] = ()
    fault: str = ""

    @property
    def lasted_s(self) -> float:
        return max(0.0, self.ended_s - self.began_s)

    def share(self, function: ProfiledFunction) -> float:
        return function.samples / self.samples

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        functions = tuple(ProfiledFunction(**each) for each in data["functions"])
        return cls(**{**data, "of": PerfOf(data["of"]), "functions": functions})


def read_profile(data: Any, ended_s: float) -> Profile:
    """As an agent answers at `ended_s`: {"of", "lasted_s", "samples", "functions": [[samples,
    command, object, symbol], …]}, or {"of", "lasted_s", "fault"}. Raises InvalidFields."""
    reader = JsonReader(data, "profile")
    of = reader.choice("of", PerfOf, PerfOf.NONE)
    if not of:
        reader.fail("of", "Write processes or machine.")
    lasted_s = reader.number("lasted_s", 0.0, low=0, high=_LONGEST_S) or 0.0
    samples = round(reader.number("samples", 0, low=0, high=_MOST_SAMPLES) or 0)
    rows = reader.data.get("functions", [])
    is_right = isinstance(rows, list) and len(rows) <= MOST_FUNCTIONS and all(map(_is_row, rows))
    if not is_right or sum(row[0] for row in rows) > samples:
        reader.fail(
            "functions",
            f"Write at most {MOST_FUNCTIONS} lists of samples, command, object and symbol, and "
            "no more samples than all.",
        )
    fault = storable(reader.text("fault", limit=_LONGEST_PROFILE_FAULT)).strip()
    if reader.errors:
        raise InvalidFields(reader.errors)
    functions = tuple(
        ProfiledFunction(round(row[0]), *(storable(name) for name in row[1:])) for row in rows
    )
    return Profile(of, ended_s - lasted_s, ended_s, samples, functions, fault)


def _is_row(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 4:
        return False
    count, *names = row
    is_named = all(isinstance(name, str) and len(name) <= _LONGEST_NAME for name in names)
    return is_named and is_number(count) and 0 <= count <= _MOST_SAMPLES


def faults_of(profiles: Iterable[Profile]) -> list[str]:
    """Why some recorded nothing, each once."""
    return list(dict.fromkeys(each.fault for each in profiles if each.fault))


Names = tuple[str, str]
# Where fewer are expected, X² says little.
_FEWEST_EXPECTED = 5


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Of a function, without the command: its shares, of what was listed, and the bounds of their
    difference."""

    object: str
    symbol: str
    before: float
    after: float
    low: float
    high: float

    @property
    def growth(self) -> float:
        return self.after - self.before

    @property
    def is_certain(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class _Side:
    """The runs of a side that recorded anything, each with its samples by function. An agent lists
    those with most: `hidden` is how many samples of another each may have."""

    totals: tuple[int, ...]
    counts: tuple[Counter[Names], ...]
    hidden: tuple[int, ...]

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> "_Side":
        runs = [profile for profile in profiles if profile.samples]
        counts = tuple(Counter() for _ in runs)
        for run, count in zip(runs, counts, strict=True):
            for each in run.functions:
                count[each.object, each.symbol] += each.samples
        lists = [[each.samples for each in run.functions] for run in runs]
        hidden = (
            0 if len(own) < MOST_FUNCTIONS else min(min(own), run.samples - sum(own))
            for run, own in zip(runs, lists, strict=True)
        )
        return cls(tuple(each.samples for each in runs), counts, tuple(hidden))

    def samples(self, names: Names) -> tuple[int, int]:
        """(at least, at most)"""
        n_listed = sum(counts[names] for counts in self.counts)
        pairs = zip(self.counts, self.hidden, strict=True)
        return n_listed, n_listed + sum(n_more for counts, n_more in pairs if not counts[names])

    def deviation(self, names: Names) -> tuple[float, int]:
        """(X², degrees of freedom) of the runs' shares of a function; (0, 0) where they say
        little."""
        share = self.samples(names)[0] / sum(self.totals)
        fewest = min(self.totals) * min(share, 1 - share)
        if fewest < _FEWEST_EXPECTED or not all(each[names] for each in self.counts):
            return 0.0, 0
        pairs = zip(self.counts, self.totals, strict=True)
        squares = sum((each[names] - n * share) ** 2 / n for each, n in pairs)
        return squares / (share * (1 - share)), len(self.totals) - 1


def share_changes(before: Sequence[Profile], after: Sequence[Profile]) -> list[ShareChange]:
    """Of each function that either side lists: those that grew most first, those that fell most
    last. Both sides have samples."""
    old, new = _Side.of(before), _Side.of(after)
    every = {names: None for side in (old, new) for each in side.counts for names in each}
    if not every:
        return []
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(every))
    deviations = [side.deviation(names) for side in (old, new) for names in every]
    freedom = sum(degrees for _, degrees in deviations)
    spread = max(1.0, sum(squares for squares, _ in deviations) / freedom) if freedom else 1.0
    n_old, n_new = sum(old.totals), sum(new.totals)
    changes = []
    for names in every:
        (least_old, most_old), (least_new, most_new) = old.samples(names), new.samples(names)
        low, _ = _difference((most_old, n_old), (least_new, n_new), z * z * spread)
        _, high = _difference((least_old, n_old), (most_new, n_new), z * z * spread)
        changes.append(ShareChange(*names, least_old / n_old, least_new / n_new, low, high))
    return sorted(changes, key=lambda each: -each.growth)


def _difference(
    before: tuple[int, int], after: tuple[int, int], squared_z: float
) -> tuple[float, float]:
    """Newcombe's interval of the second share minus the first, of (samples, of all)."""
    p, (p_low, p_high) = before[0] / before[1], _wilson(*before, squared_z)
    q, (q_low, q_high) = after[0] / after[1], _wilson(*after, squared_z)
    return q - p - math.hypot(q - q_low, p_high - p), q - p + math.hypot(q_high - q, p - p_low)


def _wilson(samples: int, of_all: int, squared_z: float) -> tuple[float, float]:
    share, weight = samples / of_all, squared_z / of_all
    middle = share + weight / 2
    half = math.sqrt(weight * share * (1 - share) + weight * weight / 4)
    return (middle - half) / (1 + weight), (middle + half) / (1 + weight)

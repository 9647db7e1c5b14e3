"""A run's measurement: seconds are added one by one, the injectors' ends close it. And the load
that it achieved, against the planned one: only times of like loads are comparable.

Summaries, the live page, the command line and thresholds all read this value, so they agree.

Loads are compared by what the plan controls. An open load controls the rate; the number in flight
depends on the target. A closed load controls the number in flight; a slower target lowers its rate,
which is a result, not a fault.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from campaigns.domain.metrics.figures import (
    QUIETER,
    Figures,
    QuieterSeconds,
    figures_of,
    read_total,
)
from campaigns.domain.metrics.injector_end import NO_END, InjectorEnd, most_of, sending_s_of
from campaigns.domain.metrics.outcomes import FailureRow, FailureTally, rows_of_totals
from campaigns.domain.metrics.series import BodyWatch, Point, most_in_flight, point_of
from campaigns.domain.metrics.snapshot import Second, Total, joined, late
from campaigns.domain.plan.flows import steps_of
from campaigns.domain.plan.load import Model, planned_duration_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import ThinkKind
from campaigns.domain.units import counted, duration, figure, percent

VITALS = (
    "cpu_share", "other_cpu_share", "other_cores", "steal_share", "run_delay_share",
    "throttled_share", "hub_lag_max_us", "lateness_p99_us", "own_delay_p99_us", "gc_pause_max_us",
    "gc_share", "open_connections", "open_files", "open_files_share", "ports_share",
    "swapped_pages", "clock_step_us", "link_share", "packets_lost_share", "rss_bytes",
)  # fmt: skip


@dataclass(slots=True)
class Vitals:
    """One injector's vitals over its measured seconds, which are added in order."""

    seconds: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, second: int, values: Mapping[str, float]) -> None:
        self.seconds += 1
        for name in VITALS:
            if (value := values.get(name)) is not None:
                if name not in self.worst or value > self.worst[name]:
                    self.worst[name], self.at[name] = value, second
                self.sums[name] = self.sums.get(name, 0) + value
                self.counts[name] = self.counts.get(name, 0) + 1

    def state(self) -> dict[str, Any]:
        """All of it as JSON, from which `of_state` goes on."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        return cls(**{name: state[name] for name in cls.__slots__})

    def to_json(self) -> dict[str, Any]:
        """{"seconds", "worst", "at": its second, "mean"}."""
        return {
            "seconds": self.seconds,
            "worst": dict(self.worst),
            "at": dict(self.at),
            "mean": {name: total / self.counts[name] for name, total in self.sums.items()},
        }


class Judge(Protocol):
    """Checks the totals after each second and gives the final verdicts; see `ThresholdJudge`."""

    broken_since: list[int | None]

    def look(self, second: int, totals: Sequence[Total], duration_s: float) -> None: ...

    def verdicts(self, totals: Sequence[Total], duration_s: float) -> list[Any]: ...


@dataclass(slots=True)
class Measurement:
    """One run. `steps` has a total per plan step, `total` covers all of them; the warm-up is only
    in `series`, as the points before second 0.

    `n_added` counts what was added. `hosts` has each injector's host by number. `last_seconds` has
    the last second expected of each injector, None while it has not ended as planned. `failures`
    are as of the last `settle`, most frequent first. `is_whole`: the run ended as planned, or is
    still active. Times are as of the last `settle`: `duration_s` counts whole seconds until all
    injectors have ended, and is exact then.
    """

    plan: Plan
    hosts: Mapping[int, str] = field(default_factory=lambda: {0: ""})
    judge: Judge | None = None
    last_seconds: Mapping[int, int | None] = field(default_factory=dict)
    is_whole: bool = True
    total: Total = field(default_factory=Total)
    steps: list[Total] = field(default_factory=list)
    warm_up: Total = field(default_factory=Total)
    series: list[Point] = field(default_factory=list)
    duration_s: float = 0.0
    vitals: list[dict[str, Any]] = field(default_factory=list)
    thresholds: list[Any] = field(default_factory=list)
    failures: list[FailureRow] = field(default_factory=list)
    n_added: int = 0
    _ends: dict[int, InjectorEnd] = field(default_factory=dict)
    _present: int | None = None
    _parts: list[tuple[int, Second]] = field(default_factory=list)
    _vitals: dict[int, Vitals] = field(default_factory=dict)
    _tally: FailureTally = field(init=False)
    _bodies: BodyWatch = field(default_factory=BodyWatch)
    _quieter: QuieterSeconds = field(default_factory=QuieterSeconds)

    def __post_init__(self) -> None:
        self._tally = FailureTally(self.plan)
        self.steps = self.steps or [Total() for _ in self.plan.labels]

    def add(self, second: Second, injector: int = 0) -> None:
        """Add what one injector measured in one second at one step. Seconds must come in order, all
        rows of one before the next; raises ValueError for one that already has a point."""
        if second.second != self._present:
            if self._present is not None and second.second < self._present:
                raise ValueError(f"Second {second.second} comes after second {self._present}.")
            self._make_point()
            if self.judge and self._present is not None and self._present >= 0:
                self.judge.look(self._present, [self.total, *self.steps], self._passed_s())
            self._present = second.second
        elif not self._parts:
            raise ValueError(f"Second {second.second} was told already.")
        self._parts.append((injector, second))
        self.n_added += 1
        if second.second < 0:
            self.warm_up.add(second)
            return
        self.total.add(second)
        self._tally.add(second)
        if second.step < len(self.steps):
            self.steps[second.step].add(second)
        if second.vitals:
            self._vitals.setdefault(injector, Vitals()).add(second.second, second.vitals)

    def close(self, end: InjectorEnd, injector: int = 0) -> None:
        """Add an injector's end line; an empty one for a lost injector."""
        self._ends[injector] = end

    def settle(self) -> Self:
        """Call when the last second is complete: updates duration, vitals, thresholds and the times
        of the quieter seconds."""
        self._make_point()
        self.duration_s = self._duration_s()
        totals, timings = [self.total, *self.steps], self._quieter.timings(len(self.steps))
        for total, timing in zip(totals, timings, strict=True):
            if timing.n:
                total.timings[QUIETER] = timing
        self.failures = self._tally.rows
        self.vitals = [
            {"shard": number, **self._vitals.get(number, Vitals()).to_json(), "host": host}
            for number, host in sorted(self.hosts.items())
        ]
        if self.judge and (self.series or self.is_over):
            self.thresholds = self.judge.verdicts([self.total, *self.steps], self.duration_s)
        return self

    def _make_point(self) -> None:
        """Points never change: later rows of the same second appear only in the run's summary."""
        if not self._parts:
            return
        is_measured = self._present >= 0
        if is_measured:
            self._quieter.add([part for _, part in self._parts])
        change = self._bodies.change(part for _, part in self._parts) if is_measured else None
        self.series.append(point_of(self._present, self._parts, self.last_seconds, change))
        self._parts.clear()

    @property
    def last_second(self) -> int | None:
        return self.series[-1]["second"] if self.series else None

    @property
    def ends(self) -> list[InjectorEnd]:
        """Each injector's end line by number; empty if it has not ended."""
        return [self._ends.get(number, NO_END) for number in sorted({*self.hosts, *self._ends})]

    @property
    def is_over(self) -> bool:
        """Whether every injector has ended or was lost."""
        return len(self._ends) >= len(self.hosts)

    def _duration_s(self) -> float:
        """The measured time (snapshot.py), as far as it has come.

        Exact if all injectors reported it; older ones reported when their last request ended.
        Otherwise estimated from seconds: the plan's duration if the last request ended in that
        second or in the tail, else the end of the last second in which one ended.
        """
        if not self.is_over:
            return self._passed_s()
        for name in ("measured_us", "duration_us"):
            exact = [getattr(end, name) for end in self.ends]
            if exact and None not in exact:
                return max(exact) / 1e6
        seconds = [
            point["second"]
            for point in self.series
            if point["second"] >= 0 and point["ok"] + point["failed"] + point["dropped"]
        ]
        if not seconds:
            return 0.0
        planned_s = planned_duration_s(self.plan.load)
        if planned_s is not None and self.total.count("late_us"):
            return planned_s
        if planned_s is not None and self.is_whole:
            return float(min(max(planned_s, seconds[-1]), seconds[-1] + 1))
        return float(seconds[-1] + 1)

    def _passed_s(self) -> float:
        """Of a run under way: to its last whole second, or to where its load has ended."""
        if not self.series:
            return 0.0
        passed_s = max(0.0, self.series[-1]["second"] + 1.0)
        if (planned_s := planned_duration_s(self.plan.load)) is not None:
            return min(passed_s, planned_s)
        if not (n_all := self.plan.planned_requests) or self.total.count("started") < n_all:
            return passed_s
        last = next(point["second"] for point in reversed(self.series) if point["started"])
        return min(passed_s, last + 1.0)

    @property
    def flows(self) -> list[Total]:
        """What was measured of each flow of the plan: of all its steps."""
        return [joined(self.steps[part.start : part.stop]) for part in steps_of(self.plan.flows)]

    @property
    def figures(self) -> Figures:
        return figures_of(self.total, self.duration_s)

    @property
    def sending_s(self) -> float | None:
        return sending_s_of(self.ends)

    @property
    def tail_words(self) -> str:
        """What came after the measured time; "" for nothing."""
        n_ok, n_failed = (self.total.count(late(name)) for name in ("ok", "failed"))
        if not n_ok + n_failed:
            return ""
        after = f"{figure(self.tail_s)} s" if self.tail_s < 1 else duration(self.tail_s)
        came = f"{n_ok:,} {'reply' if n_ok == 1 else 'replies'} came" if n_ok else ""
        failures = f"{counted(n_failed, self.plan.nouns)} failed" if n_failed else ""
        return f"{' and '.join(filter(None, (came, failures)))} up to {after}"

    @property
    def tail_s(self) -> float:
        """How long after its measured time the last request of an injector ended, s."""
        return (most_of(self.ends, "tail_us") or 0) / 1e6

    @property
    def sent_per_s(self) -> float | None:
        """A whole run's rate over its planned time, any other's until its end."""
        if self.is_whole and self.is_over:
            return sent_per_s(self.plan, self.total, self.duration_s, self.sending_s)
        return _sent_per_s(self.total, max(self.duration_s, self.sending_s or 0.0))

    @property
    def mean_in_flight(self) -> float | None:
        return mean_in_flight(self.total, self.duration_s)

    @property
    def most_in_flight(self) -> int | None:
        """The maximum at the end of a second."""
        return most_in_flight(self.series)

    def by_second(self, name: str) -> dict[int, int]:
        """A count of `Point` by measured second; {} if older points lack it."""
        return {
            point["second"]: point[name]
            for point in self.series
            if point["second"] >= 0 and name in point
        }

    def state(self) -> dict[str, Any]:
        """What a settled measurement under way goes on from, as JSON, without its points."""
        return {
            "n_added": self.n_added,
            "totals": [each.to_json() for each in (self.total, self.warm_up, *self.steps)],
            "vitals": [[number, each.state()] for number, each in self._vitals.items()],
            "failures": [each.to_json() for each in self._tally.by_key.values()],
            "bodies": self._bodies.state(),
            "quieter": self._quieter.state(),
            "broken_since": self.judge.broken_since if self.judge else [],
        }

    def go_on_from(self, state: Mapping[str, Any], series: list[Point]) -> None:
        """An empty measurement becomes the one whose state and points these are."""
        self.n_added = state["n_added"]
        self.total, self.warm_up, *self.steps = map(Total.from_json, state["totals"])
        self._vitals = {number: Vitals.of_state(each) for number, each in state["vitals"]}
        rows = map(FailureRow.from_json, state["failures"])
        self._tally = FailureTally.of_rows(self.plan, rows)
        self._bodies = BodyWatch.of_state(state["bodies"])
        self._quieter = QuieterSeconds.of_state(state["quieter"])
        if self.judge:
            self.judge.broken_since = state["broken_since"]
        self.series = series
        self._present = self.last_second

    def to_json(self) -> dict[str, Any]:
        """The summary's fields, without the warm-up and the total."""
        return {
            "duration_s": self.duration_s,
            "steps": [step.to_json() for step in self.steps],
            "series": self.series,
            "vitals": self.vitals,
            "failures": [each.to_json() for each in self.failures],
            "thresholds": [each.to_json() for each in self.thresholds],
        }

    @classmethod
    def from_json(
        cls,
        plan: Plan,
        data: Mapping[str, Any],
        total: Total,
        ends: Iterable[InjectorEnd] = (),
        *,
        is_whole: bool = True,
        thresholds: list[Any] | None = None,
    ) -> Self:
        """A stored measurement; `steps`, `series` and `failures` may be missing."""
        ends = dict(enumerate(ends))
        measurement = cls(
            plan,
            hosts=dict.fromkeys(ends, ""),
            is_whole=is_whole,
            total=total,
            steps=[read_total(each) for each in data.get("steps", ())],
            series=data.get("series", []),
            _ends=ends,
            duration_s=data["duration_s"],
            vitals=data["vitals"],
            thresholds=thresholds or [],
        )
        rows = [FailureRow.from_json(each) for each in data.get("failures", ())]
        measurement.failures = rows or rows_of_totals(
            measurement.steps if "steps" in data else [measurement.total], plan
        )
        return measurement


MAX_DIFFERENCE = 0.05
_SCHEDULED = {Model.OPEN, Model.OVER}
# A closed load runs dry at its end, which matters if there are few rounds.
_MIN_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part of a run that tables have a row of: a flow, with its steps below it, or a step.

    `kind`: flow or step. `link`: which, {"flow": its name} or {"step": its number from 0}."""

    kind: str
    label: str
    total: Total
    link: dict[str, Any]


def parts_of(run: Measurement) -> list[RunPart]:
    """[] for the only step of a plan without flows."""
    plan = run.plan
    steps = [
        RunPart("step", label, total, {"step": number})
        for number, (label, total) in enumerate(zip(plan.labels, run.steps, strict=False))
    ]
    if not plan.flows:
        return steps if len(plan.labels) > 1 else []
    return [
        part
        for flow, total, numbers in zip(plan.flows, run.flows, steps_of(plan.flows), strict=True)
        for part in (
            RunPart("flow", flow.name, total, {"flow": flow.name}),
            *steps[numbers.start : numbers.stop],
        )
    ]


def sent_per_s(
    plan: Plan, total: Total, duration_s: float, sending_s: float | None = None
) -> float | None:
    """Requests/s of a run that ended as planned. `sending_s`: from the start of measuring to the
    last request's start, if known.

    It is what was sent over the planned time of a schedule, or the measured time of another load,
    or over the actual time of sending if longer, without the last sessions' remaining calls.
    """
    if plan.calls_per_arrival > 1:
        sending_s = None
    planned_s = planned_duration_s(plan.load) if plan.load.model in _SCHEDULED else None
    return _sent_per_s(total, max(planned_s or duration_s, sending_s or 0.0))


def _sent_per_s(total: Total, over_s: float) -> float | None:
    n = total.count("started") - total.count("dropped")
    return n / over_s if over_s else None


def mean_in_flight(total: Total, duration_s: float) -> float | None:
    """The exact mean over the measured time: all time in attempts, without that in the tail."""
    return busy_s(total) / duration_s if duration_s else None


def busy_s(total: Total) -> float:
    """The time in attempts within the measured time, of all together."""
    in_attempts_us = total.timing("service").sum_us + total.timing("failed").sum_us
    return max(0, in_attempts_us - total.count("late_us")) / 1e6


def unlike(plan: Plan, first: Sequence[Measurement], second: Sequence[Measurement]) -> str:
    """Why times of two sets of this plan's runs are not comparable, with both numbers; or ""."""
    if plan.load.model in _SCHEDULED:
        name, unit = "sent_per_s", "requests/s sent"
    elif _holds_its_connections(plan):
        name, unit = "mean_in_flight", "requests in flight on average"
    else:
        return ""
    values = [
        [value for each in runs if (value := getattr(each, name)) is not None]
        for runs in (first, second)
    ]
    if not all(values):
        return ""
    means = [sum(each) / len(each) for each in values]
    if not max(means):
        return ""
    difference = abs(means[0] - means[1]) / max(means)
    if difference <= MAX_DIFFERENCE:
        return ""
    return (
        f"The loads differ: {figure(means[0])} and {figure(means[1])} {unit}, "
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

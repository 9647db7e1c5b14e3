"""A run's measurement: seconds are added one by one, the injectors' ends close it.

Summaries, the live page, the command line and thresholds all read this value, so they agree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from campaigns.domain.measured import achieved
from campaigns.domain.measured.brief import read_total
from campaigns.domain.measured.failures import FailureRow, FailureTally, rows_of_totals
from campaigns.domain.measured.figures import Figures, figures_of
from campaigns.domain.measured.injector_end import NO_END, InjectorEnd, sending_s_of
from campaigns.domain.measured.reply_sizes import BodyWatch
from campaigns.domain.measured.series import Point, most_in_flight, point_of
from campaigns.domain.measured.snapshot import Second, Total
from campaigns.domain.measured.vitals import Vitals
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.plan.plan import Plan


class Judge(Protocol):
    """Checks the total after each second and gives the final verdicts; see `ThresholdJudge`."""

    broken_since: list[int | None]

    def look(self, second: int, total: Total) -> None: ...

    def verdicts(self, total: Total, duration_s: float) -> list[Any]: ...


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

    def __post_init__(self) -> None:
        self._tally = FailureTally(self.plan)
        self.steps = self.steps or [Total() for _ in self.plan.labels]

    def add(self, second: Second, injector: int = 0) -> None:
        """Add what one injector measured in one second at one step. Seconds must come in order, all
        rows of one before the next; raises ValueError for one that already has a point."""
        if second.second != self._present:
            self._begin(second.second)
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
        """Call when the last second is complete: updates duration, vitals and thresholds."""
        self._make_point()
        self.duration_s = self._duration_s()
        self.failures = self._tally.rows
        self.vitals = [
            {"shard": number, **self._vitals.get(number, Vitals()).to_json(), "host": host}
            for number, host in sorted(self.hosts.items())
        ]
        if self.judge and (self.series or self.is_over):
            self.thresholds = self.judge.verdicts(self.total, self.duration_s)
        return self

    def _begin(self, number: int) -> None:
        if self._present is not None and number < self._present:
            raise ValueError(f"Second {number} comes after second {self._present}.")
        self._make_point()
        if self.judge and self._present is not None and self._present >= 0:
            self.judge.look(self._present, self.total)
        self._present = number

    def _make_point(self) -> None:
        """Points never change: later rows of the same second appear only in the run's summary."""
        if not self._parts:
            return
        is_measured = self._present >= 0
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
        """From the start of the measurement to the end of its last request.

        Exact if all injectors reported it. Otherwise estimated from seconds: the plan's duration if
        the last request ended in that second, else the end of the last second in which one ended.
        """
        if not self.is_over:
            return float(max(0, self.series[-1]["second"] + 1)) if self.series else 0.0
        exact = [end.duration_us for end in self.ends]
        if exact and None not in exact:
            return max(exact) / 1e6
        ended = [
            point["second"]
            for point in self.series
            if point["second"] >= 0 and point["ok"] + point["failed"] + point["dropped"]
        ]
        if not ended:
            return 0.0
        planned = planned_duration_s(self.plan.load)
        if planned is not None and self.is_whole:
            return float(min(max(planned, ended[-1]), ended[-1] + 1))
        return float(ended[-1] + 1)

    @property
    def figures(self) -> Figures:
        return figures_of(self.total, self.duration_s)

    @property
    def sending_s(self) -> float | None:
        return sending_s_of(self.ends)

    @property
    def sent_per_s(self) -> float | None:
        """A whole run's rate over its planned time, any other's until its end."""
        if self.is_whole and self.is_over:
            return achieved.sent_per_s(self.plan, self.total, self.duration_s, self.sending_s)
        return achieved.sent_until_stopped(self.total, self.duration_s)

    @property
    def mean_in_flight(self) -> float | None:
        return achieved.mean_in_flight(self.total, self.duration_s)

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
        if self.judge:
            self.judge.broken_since = state["broken_since"]
        self.series = series
        self._present = self.last_second

    def to_json(self) -> dict[str, Any]:
        """The summary's fields, without the warm-up."""
        return {
            "duration_s": self.duration_s,
            "total": self.total.to_json(),
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
        ends: Iterable[InjectorEnd] = (),
        *,
        is_whole: bool = True,
        thresholds: list[Any] | None = None,
        total: Total | None = None,
    ) -> Self:
        """A stored measurement; `steps`, `series` and `failures` may be missing. `total` takes the
        place of the stored one."""
        ends = dict(enumerate(ends))
        seen = cls(
            plan,
            hosts=dict.fromkeys(ends, ""),
            is_whole=is_whole,
            total=read_total(data["total"]) if total is None else total,
            steps=[read_total(each) for each in data.get("steps", ())],
            series=data.get("series", []),
            _ends=ends,
            duration_s=data["duration_s"],
            vitals=data["vitals"],
            thresholds=thresholds or [],
        )
        rows = [FailureRow.from_json(each) for each in data.get("failures", ())]
        seen.failures = rows or rows_of_totals(
            seen.steps if "steps" in data else [seen.total], plan
        )
        return seen

"""A test's history: a point for each campaign, its course, and what was changed in between; and
which sightings are of the same change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from math import log
from typing import NamedTuple

from campaigns.domain.analysis.changes import MIN_SEGMENT, Change, Course, course_of
from campaigns.domain.analysis.ratio import Against, mean_interval

PLAN_VERSION = "Plan version"


class Ends(NamedTuple):
    """A figure as measured, and its lower end where enough requests tell it; in µs."""

    low: float | None
    high: float


class CampaignPoint(NamedTuple):
    """What a test measured in one campaign: over its runs that count, times in µs.

    `values_us`: the metric that the history is about, of each run; () where too few requests
    succeeded, or a busy machine spoilt it. `ends_us`, of mean and percentiles by name, are means
    over these runs, or those of a busy machine. They, `facts`, those that may change from campaign
    to campaign, by name, and `against` its baseline may not have been read. `n` and `errors` are of
    all runs.
    """

    campaign: int
    campaign_name: str
    test: int
    at: datetime
    plan_version: int
    values_us: Sequence[float]
    n: int
    errors: int
    trust: str
    target_state: str
    ends_us: Mapping[str, Ends] = {}
    facts: Mapping[str, str] = {}
    against: Against | None = None

    @property
    def k(self) -> int:
        return len(self.values_us)

    @property
    def is_counted(self) -> bool:
        return bool(self.values_us)

    @property
    def value_us(self) -> float | None:
        return mean_of(self.values_us)

    @property
    def error_share(self) -> float | None:
        return self.errors / (self.n + self.errors) if self.n + self.errors else None

    @property
    def interval_us(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean between runs, not below 0; None with fewer than two."""
        if self.k < 2:
            return None
        interval = mean_interval(self.values_us)
        return interval.low, interval.high


def mean_of(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


_course = lru_cache(maxsize=2000)(course_of)  # histories are looked at more often than they grow


@dataclass(frozen=True, slots=True)
class FactChanges:
    """What was changed before the campaign at `index`: (name, before, after) of each fact."""

    index: int
    differences: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class TestHistory:
    """Points in order of time; `marks` and causes are known where the points have facts.
    `reference` is what was measured beside it to tell the target from the environment."""

    __test__ = False  # pytest: not a test case

    points: Sequence[CampaignPoint]
    known_course: Course | None = None  # computed from the points if it is not
    reference: "TestHistory | None" = None

    @cached_property
    def values_us(self) -> tuple[float | None, ...]:
        """Of each campaign; None where it does not count."""
        return tuple(point.value_us for point in self.points)

    @cached_property
    def course(self) -> Course:
        return self.known_course or _course(self.values_us)

    @property
    def newest(self) -> CampaignPoint | None:
        return self.points[-1] if self.points else None

    @property
    def n_counted(self) -> int:
        return len(self.values_us) - self.values_us.count(None)

    @property
    def is_outlier(self) -> bool:
        """Whether the newest campaign counts and is outside what the ones before it let expect."""
        expected, newest = self.course.expected, self.newest
        return bool(newest and newest.is_counted and expected and expected.is_outlier)

    @property
    def last_change(self) -> Change | None:
        return self.course.changes[-1] if self.course.changes else None

    @cached_property
    def marks(self) -> tuple[FactChanges, ...]:
        changes: list[FactChanges] = []
        latest: dict[str, str] = {}  # as each fact was last told: a target that is down tells none
        for index, point in enumerate(self.points):
            facts = {PLAN_VERSION: f"v{point.plan_version}", **point.facts}
            # A fact that one side does not have is not known there, and no difference. In the order
            # of `facts`: the first is named where there is room for one.
            differences = tuple(
                (name, latest[name], fact)
                for name, fact in facts.items()
                if name in latest and latest[name] != fact
            )
            if differences:
                changes.append(FactChanges(index, differences))
            latest |= facts
        return tuple(changes)

    def causes(self, change: Change) -> tuple[tuple[str, str, str], ...]:
        """What was changed where this change may have begun: it may be the reason for it."""
        return tuple(
            difference
            for mark in self.marks
            if self.before(change) < mark.index <= change.latest
            for difference in mark.differences
        )

    def moved_beside(self, change: Change) -> Change | None:
        """The reference's largest change that may have begun at the same time as this one."""
        first, last = self.range_of(change)
        ranges = self.reference.ranges if self.reference else ()
        same = [each for each, (begin, end) in ranges if begin < last and first < end]
        return max(same, key=lambda each: abs(log(each.ratio)), default=None)

    @property
    def ranges(self) -> list[tuple[Change, tuple[datetime, datetime]]]:
        return [(change, self.range_of(change)) for change in self.course.changes]

    def range_of(self, change: Change) -> tuple[datetime, datetime]:
        """The campaigns after the first of which it began, and with the last at the latest."""
        return self.points[self.before(change)].at, self.points[change.latest].at

    def before(self, change: Change) -> int:
        """The index of the last campaign that is surely on the old level."""
        earlier = (i for i in range(change.earliest - 1, -1, -1) if self.points[i].is_counted)
        return next(earlier, 0)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A change by its places in a history: where the new level begins, and the range in which it
    may have begun."""

    index: int
    earliest: int
    latest: int
    is_higher: bool


def same_changes(sightings: Sequence[Sighting], earlier: Sequence[Sighting]) -> dict[int, int]:
    """Which known change each one seen now is: {its place in `seen`: the place in `known`}.

    More campaigns may move a change. It stays the same one if it goes in the same direction and
    begins fewer than three campaigns from where it was (two changes are never closer), or if the
    place where it was is still in its range. Nearest first, each at most once.
    """
    pairs = sorted(
        (abs(now.index - then.index), first, second)
        for first, now in enumerate(sightings)
        for second, then in enumerate(earlier)
        if now.index == then.index
        or (
            now.is_higher == then.is_higher
            and (
                abs(now.index - then.index) < MIN_SEGMENT
                or now.earliest <= then.index <= now.latest
            )
        )
    )
    matches: dict[int, int] = {}
    for _, first, second in pairs:
        if first not in matches and second not in matches.values():
            matches[first] = second
    return matches

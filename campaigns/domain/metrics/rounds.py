"""What arms that are measured side by side did in one round, in which each had a turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import geometric_mean
from typing import Any, Self

from campaigns.domain.metrics.injector_end import InjectorEnd

# What an end line says of the whole process, not of an arm.
_OF_THE_RUN = {"type", "outcome", "reason", "warnings"}


@dataclass(frozen=True, slots=True)
class ArmRound:
    """One arm's requests that were due in its turn of one round.

    `n` are ok. `spilled` ended only after the turn and the pause that follows, `in_pause` in it.
    `own_us` is the mean of what the injector added to a request, and `…undelayed_us` are without
    it: None where it was not timed. The quarters are those of the turn, each with the median of
    what was due in it. `p50_bounds_us`: the least and the most that the median may be if some had
    not failed; None where none did. `parts_us`: means by PARTS and lateness, also without what the
    injector added; None from an injector that does not tell them.
    """

    n: int
    failed: int = 0
    spilled: int = 0
    in_pause: int = 0
    p50_us: float | None = None
    p50_undelayed_us: float | None = None
    mean_us: float | None = None
    mean_undelayed_us: float | None = None
    own_us: float | None = None
    second_quarter_us: float | None = None
    last_quarter_us: float | None = None
    p50_bounds_us: tuple[float, float] | None = None
    parts_us: Mapping[str, float] | None = None

    @property
    def typical_us(self) -> float | None:
        """The median, without the injector's part where that is known."""
        return self.p50_us if self.p50_undelayed_us is None else self.p50_undelayed_us

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        values = {name: data[name] for name in cls.__slots__ if name in data}
        bounds = values.pop("p50_bounds_us", None)
        return cls(**values, p50_bounds_us=None if bounds is None else tuple(bounds))


@dataclass(frozen=True, slots=True)
class ArmsRound:
    """`began_us` after measuring began; `order`: whose turn was first, second, …; `arms`: in the
    order's own sequence."""

    number: int
    began_us: int
    order: Sequence[int]
    arms: Sequence[ArmRound]

    def to_json(self) -> dict[str, Any]:
        return {
            "round": self.number,
            "began_us": self.began_us,
            "order": list(self.order),
            "arms": [arm.to_json() for arm in self.arms],
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        arms = tuple(map(ArmRound.from_json, line["arms"]))
        return cls(line["round"], line["began_us"], tuple(line["order"]), arms)


def of_all_shards(rounds: Iterable[ArmsRound], n_shards: int) -> list[ArmsRound]:
    """The rounds that all shards of a run have, in order, each as one.

    A median is the geometric mean of those of the shards, all of which count the same: so the log
    ratio of two arms is the mean of the shards' log ratios. A comparison of these rounds is as
    exact as of one shard's, because all shards have the same drawn order: two arms that are alike
    could change places in all shards at once.
    """
    if n_shards == 1:
        return list(rounds)
    by_number: dict[int, list[ArmsRound]] = {}
    for each in rounds:
        by_number.setdefault(each.number, []).append(each)
    return [
        _together(shards)
        for _, shards in sorted(by_number.items())
        if len(shards) == n_shards and len({each.order for each in shards}) == 1
    ]


def _together(shards: Sequence[ArmsRound]) -> ArmsRound:
    arms = tuple(map(_arm_of_all, zip(*(each.arms for each in shards), strict=True)))
    return replace(shards[0], began_us=min(each.began_us for each in shards), arms=arms)


_COUNTS = ("n", "failed", "spilled", "in_pause")
_MEDIANS = ("p50_us", "p50_undelayed_us", "second_quarter_us", "last_quarter_us")
_MEANS = ("mean_us", "mean_undelayed_us", "own_us")


def _arm_of_all(shards: Sequence[ArmRound]) -> ArmRound:
    """What one of them lacks nobody knows of all."""
    merged: dict[str, Any] = {}
    for name in (*_COUNTS, *_MEDIANS, *_MEANS):
        values = [getattr(each, name) for each in shards]
        if name in _COUNTS:
            merged[name] = sum(values)
        elif None not in values and name in _MEDIANS:
            merged[name] = geometric_mean(max(value, 1.0) for value in values)
        elif None not in values:
            merged[name] = sum(each.n * value for each, value in zip(shards, values, strict=True))
            merged[name] /= merged["n"]
    if merged["n"] and all(each.parts_us for each in shards if each.n):
        own_us = [
            {part: each.n * us for part, us in each.parts_us.items()} for each in shards if each.n
        ]
        names = dict.fromkeys(part for parts in own_us for part in parts)
        merged["parts_us"] = {
            part: sum(parts.get(part, 0.0) for parts in own_us) / merged["n"] for part in names
        }
    if any(each.p50_bounds_us for each in shards) and "p50_us" in merged:
        bounds = [each.p50_bounds_us or (each.typical_us,) * 2 for each in shards]
        ends = zip(*bounds, strict=True)
        merged["p50_bounds_us"] = tuple(geometric_mean(max(us, 1.0) for us in end) for end in ends)
    return ArmRound(**merged)


@dataclass(frozen=True, slots=True)
class ArmsEnd:
    """The end line of an injector that measured several arms. `measured_us`: of all together,
    without the trial; each arm's durations are on its own clock."""

    outcome: str
    reason: str
    rounds: int
    settled: bool
    measured_us: int
    cpu_us: int
    cpu_user_us: int
    warnings: Sequence[str]
    arms: Sequence[InjectorEnd]

    def to_json(self) -> dict[str, Any]:
        arms = [
            {name: value for name, value in arm.to_json().items() if name not in _OF_THE_RUN}
            for arm in self.arms
        ]
        return {"type": "end", **asdict(self), "arms": arms}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        values = {name: line[name] for name in cls.__slots__}
        return cls(**values | {"arms": tuple(map(InjectorEnd.from_json, line["arms"]))})

    @property
    def by_arm(self) -> list[InjectorEnd]:
        """Each arm's end, as if it had been alone."""
        shared = {name: getattr(self, name) for name in _OF_THE_RUN - {"type"}}
        return [replace(arm, **shared) for arm in self.arms]


def ends_of(line: Mapping[str, Any]) -> list[InjectorEnd]:
    """Of an end line: one, or one for each arm."""
    return ArmsEnd.from_json(line).by_arm if "arms" in line else [InjectorEnd.from_json(line)]

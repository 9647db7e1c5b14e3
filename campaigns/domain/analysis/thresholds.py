"""Is a rule such as p95 < 300 ms kept? Judged during a run and at its end.

A rule is judged on everything measured so far, not second by second. A run that breaks a rule is
still a good measurement; whether its figures can be trusted is separate (judged.trust).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from math import ceil
from typing import Annotated, Any, Self

from campaigns.domain.lifecycle import ThresholdState, Trust
from campaigns.domain.metrics.figures import QUIETER, lower_end_us, percentiles_us
from campaigns.domain.metrics.machine import BUSY, MachinePoint, n_whole_seconds
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS, TIMEOUT_KINDS, Kind
from campaigns.domain.metrics.snapshot import Total, joined
from campaigns.domain.plan.flows import Flow, steps_of
from campaigns.domain.plan.threshold import (
    FIRST_BYTE_PREFIX,
    RATES,
    SHARES,
    TARGET_METRICS,
    Threshold,
    rank_of,
)
from campaigns.domain.units import are_apart

_TIMES = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
_CERTAIN = {*SHARES, *TARGET_METRICS}  # the injector cannot add to them
# The counter of each rate, and the ok, failed and dropped counters of each error share.
_COUNTERS = {"rate": "ok", "session_rate": "sessions_ok"}
_ENDINGS = {
    "errors": ("ok", "failed", "dropped"),
    "sessions_failed": ("sessions_ok", "sessions_failed", "sessions_dropped"),
}


# Which kinds of failure belong to which group of a rule; what the injector or a stop caused is in
# none.
GROUPS: dict[str, frozenset[Kind]] = {
    "check": frozenset({Kind.CHECK_FAILED, Kind.BODY_MISMATCH}),
    "value": frozenset({Kind.VALUE_MISSING}),
    "status": frozenset({Kind.STATUS_UNEXPECTED, Kind.REDIRECT_FAILED, Kind.WS_UPGRADE_REJECTED}),
    "timeout": TIMEOUT_KINDS,
    "connect": frozenset({Kind.DNS_FAILED, Kind.CONNECT_REFUSED, Kind.CONNECT_UNREACHABLE}),
    "tls": CERTIFICATE_KINDS | {Kind.TLS_HANDSHAKE},
    "reset": frozenset(
        {
            Kind.RESET,
            Kind.WRITE_ERROR,
            Kind.EOF_BEFORE_REPLY,
            Kind.EOF_MID_BODY,
            Kind.H2_STREAM_RESET,
            Kind.H2_GOAWAY,
        }
    ),
    "protocol": frozenset(
        {
            Kind.HTTP_PARSE,
            Kind.HEADER_CAP,
            Kind.BODY_CAP,
            Kind.WS_PROTOCOL,
            Kind.H2_NOT_SPOKEN,
            Kind.H2_PROTOCOL,
        }
    ),
    "dropped": frozenset(),
}


def measure(rule: Threshold, total: Total, duration_s: float) -> float | None:
    """The rule's figure in its unit, or None; `total` is that of what it is about."""
    if rule.metric in RATES:
        return total.per_s(_COUNTERS[rule.metric], duration_s)
    if rule.metric in SHARES:
        ok, failed, dropped = (total.count(name) for name in _ENDINGS[rule.metric])
        attempts = failed + dropped + ok
        if rule.kind == "dropped":
            errors = total.count("dropped")
        elif rule.kind:  # a group, or a single kind
            errors = sum(total.errors.get(kind, 0) for kind in GROUPS.get(rule.kind, (rule.kind,)))
        else:
            errors = failed + dropped
        if rule.unit != "%":
            return float(errors)
        return 100 * errors / attempts if attempts else None
    timing = total.timing(_timing_of(rule))
    if (q := rank_of(rule.metric)) is not None:
        value = percentiles_us(timing, (q,)).get(q)
    else:
        value = timing.mean_us if rule.metric.endswith("mean") else timing.max_us
    return None if value is None else value * _TIMES[rule.unit]


def _timing_of(rule: Threshold) -> str:
    if rule.is_of_sessions:
        return "session"
    return "wait" if rule.metric.startswith(FIRST_BYTE_PREFIX) else "response"


def _lower_end(rule: Threshold, total: Total, value: float | None) -> float | None:
    """Of a response time, in the rule's unit; None of what has none."""
    rank = rank_of(rule.metric)
    is_time = rule.metric == "mean" or (rank is not None and _timing_of(rule) == "response")
    if value is None or not is_time:
        return None
    times = _TIMES[rule.unit]
    low_us = lower_end_us(total.timing(QUIETER), rank, value / times)
    return None if low_us is None else round(low_us * times, 6)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule's result. `since`, `at_least`: None where there is none; `is_open`: see `weigh`."""

    rule: Annotated[str, "For example p95 < 300 ms."]
    metric: str
    limit: float
    unit: str
    measured: Annotated[float | None, "In the unit of the rule."]
    passed: bool
    since: Annotated[int | None, "The second from which the rule was broken until the end."]
    at_least: Annotated[float | None, "The lower end of a response time."] = None
    is_open: Annotated[
        bool, "A busy machine may have broken the rule, so it is neither kept nor broken."
    ] = False
    kind: Annotated[str, "Of a group of errors alone; empty of all."] = ""
    step: Annotated[int, "Of this step alone, from 1; 0 of all."] = 0
    flow: Annotated[str, "Of this flow alone; empty of all."] = ""

    @property
    def is_of_all(self) -> bool:
        """Of all steps together."""
        return not (self.step or self.flow)

    @property
    def is_broken(self) -> bool:
        return not (self.passed or self.is_open)

    @property
    def is_of_machine(self) -> bool:
        """Whether it is about the target's machine."""
        return self.metric in TARGET_METRICS

    @property
    def lacks_agent(self) -> bool:
        """It is about the target's machine, of which nobody told anything."""
        return self.is_of_machine and self.measured is None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


def without_machine(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """For readers who may not know what the target's machine did."""
    return [each for each in verdicts if not each.is_of_machine]


def weigh(verdicts: Iterable[Verdict], trust: str | None) -> list[Verdict]:
    """For a run with this trust: open are those that it cannot decide. A busy machine makes times
    longer and rates lower: a rule that was kept in spite of it is kept, and one that is broken
    without its part is broken.
    """
    return [replace(each, is_open=_is_open(each, trust)) for each in verdicts]


def _is_open(verdict: Verdict, trust: str | None) -> bool:
    if trust in {None, Trust.NO_ANSWER}:
        return trust is not None
    if verdict.passed or verdict.metric in _CERTAIN:
        return False
    low, is_busy = verdict.at_least, trust == Trust.BUSY
    if low is None:
        return is_busy
    return low < verdict.limit and (is_busy or are_apart(low, verdict.measured))


def threshold_state(verdicts: Sequence[Verdict]) -> ThresholdState | None:
    """Of weighed verdicts. None without rules, and where none is broken and some are open."""
    if any(each.is_broken for each in verdicts):
        return ThresholdState.BROKEN
    if not verdicts or any(each.is_open for each in verdicts):
        return None
    return ThresholdState.KEPT


class ThresholdJudge:
    """Checks the total after each second and records since when each rule is broken. A
    `Measurement` feeds its judge and reads the verdicts."""

    def __init__(self, thresholds: Sequence[Threshold], flows: Sequence[Flow] = ()):
        self._thresholds = thresholds
        self._flows = dict(zip((flow.name for flow in flows), steps_of(flows), strict=True))
        # What agents told so far, for the rules about the target's machine.
        self.machines: Mapping[str, Sequence[MachinePoint]] = {}
        # The second since which each is broken; None where it is kept.
        self.broken_since: list[int | None] = [None] * len(thresholds)

    def look(self, second: int, totals: Sequence[Total], duration_s: float) -> None:
        """`totals` are everything measured up to the end of `second`, then each step's part of it,
        `duration_s` its measured time."""
        for index, each in enumerate(self._thresholds):
            part = self._part(each, totals)
            if each.is_of_machine or each.is_kept(measure(each, part, duration_s)):
                self.broken_since[index] = None
            elif self.broken_since[index] is None:
                self.broken_since[index] = second

    def verdicts(self, totals: Sequence[Total], duration_s: float) -> list[Verdict]:
        """The final verdicts, with the exact duration."""
        return [
            self._verdict(each, since, self._part(each, totals), duration_s)
            for each, since in zip(self._thresholds, self.broken_since, strict=True)
        ]

    def _part(self, rule: Threshold, totals: Sequence[Total]) -> Total:
        """What a rule is about."""
        if rule.flow:
            return joined(totals[1 + step] for step in self._flows[rule.flow])
        return totals[rule.step]

    def _verdict(self, each: Threshold, since, total: Total, duration_s: float) -> Verdict:
        if each.is_of_machine:
            return self._of_machine(each, duration_s)
        measured = measure(each, total, duration_s)
        is_kept = each.is_kept(measured)
        if not is_kept and since is None:
            since = max(0, ceil(duration_s) - 1)
        value = None if measured is None else round(measured, 6)
        since = None if is_kept else since
        rule = (each.rule, each.metric, each.limit, each.unit)
        at_least = _lower_end(each, total, measured)
        part = {"kind": each.kind, "step": each.step, "flow": each.flow}
        return Verdict(*rule, value, is_kept, since, at_least, **part)

    def _of_machine(self, each: Threshold, duration_s: float) -> Verdict:
        """Of all seconds that were told, of the machine with the highest figure at last; `since`
        None where none was."""
        n_seconds = n_whole_seconds(duration_s)
        figures = [_so_far(each.metric, points, n_seconds) for points in self.machines.values()]
        figure = max(filter(None, figures), key=lambda pairs: pairs[-1][1], default=[])
        since = None
        for second, value in figure:
            if each.is_kept(value):
                since = None
            elif since is None:
                since = second
        last = round(figure[-1][1], 6) if figure else None
        is_kept = each.is_kept(last)
        return Verdict(each.rule, each.metric, each.limit, each.unit, last, is_kept, since)


# Of a second: numerator and denominator, which are added up over the seconds.
_Parts = tuple[float, float]


_PARTS: dict[str, Callable[[MachinePoint], _Parts | None]] = {
    "target_cpu": lambda point: None if (cpu := point.share(*BUSY)) is None else (cpu, 1),
    "target_memory": lambda point: None if (share := point.memory_share) is None else (share, 1),
    "target_resent": lambda point: (
        None
        if None in (parts := (point.did.get("retransmitted"), point.did.get("segments_sent")))
        else parts
    ),
}


def _so_far(metric: str, points: Sequence[MachinePoint], n_seconds: int) -> list[tuple[int, float]]:
    """(second, % of everything told up to its end). `n_seconds`: how many were measured."""
    inside = [point for point in points if 0 <= point.second < n_seconds]
    parts_by_second = [(each.second, parts) for each in inside if (parts := _PARTS[metric](each))]
    sums = accumulate(
        (parts for _, parts in parts_by_second), lambda a, b: (a[0] + b[0], a[1] + b[1])
    )
    return [
        (second, 100 * part / whole)
        for (second, _), (part, whole) in zip(parts_by_second, sums, strict=True)
        if whole
    ]

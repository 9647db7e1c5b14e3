"""Rules that a run has to keep, such as p95 < 300 ms: read, judged as it goes and at the end.

A rule is judged on everything measured so far, not second by second. A run that fails one is still
a good measurement: whether its figures may be believed is another matter (domain.validity).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Self

from campaigns.domain.fields import Fields
from campaigns.domain.percentiles import P50, P95, P99
from campaigns.domain.repeats import percentiles_us
from campaigns.domain.snapshot import Second, Total

MAX_THRESHOLDS = 20
_PERCENTILES = {"p50": P50, "p95": P95, "p99": P99}
_TIMES = {"us": 1.0, "ms": 1e-3, "s": 1e-6}
_TIME_METRICS = (*_PERCENTILES, "mean", "max")
_SESSION = "session_"
# The units of each metric, the usual one first.
UNITS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_TIME_METRICS, ("ms", "us", "s")),
    "errors": ("%", ""),
    "rate": ("/s",),
    **dict.fromkeys((f"{_SESSION}{name}" for name in _TIME_METRICS), ("ms", "us", "s")),
    "sessions_failed": ("%", ""),
    "session_rate": ("/s",),
}
# What is counted for each rate, and what else than ok there is for each share of errors.
RATES = {"rate": "ok", "session_rate": "sessions_ok"}
_SHARES = {
    "errors": ("ok", "failed", "dropped"),
    "sessions_failed": ("sessions_ok", "sessions_failed", "sessions_dropped"),
}
_RULE = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([0-9.eE+-]+)\s*([a-zµμ/%]*)\s*")
_SPELLINGS = {"µs": "us", "μs": "us", "requests/s": "/s", "req/s": "/s"}
EXAMPLES = "p95 < 300 ms, errors < 1 %, rate > 100 /s"


@dataclass(frozen=True, slots=True)
class Threshold:
    """`metric` stays below `limit`, or above it for a rate. `errors` without a unit are counted.

    Times are of ok requests, the rate is of ok requests a second, errors include dropped requests;
    and so for sessions.
    """

    metric: str
    limit: float
    unit: str

    @property
    def sign(self) -> str:
        return ">" if self.metric in RATES else "<"

    @property
    def is_of_sessions(self) -> bool:
        return self.metric.startswith("session")

    @property
    def rule(self) -> str:
        """As a person writes it: p95 < 300 ms."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.metric} {self.sign} {self.limit:g}{unit}"

    def measured(self, total: Total, duration_s: float) -> float | None:
        """The figure in the rule's unit; None where there is none."""
        if self.metric in RATES:
            return total.count(RATES[self.metric]) / duration_s if duration_s > 0 else None
        if self.metric in _SHARES:
            return _errors(total, _SHARES[self.metric], in_percent=self.unit == "%")
        timing = total.timing("session" if self.is_of_sessions else "response")
        figure = self.metric.removeprefix(_SESSION)
        if figure in _PERCENTILES:
            q = _PERCENTILES[figure]
            value = percentiles_us(timing, (q,)).get(q)
        else:
            value = timing.mean_us if figure == "mean" else timing.max_us
        return None if value is None else value * _TIMES[self.unit]

    def is_kept(self, value: float | None) -> bool:
        """What could not be measured is not kept: no request, or no session, succeeded."""
        if value is None:
            return False
        return value > self.limit if self.sign == ">" else value < self.limit


def _errors(total: Total, counters: tuple[str, str, str], *, in_percent: bool) -> float | None:
    ok, failed, dropped = (total.count(name) for name in counters)
    errors = failed + dropped
    attempts = errors + ok
    if not in_percent:
        return float(errors)
    return 100 * errors / attempts if attempts else None


def parse_rule(text: str) -> dict[str, Any]:
    """A rule as people write it, as JSON. Raises ValueError with a sentence."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text.strip()!r} is not a rule; write one such as {EXAMPLES}.")
    metric, sign, limit, unit = match.groups()
    unit = _SPELLINGS.get(unit, unit)
    if metric in UNITS:
        needed = ">" if metric in RATES else "<"
        if sign != needed:
            raise ValueError(f"Write {metric} {needed} {limit}: {_WHY[needed]}")
        if not unit and metric not in _SHARES:
            unit = UNITS[metric][0]
    try:
        return {"metric": metric, "limit": float(limit), "unit": unit}
    except ValueError:
        raise ValueError(f"{limit!r} is not a number; write one such as {EXAMPLES}.") from None


_NO_SESSIONS = (
    "is about sessions, and this plan has none: let sessions arrive, or say how many calls a "
    "session of a closed load makes."
)
_WHY = {"<": "it must stay below a limit.", ">": "it must stay above a limit."}


def read_thresholds(reader: Fields, *, has_sessions: bool) -> tuple[Threshold, ...]:
    """The field `thresholds` of a plan; what is wrong goes to the reader's errors.

    `has_sessions`: the plan's sessions are counted, so that there can be rules about them.
    """
    raw = reader.data.get("thresholds") or []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_THRESHOLDS:
        reader.fail("thresholds", f"Write a list of at most {MAX_THRESHOLDS} rules.")
        return ()
    return tuple(
        _read_one(Fields(item, f"thresholds.{index}", reader.errors), has_sessions)
        for index, item in enumerate(raw)
    )


def _read_one(reader: Fields, has_sessions: bool) -> Threshold:
    metric = reader.text("metric")
    limit = reader.number("limit", low=0, high=1e12)
    if limit is None and "limit" not in reader.errors:
        reader.fail("limit", "Say which limit.")
    unit = reader.text("unit", UNITS.get(metric, ("",))[0])
    if metric not in UNITS:
        reader.fail("metric", f"{metric!r} is no metric here; there are {', '.join(UNITS)}.")
    elif unit not in UNITS[metric]:
        known = " or ".join(each or "no unit" for each in UNITS[metric])
        reader.fail("unit", f"{metric} is given in {known}, not in {unit or 'no unit'}.")
    reader.refuse_unknown("metric", "limit", "unit")
    threshold = Threshold(metric, limit or 0.0, unit)
    if metric in UNITS and threshold.is_of_sessions and not has_sessions:
        reader.fail("metric", f"{metric} {_NO_SESSIONS}")
    return threshold


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one rule stands. `measured` in the rule's unit; `since`: the second from which on it was
    broken until the end, None where it is kept."""

    rule: str
    metric: str
    limit: float
    unit: str
    measured: float | None
    passed: bool
    since: int | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


class Judge:
    """Looks at the total after each second and remembers since when each rule is broken."""

    def __init__(self, thresholds: Sequence[Threshold]):
        self._thresholds = thresholds
        self._since: list[int | None] = [None] * len(thresholds)

    def look(self, second: int, total: Total) -> None:
        """`total` is everything measured up to the end of `second`."""
        for index, each in enumerate(self._thresholds):
            if each.is_kept(each.measured(total, second + 1)):
                self._since[index] = None
            elif self._since[index] is None:
                self._since[index] = second

    def verdicts(self, total: Total, duration_s: float) -> list[Verdict]:
        """The last word, on the exact duration."""
        return [
            self._verdict(each, since, total, duration_s)
            for each, since in zip(self._thresholds, self._since, strict=True)
        ]

    def _verdict(self, each: Threshold, since, total: Total, duration_s: float) -> Verdict:
        measured = each.measured(total, duration_s)
        passed = each.is_kept(measured)
        if not passed and since is None:
            since = max(0, ceil(duration_s) - 1)
        shown = None if measured is None else round(measured, 6)
        since = None if passed else since
        return Verdict(each.rule, each.metric, each.limit, each.unit, shown, passed, since)


def judge_seconds(
    thresholds: Sequence[Threshold], seconds: Iterable[Second], duration_s: float
) -> list[Verdict]:
    """The verdicts on measured seconds, which come in order; the warm-up does not count."""
    judge, total, present = Judge(thresholds), Total(), None
    for second in seconds if thresholds else ():
        if second.second < 0:
            continue
        if present is not None and second.second != present:
            judge.look(present, total)
        present = second.second
        total.add(second)
    return judge.verdicts(total, duration_s)

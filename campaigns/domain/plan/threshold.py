"""Rules that a run has to keep, such as p95 < 300 ms, as a plan states them."""

import re
from dataclasses import dataclass
from typing import Any

from campaigns.domain.json_reader import JsonReader

MAX_THRESHOLDS = 20
_TIME_METRICS = ("p50", "p95", "p99", "mean", "max")
SESSION_PREFIX = "session_"
# Of the target's machine, as its agent tells them.
TARGET_METRICS = ("target_cpu", "target_memory", "target_resent")
# The units of each metric, the usual one first.
UNITS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_TIME_METRICS, ("ms", "us", "s")),
    "errors": ("%", ""),
    "rate": ("/s",),
    **dict.fromkeys((f"{SESSION_PREFIX}{name}" for name in _TIME_METRICS), ("ms", "us", "s")),
    "sessions_failed": ("%", ""),
    "session_rate": ("/s",),
    **dict.fromkeys(TARGET_METRICS, ("%",)),
}
RATES = ("rate", "session_rate")
SHARES = ("errors", "sessions_failed")
_RULE = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([0-9.eE+-]+)\s*([a-zµμ/%]*)\s*")
_SPELLINGS = {"µs": "us", "μs": "us", "requests/s": "/s", "req/s": "/s"}
EXAMPLES = "p95 < 300 ms, errors < 1 %, rate > 100 /s"


@dataclass(frozen=True, slots=True)
class Threshold:
    """`metric` stays below `limit`, or above it for a rate. `errors` without a unit are counted.

    Times are of ok requests, the rate is of ok requests a second, errors include dropped requests;
    and so for sessions. Of the target's machine: its CPU, its memory, and the share of the TCP
    segments that it sent again.
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
    def is_of_machine(self) -> bool:
        return self.metric in TARGET_METRICS

    @property
    def rule(self) -> str:
        """As a person writes it: p95 < 300 ms. Read again, it has the same limit."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.metric} {self.sign} {self.limit:.15g}{unit}"

    def is_kept(self, value: float | None) -> bool:
        """Without a value (no request or session succeeded, no agent told it), it is not kept."""
        if value is None:
            return False
        return value > self.limit if self.sign == ">" else value < self.limit


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
        if not unit and metric not in SHARES:
            unit = UNITS[metric][0]
    try:
        value = float(limit)
    except ValueError:
        raise ValueError(f"{limit!r} is not a number; write one such as {EXAMPLES}.") from None
    if why := never_kept(metric, value):
        raise ValueError(f"{text.strip()} is {why}")
    return {"metric": metric, "limit": value, "unit": unit}


def never_kept(metric: str, limit: float) -> str:
    """Why no run keeps such a rule, as a clause; "" if one may."""
    if metric in RATES or limit:
        return ""
    none = f" {metric} < 1 allows none." if metric in SHARES else ""
    return f"never kept: nothing is below 0.{none}"


_NO_SESSIONS = (
    "is about sessions, and this plan has none: let sessions arrive, or say how many calls a "
    "session of a closed load makes."
)
MAX_LIMIT = 1e12
_WHY = {"<": "it must stay below a limit.", ">": "it must stay above a limit."}


def read_thresholds(reader: JsonReader, *, has_sessions: bool) -> tuple[Threshold, ...]:
    """The field `thresholds` of a plan; what is wrong goes to the reader's errors.

    `has_sessions`: the plan's sessions are counted, so that there can be rules about them.
    """
    raw = reader.data.get("thresholds") or []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_THRESHOLDS:
        reader.fail("thresholds", f"Write a list of at most {MAX_THRESHOLDS} rules.")
        return ()
    return tuple(
        _read_one(JsonReader(item, f"thresholds.{index}", reader.errors), has_sessions)
        for index, item in enumerate(raw)
    )


def _read_one(reader: JsonReader, has_sessions: bool) -> Threshold:
    metric = reader.text("metric")
    limit = reader.number("limit", low=0, high=MAX_LIMIT)
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

"""Rules that a run has to keep, such as p95 < 300 ms, as a plan states them.

Typed: METRIC, "of" a kind of error, "of step" its number or "of" a flow, < or >, a limit with its
unit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.typed_text import PER_SECOND, SECONDS, JsonReader, clean_name

MAX_THRESHOLDS = 20
SESSION_PREFIX, FIRST_BYTE_PREFIX = "session_", "first_byte_"
_TIME_UNITS = ("ms", "us", "s")
_LOWEST, _HIGHEST = 50_000, 99_990  # of percentiles, in 1/100,000
# Kinds of errors, by what somebody asks for; analysis.thresholds says which are which.
ERROR_GROUPS = (
    "check", "value", "status", "timeout", "connect", "tls", "reset", "protocol", "dropped",
)  # fmt: skip
# Single ones beside them, as injectors tell them. A reset is the group.
ERROR_KINDS = (
    *("dns_failed", "connect_refused", "connect_timeout", "connect_unreachable"),
    *("tls_handshake", "tls_verify", "tls_name", "tls_expired", "tls_not_yet_valid"),
    *("tls_self_signed", "tls_unknown_issuer", "tls_fingerprint", "tls_timeout"),
    *("write_error", "write_timeout", "eof_before_reply", "first_byte_timeout", "body_timeout"),
    *("eof_mid_body", "http_parse", "header_cap", "body_cap", "status_unexpected", "check_failed"),
    *("value_missing", "body_mismatch", "redirect_failed", "ws_upgrade_rejected"),
    *("ws_protocol", "ws_close_timeout"),
    *("h2_not_spoken", "h2_protocol", "h2_stream_reset", "h2_goaway"),
)
KINDS_IN_RULES = (*ERROR_GROUPS, *ERROR_KINDS)
# Of the target's machine, as its agent tells them.
TARGET_METRICS = ("target_cpu", "target_memory", "target_resent")
_UNITS: dict[str, tuple[str, ...]] = {
    "errors": ("%", ""),
    "rate": ("/s",),
    "sessions_failed": ("%", ""),
    "session_rate": ("/s",),
    **dict.fromkeys(TARGET_METRICS, ("%",)),
}
RATES = ("rate", "session_rate")
SHARES = ("errors", "sessions_failed")
_PREFIX = re.compile(f"^(?:{SESSION_PREFIX}|{FIRST_BYTE_PREFIX})")
_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d{1,3})?)")
_RULE = re.compile(
    r"\s*([a-z0-9_.]+(?: byte [a-z0-9.]+)?)((?:\s+of\s[^<>]*)?)\s*([<>])"
    r"\s*([0-9.eE+-]+)\s*([a-zµμ/%]*)\s*"
)
# Of longer ones the pattern may look at all pairs of blanks.
_LONGEST_RULE = 200
_OF, _STEP = re.compile(r"\s+of\s+"), re.compile(r"step\s+(\d{1,3})")
_SPELLINGS = {"µs": "us", "μs": "us", "requests/s": "/s", "req/s": "/s"}
_ALSO = {"average": "mean", "median": "p50"}
# Units that are read but not stored: (the stored one, how many of it).
_OTHER_UNITS = {
    **{name: ("s", SECONDS[name]) for name in ("m", "min", "h")},
    **{name: ("/s", PER_SECOND[name]) for name in ("/m", "/min", "/h")},
}
EXAMPLES = "p95 < 300 ms, errors < 1 %, rate > 100 /s, p99.9 of step 2 < 2s, errors of check < 1 %"


def rank_of(metric: str) -> int | None:
    """The percentile of a metric of times, in 1/100,000: p99.5 is 99500. None without one."""
    match = _PERCENTILE.fullmatch(_PREFIX.sub("", metric))
    per_100k = round(float(match[1]) * 1000) if match else 0
    return per_100k if match and _LOWEST <= per_100k <= _HIGHEST and per_100k % 10 == 0 else None


def units_of(metric: str) -> tuple[str, ...]:
    """The usual one first; () where there is no such metric."""
    if metric in _UNITS:
        return _UNITS[metric]
    is_time = _PREFIX.sub("", metric) in {"mean", "max"} or rank_of(metric) is not None
    return _TIME_UNITS if is_time else ()


@dataclass(frozen=True, slots=True)
class Threshold:
    """`metric` stays below `limit`, or above it for a rate. `errors` without a unit are counted.
    `kind`: errors of a group or a kind alone. `step`: of one step alone, from 1; 0: of all.
    `flow`: of one flow alone.

    Times are of ok requests, the rate is of ok requests a second, errors include dropped requests;
    and so for sessions. The first byte is waited for from the request's last byte on. Of the
    target's machine: its CPU, its memory, and the share of the TCP segments that it sent again.
    """

    metric: str
    limit: float
    unit: str
    kind: str = ""
    step: int = 0
    flow: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "limit": self.limit,
            "unit": self.unit,
            **({"kind": self.kind} if self.kind else {}),
            **({"step": self.step} if self.step else {}),
            **({"flow": self.flow} if self.flow else {}),
        }

    @property
    def sign(self) -> str:
        return ">" if self.metric in RATES else "<"

    @property
    def is_of_sessions(self) -> bool:
        return self.metric.startswith("session")

    @property
    def is_of_all(self) -> bool:
        """Of all steps together."""
        return not (self.step or self.flow)

    @property
    def is_of_machine(self) -> bool:
        return self.metric in TARGET_METRICS

    @property
    def rule(self) -> str:
        """As a person writes it: p95 < 300 ms. Read again, it has the same limit."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.metric}{self.part} {self.sign} {self.limit:.15g}{unit}"

    @property
    def part(self) -> str:
        """ " of check of step 2"; "" of all."""
        place = f"step {self.step}" if self.step else self.flow
        return "".join(f" of {each}" for each in (self.kind, place) if each)

    def is_kept(self, value: float | None) -> bool:
        """Without a value (no request or session succeeded, no agent told it), it is not kept."""
        if value is None:
            return False
        return value > self.limit if self.sign == ">" else value < self.limit


def parse_rule(text: str) -> dict[str, Any]:
    """A rule as people write it, as JSON. Raises ValueError with a sentence."""
    match = _RULE.fullmatch(text) if len(text) <= _LONGEST_RULE else None
    if match is None:
        raise ValueError(f"{text.strip()[:100]!r} is not a rule; write one such as {EXAMPLES}.")
    metric, parts, sign, limit, unit = match.groups()
    metric = metric.replace(" ", "_")
    metric = _ALSO.get(metric, metric)
    unit = _SPELLINGS.get(unit, unit)
    if units_of(metric):
        sign_of_metric = ">" if metric in RATES else "<"
        if sign != sign_of_metric:
            raise ValueError(f"Write {metric} {sign_of_metric} {limit}: {_WHY[sign_of_metric]}")
        if not unit and metric not in SHARES:
            unit = units_of(metric)[0]
    unit, times = _OTHER_UNITS.get(unit, (unit, 1.0))
    try:
        value = float(limit) * times
    except ValueError:
        raise ValueError(f"{limit!r} is not a number; write one such as {EXAMPLES}.") from None
    if why := never_kept(metric, value):
        raise ValueError(f"{text.strip()} is {why}")
    # A kind of error comes first; what is neither that nor a step is a flow.
    of = _OF.split(parts.rstrip())[1:]
    fields: dict[str, Any] = {"kind": of.pop(0)} if of and of[0] in KINDS_IN_RULES else {}
    if len(of) > 1:
        raise ValueError(f"{' of '.join(of)!r} is not one part; write one such as {EXAMPLES}.")
    for part in of:
        step = _STEP.fullmatch(part)
        fields |= {"step": int(step[1])} if step else {"flow": clean_name(part)}
    return {"metric": metric, "limit": value, "unit": unit, **fields}


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


def read_thresholds(
    reader: JsonReader, *, has_sessions: bool, n_steps: int, is_http: bool, flows: Sequence[str]
) -> tuple[Threshold, ...]:
    """The field `thresholds` of a plan; what is wrong goes to the reader's errors. `flows`: their
    names.

    `has_sessions`: the plan's sessions are counted, so that there can be rules about them.
    `is_http`: there is a first byte to wait for.
    """
    raw = reader.data.get("thresholds") or []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_THRESHOLDS:
        reader.fail("thresholds", f"Write a list of at most {MAX_THRESHOLDS} rules.")
        return ()
    rules = []
    for index, item in enumerate(raw):
        own = JsonReader(item, f"thresholds.{index}", reader.errors)
        rule = _read_one(own, n_steps, flows)
        if units_of(rule.metric) and rule.is_of_sessions and not has_sessions:
            own.fail("metric", f"{rule.metric} {_NO_SESSIONS}")
        if rule.metric.startswith(FIRST_BYTE_PREFIX) and not is_http:
            own.fail("metric", "A WebSocket has no wait for a first byte; its reply is the 101.")
        rules.append(rule)
    return tuple(rules)


def _read_one(reader: JsonReader, n_steps: int, flows: Sequence[str]) -> Threshold:
    metric = reader.text("metric")
    if (rank := rank_of(metric)) is not None:  # p99.50 as p99.5: each percentile has one name
        metric = f"{metric[: metric.rindex('p')]}p{rank / 1000:g}"
    limit = reader.number("limit", low=0, high=MAX_LIMIT)
    if limit is None and "limit" not in reader.errors:
        reader.fail("limit", "Say which limit.")
    units = units_of(metric)
    unit = reader.text("unit", units[0] if units else "")
    if not units:
        reader.fail("metric", f"{metric!r} is no metric here; there are {_METRICS}.")
    elif unit not in units:
        units_known = " or ".join(each or "no unit" for each in units)
        reader.fail("unit", f"{metric} is given in {units_known}, not in {unit or 'no unit'}.")
    reader.refuse_unknown("metric", "limit", "unit", "kind", "step", "flow")
    step = reader.number("step", 0, low=0, high=max(1, n_steps), whole=True)
    part = reader.text("kind"), step, reader.text("flow")
    threshold = Threshold(metric, limit or 0.0, unit, *part)
    if units:
        _check_part(reader, threshold, flows)
    return threshold


def _check_part(reader: JsonReader, rule: Threshold, flows: Sequence[str]) -> None:
    if rule.kind and rule.metric != "errors":
        reader.fail("kind", f"Only errors have kinds, and {rule.metric} has none.")
    elif rule.kind and rule.kind not in KINDS_IN_RULES:
        reader.fail("kind", f"{rule.kind!r} is no kind of error. {_KINDS}")
    if rule.step and (rule.is_of_sessions or rule.is_of_machine):
        reader.fail("step", f"{rule.metric} is of all steps together.")
    if rule.flow and rule.is_of_machine:
        reader.fail("flow", f"{rule.metric} is of all flows together.")
    elif rule.flow and rule.step:
        reader.fail("flow", "Name a flow or a step, not both.")
    elif rule.flow and rule.flow not in flows:
        flows_known = f"there are {', '.join(flows)}" if flows else "the plan has none"
        kinds = f" {_KINDS}" if rule.metric == "errors" else ""
        reader.fail("flow", f"{rule.flow!r} is no flow; {flows_known}.{kinds}")


_KINDS = f"Errors are of {', '.join(ERROR_GROUPS)}, or of one kind such as check_failed."

_METRICS = f"p50 to p99.99, mean, max, the same after session_ and first_byte_, {', '.join(_UNITS)}"

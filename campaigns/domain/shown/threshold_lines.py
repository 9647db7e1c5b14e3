"""The thresholds as lines in a run's charts."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.plan.threshold import SESSION_PREFIX, Threshold

_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def threshold_lines(
    thresholds: Sequence[Threshold], verdicts: Sequence[Verdict]
) -> list[dict[str, Any]]:
    """[{"panel", "label", "value", "isBroken"}] of the rules about something that is drawn.

    `value` is in ms, in requests/s, or, of errors, a share of the requests of each second.
    """
    broken = {_key(each) for each in verdicts if not each.passed}
    return [
        {
            "panel": panel,
            "label": rule.rule,
            "value": value,
            "isBroken": _key(rule) in broken,
        }
        for rule in thresholds
        for panel, value in _places(rule)
    ]


def _key(rule: Threshold | Verdict) -> tuple[str, float, str]:
    """Not its words, which earlier releases wrote with six digits."""
    return rule.metric, rule.limit, rule.unit


def _places(rule: Threshold) -> list[tuple[str, float]]:
    """Where the rule is drawn and at which height; sums, sessions and machines have no line."""
    if rule.is_of_machine or rule.metric.startswith((SESSION_PREFIX, "sessions_")):
        return []
    if rule.metric == "rate":
        return [("requests", rule.limit)]
    if rule.metric == "errors":
        return [("errors", rule.limit / 100)] if rule.unit == "%" else []
    return [("response", rule.limit * _MS[rule.unit])]

"""What came of one trial of a search: passed, failed or not counted, from the end of its run."""

from collections.abc import Sequence
from dataclasses import replace

from campaigns.domain.judged.capacity import Trial, TrialResult
from campaigns.domain.judged.judgement import Judgement
from campaigns.domain.judged.target_state import SATURATED
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.domain.measured.redaction import without_addresses
from campaigns.domain.plan.threshold import TARGET_METRICS
from campaigns.domain.units import DASH, decimals_beside, decimals_for, number, with_unit

# Beyond the objective: signs that the target did not keep up with the rate.
_NOT_KEPT_UP = ("no_success", SATURATED, "dropped", "sent_share", "in_flight_growing")
NOT_COMPLETE = "The trial did not run to its end."


def trial_of(
    rate_per_s: float,
    outcome: str | None,
    why: str,
    judgement: Judgement | None,
    verdicts: Sequence[Verdict],
) -> Trial:
    """`why`: the run's own reason. A trial passes if its run is complete and trusted, every rule of
    the objective is kept, and the target kept up: at least 99.9 % were sent, and requests in flight
    did not grow. It does not count where nobody told what a rule about the machine needs."""
    if outcome != Outcome.COMPLETE or judgement is None:
        return Trial(rate_per_s, TrialResult.UNTRUSTED, why or NOT_COMPLETE)
    if judgement.measurement.state != Trust.TRUSTED:
        return Trial(rate_per_s, TrialResult.UNTRUSTED, judgement.measurement.text)
    if untold := [each.metric for each in verdicts if each.lacks_agent]:
        why = f"No agent or exporter reported {' and '.join(untold)}."
        return Trial(rate_per_s, TrialResult.UNTRUSTED, why)
    broken = ", ".join(_measured(each) for each in verdicts if not each.passed)
    left = [each.text for each in judgement.target.reasons if each.code in _NOT_KEPT_UP]
    reason = broken or (left[0] if left else "")
    result = TrialResult.FAILED if broken or left else TrialResult.PASSED
    return Trial(rate_per_s, result, reason)


def without_machine(trial: Trial, host: str) -> Trial:
    """For readers who may know neither the target's machine nor what it did."""
    told = [each for each in trial.reason.split(", ") if not each.startswith(TARGET_METRICS)]
    return replace(trial, reason=without_addresses(", ".join(told), host))


def _measured(verdict: Verdict) -> str:
    """p95 758 ms"""
    value = verdict.measured
    if value is None:
        return f"{verdict.metric} {DASH}"
    decimals = decimals_beside(value, verdict.limit, decimals_for([value]))
    return f"{verdict.metric} {with_unit(number(value, decimals), verdict.unit)}"

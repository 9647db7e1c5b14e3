"""What kept an injector from measuring: its own lack of CPU only where its CPU was the limit, else
the other programs, the hypervisor or the quota that took it."""

from campaigns.domain.analysis.criteria import CROWDED, CROWDED_BESIDE, JudgementReason
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.lifecycle import Trust

_OWN = frozenset({"cpu", "cpu_5s"})
OTHERS = frozenset({"other_cpu", CROWDED, CROWDED_BESIDE, "steal", "throttled"})
# Doubts that come of a lack of CPU, whoever used it.
_OF_CPU = _OWN | OTHERS | {
    "own_time", "own_time_p99", "lateness_p99", "run_delay", "hub_lag", "hub_lag_p50",
    "hub_lag_p99", "sent_share", "dropped", "slot_wait",
}  # fmt: skip


def blame(judged: Judgement) -> JudgementReason:
    """What names the cause of a measurement's worst doubt: another reason, a note, or the doubt
    itself where nothing else is known."""
    reasons = judged.measurement.reasons
    if reasons[0].code not in _OF_CPU:
        return reasons[0]
    own = [each for each in reasons if each.code in _OWN]
    if spent := [each for each in own if each.state != Trust.DOUBTFUL]:
        return spent[0]
    # Others that used the CPU are to blame where the injector waited for it, as the notes know.
    told = (*reasons, *judged.notes)
    others = [each for each in told if each.code in OTHERS and each.code != "other_cpu"]
    return max(others, key=lambda each: each.value or 0.0, default=(*own, reasons[0])[0])


def reason_of(judged: Judgement, code: str) -> JudgementReason | None:
    """The reason or note of this code that a measurement has."""
    told = (*judged.measurement.reasons, *judged.notes)
    return next((each for each in told if each.code == code), None)

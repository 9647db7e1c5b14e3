"""A run's judgement: three questions, three answers.

Can the measurement be trusted? How was the target? How precise are the figures? Only the first
excludes a run from verdicts. Facts of the setting are notes: they explain, and decide nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaigns.domain.analysis import precision, target_state, trust
from campaigns.domain.analysis.criteria import (
    CROWDED,
    CROWDED_BESIDE,
    TARGET_MACHINE,
    JudgementReason,
    Limits,
    Observed,
    excess,
    reason_for,
)
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.units import said_of

_NOTE_LIMITS: dict[str, Limits] = {
    "co_located": Limits(0.0),
    CROWDED: Limits(0.5),
    CROWDED_BESIDE: Limits(0.5),
}
_NOTE_SENTENCES: dict[str, str] = {
    trust.OWN_TAIL: "About {value} of the {measure} are the injector's own delay ({whole} without "
    "it), so {measure} and above are marked as weak (limit {limit}).",
    "co_located": "The target runs on the injector host: they share its CPU, and no real "
    "network is involved.",
    CROWDED: "Other programs used {value} of the injector host's CPU.",
    CROWDED_BESIDE: "Other programs and the target used {value} of the injector host's CPU.",
}
LIMITS: dict[str, Limits] = {
    **trust.LIMITS,
    **target_state.LIMITS,
    **precision.LIMITS,
    **_NOTE_LIMITS,
}
# Which question a reason's code belongs to.
QUESTIONS: dict[str, str] = {
    **dict.fromkeys(trust.CODES, "measurement"),
    **dict.fromkeys(target_state.STATES, "target"),
    **dict.fromkeys(precision.CODES, "precision"),
    **dict.fromkeys(_NOTE_SENTENCES, "note"),
}
TARGET_NOT_KNOWN = "not_known"
# Instead of reasons that are told by the target's machine, for those who may not know it.
_MACHINE_UNTOLD = JudgementReason(
    "machine_untold", TargetState.OVERLOADED, "What its machine did is not shown here."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer with its reasons, worst first. `state` None: nothing is claimed, as they say."""

    state: Trust | TargetState | Precision | None
    reasons: tuple[JudgementReason, ...] = ()

    @property
    def text(self) -> str:
        """The sentence of the worst reason; "" without reasons."""
        return self.reasons[0].text if self.reasons else ""

    def said_of(self, nouns: str) -> "Finding":
        return replace(self, reasons=_said_of(nouns, self.reasons))

    def has(self, code: str) -> bool:
        return any(each.code == code for each in self.reasons)

    def to_json(self) -> dict[str, Any]:
        return {"state": self.state, "reasons": [each.to_json() for each in self.reasons]}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The three answers about one run, and its notes."""

    measurement: Finding
    target: Finding
    precision: Finding
    notes: tuple[JudgementReason, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether verdicts may use the run's figures, if it has any."""
        return self.measurement.state != Trust.NOT_USABLE

    @property
    def is_busy(self) -> bool:
        """Whether a busy machine spoilt its times, so that only medians without its part count."""
        return any(each.code in trust.BUSY for each in self.measurement.reasons)

    @property
    def is_saturated(self) -> bool:
        """A correct measurement of overload, so not one of response times."""
        return any(each.code in target_state.OVERLOADS for each in self.target.reasons)

    @property
    def is_in_doubt(self) -> bool:
        return self.measurement.state != Trust.TRUSTED

    @property
    def why_weak(self) -> str:
        """Why times are weak however many requests there are; "" if not."""
        return self.measurement.text if self.is_busy else ""

    @property
    def reasons(self) -> tuple[JudgementReason, ...]:
        """Every reason, by question, worst first."""
        beside = (*self.target.reasons, *self.precision.reasons, *self.notes)
        return (*self.measurement.reasons, *beside)

    def without_machine(self) -> "Judgement":
        """For readers who may not know what the target's machine did: the same answers."""
        state, reasons = self.target.state, self.target.reasons
        told = tuple(each for each in reasons if each.code not in TARGET_MACHINE)
        if len(told) < len(reasons) and all(each.state != state for each in told):
            told = (_MACHINE_UNTOLD, *told)
        return replace(self, target=Finding(state, told))

    def said_of(self, nouns: str) -> "Judgement":
        """The same answers in the words of what the plan counts, its `nouns`."""
        return Judgement(
            self.measurement.said_of(nouns),
            self.target.said_of(nouns),
            self.precision.said_of(nouns),
            _said_of(nouns, self.notes),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "measurement": self.measurement.to_json(),
            "target": self.target.to_json(),
            "precision": self.precision.to_json(),
            "notes": [each.to_json() for each in self.notes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Judgement":
        state = data["target"]["state"]
        return cls(
            Finding(Trust(data["measurement"]["state"]), _reasons(data["measurement"])),
            Finding(state and TargetState(state), _reasons(data["target"])),
            Finding(Precision(data["precision"]["state"]), _reasons(data["precision"])),
            tuple(JudgementReason(**each) for each in data["notes"]),
        )


def _reasons(finding: Mapping[str, Any]) -> tuple[JudgementReason, ...]:
    return tuple(JudgementReason(**each) for each in finding["reasons"])


def _said_of(nouns: str, reasons: tuple[JudgementReason, ...]) -> tuple[JudgementReason, ...]:
    return tuple(replace(each, text=said_of(nouns, each.text)) for each in reasons)


def limits_with(overrides: Mapping[str, Any]) -> dict[str, Limits]:
    """The limits with the settings' overrides, {code: (mild, severe)}.

    Raises KeyError for a code that does not exist.
    """
    unknown = sorted(set(overrides) - set(LIMITS))
    if unknown:
        known = ", ".join(sorted(LIMITS))
        raise KeyError(
            f"BENCHSITE_JUDGEMENT_LIMITS has unknown codes: {', '.join(unknown)}. "
            f"Known codes: {known}."
        )
    return {**LIMITS, **{code: Limits(*pair) for code, pair in overrides.items()}}


def judge(
    observed: Mapping[str, Observed], response: Timing, limits: Mapping[str, Limits] = LIMITS
) -> Judgement:
    """The answers for observed values by code, without criteria that could not be observed.

    `response`: the run's response times.
    """
    doubts = tuple(trust.reasons_of_measurement(observed, limits, response))
    fact = precision.precision_of(response, limits)
    return Judgement(
        Finding(Trust(doubts[0].state) if doubts else Trust.TRUSTED, doubts),
        _target(observed, limits, is_in_doubt=bool(doubts)),
        Finding(Precision(fact.state), (fact,)),
        _notes(observed, limits, doubts),
    )


def _target(
    observed: Mapping[str, Observed], limits: Mapping[str, Limits], *, is_in_doubt: bool
) -> Finding:
    """A busy machine can make a target look slow, never healthy, and it makes no errors."""
    if "no_requests" in observed:
        return _not_known("No request ended, so nothing is known about the target.")
    reasons = tuple(target_state.reasons_of_target(observed, limits))
    if is_in_doubt:
        certain = tuple(each for each in reasons if each.code in target_state.CERTAIN)
        is_slow = any(each.state == TargetState.OVERLOADED for each in reasons)
        if is_slow and not any(each.state != TargetState.HEALTHY for each in certain):
            either = "The target or the busy machine was slow. This run cannot tell which."
            return _not_known(either, *certain)
        reasons = certain
    return Finding(TargetState(reasons[0].state) if reasons else TargetState.HEALTHY, reasons)


def _not_known(text: str, *reasons: JudgementReason) -> Finding:
    return Finding(None, (JudgementReason(TARGET_NOT_KNOWN, "", text), *reasons))


def _notes(
    observed: Mapping[str, Observed],
    limits: Mapping[str, Limits],
    doubts: Sequence[JudgementReason],
) -> tuple[JudgementReason, ...]:
    said = {trust.OWN_TAIL} if any(each.code == trust.HIGH_EFFECT for each in doubts) else set()
    return tuple(
        reason_for(code, "", _NOTE_SENTENCES, seen, beyond.limit)
        for code in _NOTE_SENTENCES
        if code not in said
        and (seen := observed.get(code))
        and (beyond := excess(code, seen.value, trust.limits_of(code, limits, seen)))
    )

"""A run's judgement: three questions, three answers.

Can the measurement be trusted? How was the target? How precise are the figures? Only the first
excludes a run from verdicts. Facts of the setting are notes: they explain, and decide nothing.
Precision is a fact about the number of response times, never a doubt: a mean is as good with 300
requests as its interval over repeats; a p99 is not.

Reasons are what was observed against the limits of the criteria. They are stored without words: a
later release may have others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from campaigns.domain.analysis.criteria import (
    BUSY,
    CERTAIN,
    CRITERIA,
    CROWDED,
    CROWDED_BESIDE,
    HIGH_EFFECT,
    LATE,
    SATURATED,
    TARGET_MACHINE,
    UNSENT,
    Aspect,
    Limits,
)
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import P50, P90, P95, P99, Shown, name, rank_interval, shown
from campaigns.domain.units import (
    count,
    counted,
    decimals_beside,
    decimals_for,
    duration,
    figure,
    number,
    percent,
    said_of,
    with_unit,
)
from campaigns.domain.units import ms as ms_text


@dataclass(frozen=True, slots=True)
class Observation:
    """A criterion's worst value, and where it occurred.

    `injector` counts from 1 and is None if there is only one. `measure` names the value, such as
    p99, or says where and when. `whole` is what relative limits are shares of, where there are any.
    `waits`: how many waits for the network the value adds up, each with the absolute limit.
    """

    value: float
    second: int | None = None
    injector: int | None = None
    measure: str = ""
    whole: float = 0.0
    waits: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgementReason:
    """Why an answer is what it is. `state`: "" of a note that decides nothing. `params`: what its
    text has beside code and numbers; None where only the text is known."""

    code: Annotated[str, "See docs/measuring.md."]
    state: Annotated[str, "The answer if this were the only reason."]
    text: str
    value: float | None = None
    limit: float | None = None
    second: Annotated[int | None, "The worst one."] = None
    params: Mapping[str, Any] | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """In words."""
        return {name: getattr(self, name) for name in _IN_JSON}

    def to_row(self) -> dict[str, Any]:
        """As it is stored, without words: a later release may have others."""
        if self.params is None:
            return self.to_json()
        params = {name: each for name, each in self.params.items() if each}
        return self.to_json() | {"text": "", "params": params}


_IN_JSON = ("code", "state", "text", "value", "limit", "second")


class Excess(NamedTuple):
    """The limit that a value is beyond."""

    limit: float
    is_severe: bool


@dataclass(frozen=True, slots=True)
class LimitsByCode:
    """What runs are judged by: the rows' own limits, and what the settings have instead."""

    overrides: Mapping[str, Limits] = field(default_factory=dict)

    @classmethod
    def with_overrides(cls, pairs: Mapping[str, Any]) -> "LimitsByCode":
        """{code: (mild, severe)}. Raises KeyError for a code that does not exist."""
        if unknown := sorted(set(pairs) - set(CRITERIA)):
            codes = ", ".join(sorted(CRITERIA))
            raise KeyError(
                f"BENCHSITE_JUDGEMENT_LIMITS has unknown codes: {', '.join(unknown)}. "
                f"Known codes: {codes}."
            )
        return cls({code: Limits(*pair) for code, pair in pairs.items()})

    def __getitem__(self, code: str) -> Limits:
        return self.overrides.get(code, CRITERIA[code].limits)

    def at(self, code: str, observation: Observation) -> Limits:
        """For this value: of some the larger of a time and a share of the run's times."""
        limits, share = self[code], CRITERIA[code].share
        if share is None:
            return limits
        return Limits(
            _larger(limits.mild, share.mild, observation.waits, observation.whole),
            _larger(limits.severe, share.severe, 1, observation.whole),
        )

    def excess(self, code: str, observation: Observation) -> Excess | None:
        """The worst limit that the value is beyond; None if it is within both."""
        limits, less_is_worse = self.at(code, observation), CRITERIA[code].less_is_worse
        for limit, is_severe in ((limits.severe, True), (limits.mild, False)):
            if limit is not None and (
                observation.value < limit if less_is_worse else observation.value > limit
            ):
                return Excess(limit, is_severe)
        return None


LIMITS = LimitsByCode()


def _larger(
    time_us: float | None, share: float | None, waits: float, whole_us: float
) -> float | None:
    """None, that is never, if either is."""
    return None if time_us is None or share is None else max(time_us * waits, share * whole_us)


def reason_for(code: str, state: str, observation: Observation, limit: float) -> JudgementReason:
    """The reason with the criterion's sentence."""
    row = CRITERIA[code]
    who = f"Injector process {observation.injector}" if observation.injector else "The injector"
    # The limit without its noun, which the value already has.
    is_counted = row.unit not in ("", "us", "s")
    text = row.sentence.format(
        value=value_words(code, observation.value, limit),
        limit=count(int(limit)) if is_counted else value_words(code, limit),
        were="was" if observation.value == 1 else "were",
        who=who,
        whose=f"{who[0].lower()}{who[1:]}'s",
        Whose=f"{who}'s",
        measure=observation.measure,
        whole=ms_text(observation.whole),
        rest=percent(1 - observation.value) if 0 <= observation.value <= 1 else "",
    )
    if observation.second is not None:
        place = "Steady from second {} on." if row.is_stretch else "Worst in second {}."
        text = f"{text} {place.format(observation.second)}"
    params = {name: getattr(observation, name) for name in ("injector", "measure", "whole")}
    return JudgementReason(
        code, str(state), text, observation.value, limit, observation.second, params
    )


def in_short(reason: JudgementReason, value: str = "") -> str:
    """Its cause, for a row or a first line; its sentence where it is no criterion's. `value`: in
    words, instead of its own."""
    if reason.code not in CRITERIA:
        return reason.text.removesuffix(".")
    own = value_words(reason.code, reason.value or 0.0, reason.limit)
    return CRITERIA[reason.code].cause.format(value=value or own)


def value_words(code: str, value: float, limit: float | None = None) -> str:
    """5.9 ms, 97 %, 2 injector processes: a criterion's value with its unit; on its own side of a
    limit beside it."""
    unit = CRITERIA[code].unit
    if unit == "s":
        return duration(value)
    if code in (CROWDED, CROWDED_BESIDE):
        return percent(value, decimals=0)
    if not unit:
        return percent(value, limit=limit)
    if unit != "us":
        return counted(int(value), unit)
    if limit is None:
        return ms_text(value)
    in_ms = value / 1000
    return with_unit(
        number(in_ms, decimals_beside(in_ms, limit / 1000, decimals_for([in_ms]))), "ms"
    )


_Write = Callable[[JudgementReason], dict[str, Any]]
_OVERLOADS = {SATURATED, "in_flight_growing"}
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

    def in_form(self, write: _Write) -> dict[str, Any]:
        return {"state": self.state, "reasons": [write(each) for each in self.reasons]}


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
        return self.measurement.state != Trust.NO_ANSWER

    @property
    def is_busy(self) -> bool:
        """Whether a busy machine is in its times, so that medians without its part are compared."""
        return any(each.code in BUSY for each in self.measurement.reasons)

    @property
    def is_saturated(self) -> bool:
        """A correct measurement of overload, so not one of response times."""
        return any(each.code in _OVERLOADS for each in self.target.reasons)

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
        rest = tuple(each for each in reasons if each.code not in TARGET_MACHINE)
        if len(rest) < len(reasons) and all(each.state != state for each in rest):
            rest = (_MACHINE_UNTOLD, *rest)
        return replace(self, target=Finding(state, rest))

    def said_of(self, nouns: str) -> "Judgement":
        """The same answers in the words of what the plan counts, its `nouns`."""
        return Judgement(
            self.measurement.said_of(nouns),
            self.target.said_of(nouns),
            self.precision.said_of(nouns),
            _said_of(nouns, self.notes),
        )

    def to_json(self) -> dict[str, Any]:
        """In words."""
        return self._in_form(JudgementReason.to_json)

    def to_row(self) -> dict[str, Any]:
        """As it is stored: codes and numbers."""
        return self._in_form(JudgementReason.to_row)

    def _in_form(self, write: _Write) -> dict[str, Any]:
        return {
            "measurement": self.measurement.in_form(write),
            "target": self.target.in_form(write),
            "precision": self.precision.in_form(write),
            "notes": [write(each) for each in self.notes],
        }

    @classmethod
    def from_row(cls, data: Mapping[str, Any]) -> "Judgement":
        """A stored one, in the words of this release."""
        state = data["target"]["state"]
        return cls(
            Finding(Trust(data["measurement"]["state"]), _reasons(data["measurement"])),
            Finding(state and TargetState(state), _reasons(data["target"])),
            Finding(Precision(data["precision"]["state"]), _reasons(data["precision"])),
            tuple(map(_reason, data["notes"])),
        )


def _reasons(finding: Mapping[str, Any]) -> tuple[JudgementReason, ...]:
    return tuple(map(_reason, finding["reasons"]))


def _reason(row: Mapping[str, Any]) -> JudgementReason:
    """Rows of release 0.2.0 have their text."""
    if row["text"]:
        return JudgementReason(**row)
    params = dict(row["params"])
    nouns = params.pop("nouns", "requests")
    code, state, value, limit = (row[name] for name in ("code", "state", "value", "limit"))
    if code == TARGET_NOT_KNOWN:
        reason = _not_known_reason(**params)
    elif code in STATES:
        reason = precision_reason(code, value, limit, params)
    else:
        reason = reason_for(code, state, Observation(value, row["second"], **params), limit)
    return _said_of(nouns, (reason,))[0]


def _said_of(nouns: str, reasons: tuple[JudgementReason, ...]) -> tuple[JudgementReason, ...]:
    return tuple(
        replace(
            each,
            text=said_of(nouns, each.text),
            params=None if each.params is None else {**each.params, "nouns": nouns},
        )
        for each in reasons
    )


def judge(
    observations: Mapping[str, Observation], response: Timing, limits: LimitsByCode = LIMITS
) -> Judgement:
    """The answers for observed values by code, without criteria that could not be observed.

    `response`: the run's response times.
    """
    doubts = _reasons_of_measurement(observations, limits)
    fact = precision_of(response, limits)
    return Judgement(
        Finding(Trust((doubts and doubts[0].state) or Trust.TRUSTED), doubts),
        _target(observations, limits, may_be_late=bool(doubts)),
        Finding(Precision(fact.state), (fact,)),
        tuple(_beyond(Aspect.NOTE, observations, limits)),
    )


def _beyond(
    aspect: Aspect, observations: Mapping[str, Observation], limits: LimitsByCode
) -> Iterator[JudgementReason]:
    """What is beyond its limit, in the order of the table."""
    for code, row in CRITERIA.items():
        value = observations.get(code)
        if row.aspect == aspect and value and (excess := limits.excess(code, value)):
            if code == "dropped" and excess.is_severe:
                code = SATURATED
            decides = excess.is_severe or aspect == Aspect.TARGET
            yield reason_for(code, CRITERIA[code].state if decides else "", value, excess.limit)


def _reasons_of_measurement(
    observations: Mapping[str, Observation], limits: LimitsByCode
) -> tuple[JudgementReason, ...]:
    """Why the injectors did not measure what they claim, worst first; what only explains last. A
    bad target is none of these."""
    if HIGH_EFFECT in observations:
        # What lateness added was timed.
        observations = {code: value for code, value in observations.items() if code != LATE}
    reasons = list(_beyond(Aspect.MEASUREMENT, observations, limits))
    if reasons and "no_seconds" not in observations:
        for code in sorted(UNSENT & observations.keys()):
            if excess := limits.excess(code, observations[code]):
                state = Trust.BUSY if excess.is_severe else ""
                reasons.append(reason_for(code, state, observations[code], excess.limit))
    worst_first = [*reversed(Trust), ""]
    return tuple(sorted(reasons, key=lambda each: worst_first.index(each.state)))


def _target(
    observations: Mapping[str, Observation], limits: LimitsByCode, *, may_be_late: bool
) -> Finding:
    """A busy machine can make a target look slow, never healthy, and it makes no errors."""
    if "no_requests" in observations:
        return _not_known("no_requests")
    worst_first = list(reversed(TargetState))
    reasons = sorted(
        _beyond(Aspect.TARGET, observations, limits),
        key=lambda each: worst_first.index(each.state),
    )
    if may_be_late:
        certain = [each for each in reasons if each.code in CERTAIN]
        is_slow = any(each.state == TargetState.OVERLOADED for each in reasons)
        if is_slow and not any(each.state != TargetState.HEALTHY for each in certain):
            return _not_known("either", *certain)
        reasons = certain
    return Finding(
        TargetState(reasons[0].state) if reasons else TargetState.HEALTHY, tuple(reasons)
    )


_WHY_NOT_KNOWN = {
    "no_requests": "No request ended, so the server's health is unknown.",
    "either": "The target or the busy machine was slow. This run cannot tell which.",
}


def _not_known(why: str, *reasons: JudgementReason) -> Finding:
    return Finding(None, (_not_known_reason(why), *reasons))


def _not_known_reason(why: str) -> JudgementReason:
    return JudgementReason(TARGET_NOT_KNOWN, "", _WHY_NOT_KNOWN[why], params={"why": why})


def precision_of(response: Timing, limits: LimitsByCode) -> JudgementReason:
    """The precision of one run: "300 requests: p95 between 29.1 and 31.4 ms, no p99"."""
    limit = limits["too_few_requests"].mild
    if not response.n:
        return precision_reason("no_requests", 0, None, {})
    code = "enough_requests" if limit is None or response.n >= limit else "too_few_requests"
    # The highest percentile that the requests support, with its 95 % interval.
    for q in (P99, P95, P90, P50):
        ranks = rank_interval(response.n, q)
        if shown(response.n, q) is Shown.OK and None not in ranks:
            levels = response.histogram.levels_between(*ranks)
            spread = {"per_100k": q, "low_us": float(levels[0]), "high_us": float(levels[-1])}
            return precision_reason(code, response.n, limit, spread)
    return precision_reason(code, response.n, limit, {})


STATES = {
    "no_requests": Precision.NONE,
    "too_few_requests": Precision.COARSE,
    "enough_requests": Precision.FINE,
}


def precision_reason(
    code: str, n: int, limit: float | None, spread: Mapping[str, Any]
) -> JudgementReason:
    """`spread`: {"per_100k", "low_us", "high_us"} of the highest percentile; {} without one."""
    parts = []
    if spread:
        low, high = (figure(spread[end] / 1000) for end in ("low_us", "high_us"))
        ms = with_unit(low if low == high else f"between {low} and {high}", "ms")
        parts.append(f"{name(spread['per_100k'])} {ms}")
    if not spread or spread["per_100k"] != P99:
        parts.append("no p99" if spread else "no percentiles")
    text = f"{counted(n, 'requests')}: {', '.join(parts)}."
    if not n:
        text = "No response times: no request succeeded."
    return JudgementReason(code, STATES[code], text, n, limit, params=spread)

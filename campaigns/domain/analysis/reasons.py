"""What was observed of a run, against the limits of the criteria: the reasons for answers, with
their sentences. They are stored without words: a later release may have others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from campaigns.domain.analysis.criteria import CRITERIA, CROWDED, CROWDED_BESIDE, Limits
from campaigns.domain.units import (
    count,
    counted,
    decimals_beside,
    decimals_for,
    duration,
    number,
    percent,
    with_unit,
)
from campaigns.domain.units import ms as ms_text


@dataclass(frozen=True, slots=True)
class Observed:
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

    def at(self, code: str, observed: Observed) -> Limits:
        """For this value: of some the larger of a time and a share of the run's times."""
        limits, share = self[code], CRITERIA[code].share
        if share is None:
            return limits
        return Limits(
            _larger(limits.mild, share.mild, observed.waits, observed.whole),
            _larger(limits.severe, share.severe, 1, observed.whole),
        )

    def excess(self, code: str, observed: Observed) -> Excess | None:
        """The worst limit that the value is beyond; None if it is within both."""
        limits, less_is_worse = self.at(code, observed), CRITERIA[code].less_is_worse
        for limit, is_severe in ((limits.severe, True), (limits.mild, False)):
            if limit is not None and (
                observed.value < limit if less_is_worse else observed.value > limit
            ):
                return Excess(limit, is_severe)
        return None


LIMITS = LimitsByCode()


def _larger(
    time_us: float | None, share: float | None, waits: float, whole_us: float
) -> float | None:
    """None, that is never, if either is."""
    return None if time_us is None or share is None else max(time_us * waits, share * whole_us)


def reason_for(code: str, state: str, observed: Observed, limit: float) -> JudgementReason:
    """The reason with the criterion's sentence."""
    row = CRITERIA[code]
    who = f"Injector process {observed.injector}" if observed.injector else "The injector"
    # The limit without its noun, which the value already has.
    is_counted = row.unit not in ("", "us", "s")
    text = row.sentence.format(
        value=value_words(code, observed.value, limit),
        limit=count(int(limit)) if is_counted else value_words(code, limit),
        were="was" if observed.value == 1 else "were",
        who=who,
        whose=f"{who[0].lower()}{who[1:]}'s",
        Whose=f"{who}'s",
        measure=observed.measure,
        whole=ms_text(observed.whole),
        rest=percent(1 - observed.value) if 0 <= observed.value <= 1 else "",
    )
    if observed.second is not None:
        place = "Steady from second {} on." if row.is_stretch else "Worst in second {}."
        text = f"{text} {place.format(observed.second)}"
    params = {name: getattr(observed, name) for name in ("injector", "measure", "whole")}
    return JudgementReason(code, str(state), text, observed.value, limit, observed.second, params)


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

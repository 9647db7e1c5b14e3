"""Criteria of the judgement: observed values, their limits, and the sentences of those beyond.

Each criterion has a code and belongs to one question: `trust` (the measurement), `target_state`,
`precision` or, as a neutral note, `judgement`. Limits and their sources: docs/measuring.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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

_TIMES = {
    "own_time", "own_time_p99", "own_tail", "lateness_p99", "hub_lag", "hub_lag_p50", "hub_lag_p99",
    "gc_pause", "clock_step", "starts_apart",
}  # fmt: skip
_COUNTS = {
    "too_few_requests": "requests",
    "injector_exhausted": "requests",
    "swapped": "pages",
    "lost_shards": "injector processes",
}
# For these, `second` is the start of the last stretch at one level.
_STRETCHES = {"warming_up", "slowing_down", "longer_for_a_while", "shorter_for_a_while"}
_LESS_IS_WORSE = {"too_few_requests", "sent_share"}
# Their `measure` says where and when.
TARGET_MACHINE = ("target_cpu", "target_link", "listen_overflows")
_SECONDS = set(TARGET_MACHINE[:2])
# Other programs used most of an injector host's CPU; the target among them, where it runs there.
CROWDED, CROWDED_BESIDE = "crowded", "crowded_beside"


@dataclass(frozen=True, slots=True)
class Limits:
    """The values beyond which a reason is given, and beyond which it is severe; None: never.

    Severe reasons make a measurement not usable; the others make it doubtful.
    """

    mild: float | None
    severe: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """A criterion's worst value, and where it occurred.

    `injector` counts from 1 and is None if there is only one. `measure` names the value, such as
    p99. `whole` is what relative limits are shares of, where there are any. `waits`: how many
    waits for the network the value adds up, each with the absolute limit.
    """

    value: float
    second: int | None = None
    injector: int | None = None
    measure: str = ""
    whole: float = 0.0
    waits: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgementReason:
    """Why an answer is what it is. `state`: the answer if this were the only reason."""

    code: str
    state: str
    text: str
    value: float | None = None
    limit: float | None = None
    second: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Excess(NamedTuple):
    """The limit that a value is beyond."""

    limit: float
    is_severe: bool


def excess(code: str, value: float, limits: Limits) -> Excess | None:
    """The worst limit that the value is beyond; None if it is within both."""
    for limit, is_severe in ((limits.severe, True), (limits.mild, False)):
        if limit is not None and (value < limit if code in _LESS_IS_WORSE else value > limit):
            return Excess(limit, is_severe)
    return None


def worst_value(code: str, values: Iterable[float]) -> float:
    """Of at least one value of a criterion."""
    return min(values) if code in _LESS_IS_WORSE else max(values)


def reason_for(
    code: str, state: str, sentences: Mapping[str, str], seen: Observed, limit: float
) -> JudgementReason:
    """The reason with the code's sentence.

    {value}, {limit} are numbers with units, {whole} is the `whole` of a time; {who} is "The
    injector", or "Injector process 2" if there are several.
    """
    who = f"Injector process {seen.injector}" if seen.injector else "The injector"
    # The limit without its noun, which the value already has.
    text = sentences[code].format(
        value=value_words(code, seen.value, limit),
        limit=count(int(limit)) if code in _COUNTS else value_words(code, limit),
        were="was" if seen.value == 1 else "were",
        who=who,
        whose=f"{who[0].lower()}{who[1:]}'s",
        whose_=f"{who}'s",
        measure=seen.measure,
        whole=ms_text(seen.whole),
        rest=percent(1 - seen.value) if 0 <= seen.value <= 1 else "",
    )
    if seen.second is not None:
        place = "Steady from second {} on." if code in _STRETCHES else "Worst in second {}."
        text = f"{text} {place.format(seen.second)}"
    return JudgementReason(code, str(state), text, seen.value, limit, seen.second)


def value_words(code: str, value: float, limit: float | None = None) -> str:
    """5.9 ms, 97 %, 2 injector processes: a criterion's value with its unit; on its own side of a
    limit beside it."""
    if code in _SECONDS:
        return duration(value)
    if code in (CROWDED, CROWDED_BESIDE):
        return percent(value, decimals=0)
    if code in _COUNTS:
        return counted(int(value), _COUNTS[code])
    if code not in _TIMES:
        return percent(value, limit=limit)
    if limit is None:
        return ms_text(value)
    in_ms = value / 1000
    return with_unit(
        number(in_ms, decimals_beside(in_ms, limit / 1000, decimals_for([in_ms]))), "ms"
    )

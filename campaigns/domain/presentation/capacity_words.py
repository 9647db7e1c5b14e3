"""What a search for a capacity says: its sentence, how far it is, each trial in words; and what
limited it: in a word, and the evidence of its trials' judgements.

Of the target its replies are known, so an answer names the target's side: the target, or the
network on the way to it. Whether injectors had room is read from their vitals near the answer. What
the target's own machine told is set beside that (`beside_machine`), and may name it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from campaigns.domain.analysis.busy import Busy
from campaigns.domain.analysis.capacity import (
    MOST_OPEN_TRIALS,
    NOT_KEPT_UP,
    CapacityAnswer,
    Ending,
    TrialResult,
)
from campaigns.domain.analysis.capacity_interval import FEWEST_FOR_INTERVAL, LEAST_DRIFT
from campaigns.domain.analysis.criteria import CRITERIA, LIMITS, TARGET_MACHINE, LimitsByCode
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.limit import OTHERS, blame
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.metrics.redaction import without_addresses
from campaigns.domain.plan.threshold import TARGET_METRICS, Threshold
from campaigns.domain.presentation.remedies import cause_words
from campaigns.domain.presentation.results import Sentence
from campaigns.domain.units import (
    DASH,
    counted,
    decimals_beside,
    decimals_for,
    percent,
    rate,
    typed_percent,
)

RESULT_WORDS = {
    TrialResult.PASSED: "passed",
    TrialResult.FAILED: "failed",
    TrialResult.UNTRUSTED: "not counted",
}
_NUMBERS = (
    "no", "one", "two", "three", "four", "five",
    "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_WHY = {
    Ending.LIMIT: "The search wasn't allowed to go higher.",
    Ending.INJECTOR: f"This machine was too busy for {MOST_OPEN_TRIALS} trials at the next rate.",
    Ending.DEADLINE: "The search ran out of time.",
    Ending.STOPPED: "The search was stopped.",
    Ending.SILENT: "The target stopped answering.",
}
_INJECTOR_AT_ONCE = _WHY[Ending.INJECTOR].replace("next", "first")
# The highest rate that was allowed passed at last, though a trial up to there had failed.
_LIMIT_NOT_ALWAYS_KEPT = "Above that, trials both passed and failed."


def objective_words(rules: Sequence[Threshold]) -> str:
    """p95 below 300 ms and errors below 1 %"""
    return " and ".join(
        f"{rule.metric.replace('_', ' ')}{rule.part} {'above' if rule.sign == '>' else 'below'} "
        f"{rule.limit:,.15g}{f' {rule.unit}' if rule.unit else ''}"
        for rule in rules
    )


def search_sentence(answer: CapacityAnswer, objective: str, *, is_going_on: bool) -> Sentence:
    """The answer with its interval, or what stopped it and what is known."""
    if lacks_its_rule(answer):
        # What its trials say, whatever rule they follow from.
        least = f" Up to {_per_s(answer.at_least)} no trial failed." if answer.at_least else ""
        lowest = f" The lowest rate that failed is {_per_s(answer.below)}."
        below = lowest if answer.below else ""
        return [
            ("No capacity is known", True),
            (": an older release made this search.", False),
            (f"{least}{below} Search again.", False),
        ]
    if is_going_on:
        n = len(answer.searches)
        after = (
            f" {_some_searches(n).capitalize()} done; the interval comes with the third."
            if answer.capacity and n < FEWEST_FOR_INTERVAL
            else ""
        )
        if not (answer.capacity or answer.at_least or answer.below):
            return [("Searching… no results yet.", False)]
        return [("So far ", False), *_known(answer, objective), (after, False)]
    if answer.ending == Ending.BELOW:
        first = _per_s(answer.below)
        return [
            (f"Below {first}", True),
            (f": already this rate does not keep {objective}.", False),
        ]
    if answer.ending == Ending.DRIFTED:
        # A search that was lost on its way may follow others that found the same.
        is_told = abs(answer.drift) >= LEAST_DRIFT
        drift = f" by {percent(answer.drift, decimals=0, signed=True)}" if is_told else ""
        over = " from the first search to the last" if drift else " from one search to the next"
        return [("No steady answer:", True), (f" the server changed{drift}{over}.", False)]
    if answer.ending == Ending.FOUND:
        return _known(answer, objective, is_first=True)
    known = (
        [(f"At least {_per_s(answer.at_least)}", True), (f" keep {objective}.", False)]
        if _is_bound(answer)
        else _known(answer, objective, True)
    )
    return [*known, (f" {_why(answer)}", False)]


def _why(answer: CapacityAnswer) -> str:
    if answer.ending == Ending.LIMIT and answer.below:
        return _LIMIT_NOT_ALWAYS_KEPT
    if answer.ending == Ending.INJECTOR and not (answer.at_least or answer.below):
        return _INJECTOR_AT_ONCE
    return _WHY[answer.ending]


def lacks_its_rule(answer: CapacityAnswer) -> bool:
    """Whether it was made under an earlier rule, and its trials alone do not say the answer."""
    is_plain = _is_bound(answer) or answer.ending in (Ending.BELOW, Ending.DRIFTED)
    return answer.rule is None and not is_plain


def bound_words(answer: CapacityAnswer) -> str:
    """What is known of a capacity that was not found: at least 400, below 100, between both; ""
    where nothing is, as no bound holds of a target that drifted or under an earlier rule."""
    least, below = answer.at_least, answer.below
    if answer.ending == Ending.DRIFTED or lacks_its_rule(answer) or not (least or below):
        return ""
    if not least:
        return f"below {rate(below)}"
    is_between = below and not _is_bound(answer)
    return f"between {rate(least)} and {rate(below)}" if is_between else f"at least {rate(least)}"


def _is_bound(answer: CapacityAnswer) -> bool:
    return answer.ending in (Ending.LIMIT, Ending.INJECTOR) and bool(answer.at_least)


def _known(answer: CapacityAnswer, objective: str, is_first: bool = False) -> Sentence:
    """What the trials say so far; `is_first`: the sentence begins with it."""
    about, between, least, below = (
        word.capitalize() if is_first else word
        for word in ("about", "between", "at least", "below")
    )
    found = answer.capacity
    if found and found.low is not None:
        interval = f"{rate(found.low)} to {rate(found.high)}, {_some_searches(found.n_searches)}"
        return [(_per_s(found.rate_per_s), True), (f" ({interval}) keep {objective}.", False)]
    if found:
        return [(f"{about} {_per_s(found.rate_per_s)}", True), (f" keep {objective}.", False)]
    if answer.at_least and answer.below:
        ends = f"{between} {rate(answer.at_least)} and {_per_s(answer.below)}"
        return [("the limit lies " if not is_first else "", False), (ends, True), (".", False)]
    if answer.at_least:
        return [(f"{least} {_per_s(answer.at_least)}", True), (f" keep {objective}.", False)]
    if answer.below:
        return [(f"{below} {_per_s(answer.below)}", True), (".", False)]
    return [("Couldn't find the limit.", False)]


def _per_s(rate_per_s: float | None) -> str:
    return f"{rate(rate_per_s)} requests/s"


def _some_searches(n: int) -> str:
    """one search, five searches"""
    word = _NUMBERS[n] if n < len(_NUMBERS) else str(n)
    return f"{word} {counted(n, 'searches').partition(' ')[2]}"


# Where on a row's bar the limit is, in percent of its length.
LIMIT_AT = 70
# From here on a machine is likely the limit: what a few seconds need is beyond their mean.
BUSY_FROM = 0.80
_FULL_CORE = 0.9  # of one core: what a single thread can fill
_MACHINE_SIGNS = {code: CRITERIA[code].cause for code in TARGET_MACHINE}
_SIGNS = {code: CRITERIA[code].cause for code in (*NOT_KEPT_UP, *TARGET_MACHINE)}
_TARGET_SIDE, _TARGET_CPU, _TARGET_NETWORK = "target side", "target CPU", "target network"
_UNKNOWN = "unknown"
_BUSY = {
    "cpu": "CPU of the busiest, of a core",
    "link": "network link of its machine",
}
_WORDS = {
    Ending.FOUND: _TARGET_SIDE,
    Ending.BELOW: _TARGET_SIDE,
    Ending.INJECTOR: "busy machine",
    Ending.LIMIT: "cap",
    Ending.DRIFTED: "drift",
    Ending.DEADLINE: "time",
    Ending.STOPPED: "stopped",
    Ending.SILENT: "no reply",
}
_WHY_LIMITED = {
    Ending.DRIFTED: "The server's capacity changed between searches.",
    Ending.DEADLINE: "Time ran out before the limit was found.",
    Ending.STOPPED: "The search was stopped before the limit was found.",
    Ending.SILENT: "After the last trial the target stopped answering.",
    Ending.INJECTOR: f"This machine was too busy for {MOST_OPEN_TRIALS} trials in a row. Search "
    "again when it is quiet.",
}


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A figure of the target's side or of the injectors. `bar`: its length in percent, the limit
    at LIMIT_AT; None where there is none to compare with."""

    who: str
    figure: str
    measured: str
    limit: str = DASH
    bar: float | None = None
    was_it: str = ""


@dataclass(frozen=True, slots=True)
class Limiter:
    """`word` is for a tile, `why` the sentence beside it."""

    word: Annotated[str, "Such as target CPU, injectors or cap."]
    why: str
    rows: tuple[LimitRow, ...]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Limiter":
        rows = tuple(LimitRow(**row) for row in stored["rows"])
        return cls(stored["word"], stored["why"], rows)

    def beside_machine(self, near: Busy) -> "Limiter":
        """With what the target's machine did near the answer, as far as anybody told that."""
        told = _of_machine(near, may_be=self.word in (_TARGET_SIDE, DASH))
        known = self.rows if near.target_cpu is None else _without_unknown(self.rows)
        rows = (*told, *known)
        if self.word != _TARGET_SIDE:
            return replace(self, rows=rows)
        word, why = _named(near)
        return Limiter(word, f"{why}{_room_words(rows)}", rows)

    def without_machine(self, host: str) -> "Limiter":
        """For readers who may not see the target's machine: without its signs, the rules about it,
        and its address."""
        rows = [
            row
            for row in _without_unknown(self.rows)
            if row.figure not in _MACHINE_SIGNS.values()
            and not row.figure.startswith(TARGET_METRICS)
        ]
        told = [replace(row, figure=without_addresses(row.figure, host)) for row in rows]
        return replace(self, rows=tuple(told))

    @property
    def names_machine(self) -> bool:
        """Whether what the target's machine told makes it the likely limit."""
        return self.word in (_TARGET_CPU, _TARGET_NETWORK)


def signs_of(verdicts: Iterable[Verdict], judgement: Judgement | None) -> list[str]:
    """By what a trial failed: rules that were broken, and what the target did not keep up with."""
    broken = [f"{each.rule} was broken" for each in verdicts if each.is_broken]
    reasons = judgement.target.reasons if judgement else ()
    return broken + [_SIGNS[each.code] for each in reasons if each.code in _SIGNS]


def limiter_of(
    ending: Ending | None,
    failed: Sequence[Sequence[str]],
    doubts: Sequence[str],
    busy: Sequence[Mapping[str, float]],
    cap: str,
    limits: LimitsByCode = LIMITS,
    spoilt: Sequence[Judgement] = (),
) -> Limiter:
    """`failed`: the signs of each failed trial. `doubts`: why each of the last trials that do not
    count does not, and `spoilt` their judgements. `busy`: what injectors used in each trial near
    the answer, by the criteria's codes. `cap`: the rate that was not to be exceeded, in words.
    `limits`: by which trials are judged."""
    injectors = _of_injectors(busy, limits)
    is_target = ending in (Ending.FOUND, Ending.BELOW)
    why = _WHY_LIMITED.get(ending, "")
    if ending == Ending.LIMIT and failed:
        why = f"The last trial, at {cap}, passed, and no higher rate was allowed; others failed."
    elif ending == Ending.LIMIT:
        why = f"The server handled every rate up to {cap}, the highest allowed."
    elif is_target:
        why = f"{_named(Busy())[1]}{_room_words(injectors)}"
    elif ending is None:
        why = "Appears when the search ends."
    machine = (
        [
            LimitRow("Injector's machine", why, counted(n, "trials"), was_it="yes")
            for why, n in Counter(doubts).items()
        ]
        if ending == Ending.INJECTOR
        else []
    )
    rows = (*_of_target(failed, is_target), *machine, *injectors)
    word = _WORDS.get(ending, DASH)
    if ending == Ending.INJECTOR and spoilt:
        cause = blame(spoilt[-1])
        word = CRITERIA[cause.code].who.removeprefix("the ") if cause.code in OTHERS else word
        said = cause_words(spoilt, len(spoilt), "trials")
        why = f"{said[:1].upper()}{said[1:]}. {CRITERIA[cause.code].remedy}"
    return Limiter(word, why, rows)


def _of_target(failed: Sequence[Sequence[str]], is_target: bool) -> list[LimitRow]:
    n_by_sign = Counter(sign for signs in failed for sign in set(signs))
    was_it = "yes" if is_target else ""
    trials = counted(len(failed), "failed trials")
    rows = [
        LimitRow("Target", sign, f"{n} of {trials}", was_it=was_it)
        for sign, n in n_by_sign.most_common()
    ]
    unknown = LimitRow("Target", "its own CPU", _UNKNOWN, was_it="start its agent")
    return [*rows, unknown] if failed and _MACHINE_SIGNS["target_cpu"] not in n_by_sign else rows


def _of_machine(near: Busy, *, may_be: bool) -> Iterator[LimitRow]:
    """`may_be`: nothing else is known to be the limit."""
    likely = "likely" if may_be else ""
    if near.target_cpu is not None:
        cores = f" of {counted(near.target_cores, 'cores')}" if near.target_cores else ""
        # A thread that fills a core moves from one to another, and the mean of many hides it; of
        # how many, nobody may have told.
        in_use = near.target_cpu * near.target_cores
        may_fill = near.target_cores != 1 and (in_use >= _FULL_CORE or not near.target_cores)
        below = "one core may be" if may_fill else "no"
        was_it = likely if near.target_cpu >= BUSY_FROM else below
        yield _bar_row("Target", f"CPU{cores}", near.target_cpu, BUSY_FROM, was_it)
    if near.target_link is not None:
        was_it = likely if near.target_link >= BUSY_FROM else "no"
        yield _bar_row("Target", "network link of its machine", near.target_link, BUSY_FROM, was_it)


def _without_unknown(rows: Sequence[LimitRow]) -> tuple[LimitRow, ...]:
    return tuple(row for row in rows if row.measured != _UNKNOWN)


def _named(near: Busy) -> tuple[str, str]:
    """The word for the target's side, and the sentence about it."""
    if near.target_cpu is not None and near.target_cpu >= BUSY_FROM:
        return (
            _TARGET_CPU,
            f"The target's CPU was likely the limit, at {_whole_percent(near.target_cpu)}.",
        )
    if near.target_link is not None and near.target_link >= BUSY_FROM:
        full = _whole_percent(near.target_link)
        return _TARGET_NETWORK, f"The target's network link was likely the limit, {full} full."
    cpu = (
        f"; its CPU was at {_whole_percent(near.target_cpu)}" if near.target_cpu is not None else ""
    )
    return _TARGET_SIDE, f"The target, or the network on the way to it{cpu}."


def _whole_percent(share: float) -> str:
    return percent(share, decimals=0)


def _bar_row(who: str, figure: str, share: float, limit: float, was_it: str) -> LimitRow:
    bar = min(100.0, round(LIMIT_AT * share / limit, 1))
    usual = decimals_for([100 * share], most=2)
    measured = percent(share, decimals=decimals_beside(100 * share, 100 * limit, usual))
    return LimitRow(who, figure, measured, typed_percent(limit), bar, was_it)


def _room_words(rows: Iterable[LimitRow]) -> str:
    injectors = [row for row in rows if row.who == "Injectors"]
    has_room = bool(injectors) and not any(row.was_it == "yes" for row in injectors)
    return " The injectors had room." if has_room else ""


def _of_injectors(busy: Sequence[Mapping[str, float]], limits: LimitsByCode) -> list[LimitRow]:
    """The mean over the trials; a criterion that some trial lacks is of the others."""
    rows = []
    for code, figure in _BUSY.items():
        values = [each[code] for each in busy if code in each]
        if values:
            mean, mild = sum(values) / len(values), limits[code].mild
            if mild is None:
                rows.append(LimitRow("Injectors", figure, percent(mean), was_it="no"))
            else:
                was_it = "yes" if mean > mild else "no"
                rows.append(_bar_row("Injectors", figure, mean, mild, was_it))
    return rows

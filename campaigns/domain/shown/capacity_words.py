"""What a search for a capacity says: its sentence, how far it is, and each trial in words."""

from collections.abc import Sequence

from campaigns.domain.judged.capacity import CapacityAnswer, Ending, TrialResult
from campaigns.domain.judged.capacity_interval import FEWEST_FOR_INTERVAL, LEAST_DRIFT
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import counted, percent, rate

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
    Ending.LIMIT: "No higher rate was allowed.",
    Ending.INJECTOR: "The injector is the limit: two trials at the next rate cannot be trusted.",
    Ending.DEADLINE: "The search ran out of time.",
    Ending.STOPPED: "The search was stopped.",
    Ending.SILENT: "The target stopped answering.",
}
_INJECTOR_AT_ONCE = "The injector is the limit: two trials at the first rate cannot be trusted."
# The highest rate that was allowed passed at last, though a trial up to there had failed.
_LIMIT_NOT_ALWAYS_KEPT = (
    "From there to the highest rate that was allowed, trials both passed and failed."
)


def objective_words(rules: Sequence[Threshold]) -> str:
    """p95 below 300 ms and errors below 1 %"""
    return " and ".join(
        f"{rule.metric.replace('_', ' ')} {'above' if rule.sign == '>' else 'below'} "
        f"{rule.limit:,.15g}{f' {rule.unit}' if rule.unit else ''}"
        for rule in rules
    )


def search_sentence(answer: CapacityAnswer, objective: str, *, is_going_on: bool) -> Sentence:
    """The answer with its interval, or what stopped it and what is known."""
    if lacks_its_rule(answer):
        return [
            ("No capacity is known", True),
            (": this search was made under an earlier rule.", False),
            (f"{_of_trials(answer)} Search again.", False),
        ]
    if is_going_on:
        n = len(answer.searches)
        after = (
            f" {_some_searches(n).capitalize()} done; the interval comes with the third."
            if answer.capacity and n < FEWEST_FOR_INTERVAL
            else ""
        )
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
        return [("No steady answer:", True), (f" the target drifted{drift}{over}.", False)]
    if answer.ending == Ending.FOUND:
        return _known(answer, objective, is_first=True)
    known = _at_least(answer, objective) if _is_bound(answer) else _known(answer, objective, True)
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


def _of_trials(answer: CapacityAnswer) -> str:
    """What they say, whatever rule they follow from."""
    said = []
    if answer.at_least:
        said.append(f" Up to {_per_s(answer.at_least)} no trial failed.")
    if answer.below:
        said.append(f" The lowest rate that failed is {_per_s(answer.below)}.")
    return "".join(said)


def _is_bound(answer: CapacityAnswer) -> bool:
    return answer.ending in (Ending.LIMIT, Ending.INJECTOR) and bool(answer.at_least)


def _at_least(answer: CapacityAnswer, objective: str) -> Sentence:
    return [(f"At least {_per_s(answer.at_least)}", True), (f" keep {objective}.", False)]


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
    return [("Nothing is known." if is_first else "nothing is known.", False)]


def _per_s(rate_per_s: float | None) -> str:
    return f"{rate(rate_per_s)} requests/s"


def _some_searches(n: int) -> str:
    """one search, five searches"""
    word = _NUMBERS[n] if n < len(_NUMBERS) else str(n)
    return f"{word} {counted(n, 'searches').partition(' ')[2]}"

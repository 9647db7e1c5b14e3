"""What a comparison of arms that took turns says, in sentences: the answer, then its limits."""

from collections.abc import Mapping, Sequence

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.side_by_side import ArmComparison
from campaigns.domain.analysis.signed_rank import Ratio
from campaigns.domain.presentation.intervals import (
    FACTOR_FROM,
    bounds_words,
    share_decimals,
    slower_words,
)
from campaigns.domain.units import and_joined, duration, figure, number, percent

Names = Sequence[str] | Mapping[int, str]  # by an arm's number


def answer(found: ArmComparison, names: Names) -> str:
    """One sentence; `names` are those of all arms."""
    reference, arm = names[found.reference], names[found.arm]
    if found.p50 is None:
        return why_no_word(found, names)
    if found.word in {Word.SLOWER, Word.FASTER}:
        if found.behind:
            return f"{arm} is {found.word} than {reference}."
        return _difference(found, reference, arm)
    p50 = found.p50
    if found.word == Word.SAME:
        most = max(p50.high - 1, 1 - p50.low)
        return f"{arm} is as fast as {reference}, within {_percent(most)}."
    bounds = bounds_words(p50.low, p50.high)
    if found.word in {Word.NOT_SLOWER, Word.NOT_FASTER}:
        return f"{arm} is {found.word} than {reference}: {bounds}."
    return f"{arm} against {reference} is too close to call: {bounds}."


def why_no_word(found: ArmComparison, names: Names) -> str:
    """Of arms that fail, or have had no round yet."""
    if found.failing:
        who = and_joined([names[number] for number in found.failing])
        return f"More than a tenth of the requests to {who} failed, so times are not compared."
    reference, arm = names[found.reference], names[found.arm]
    return f"No two rounds had five replies of both {reference} and {arm}."


def limits_of(
    found: ArmComparison,
    names: Names,
    *,
    rate_per_s: float | None = None,
    asked_per_s: float | None = None,
    elapsed_s: float | None = None,
) -> list[str]:
    """What else has to be known, a sentence each."""
    sentences = []
    if found.behind and found.p50 is not None:
        who = and_joined([names[number] for number in found.behind])
        verb = "does" if len(found.behind) == 1 else "do"
        at = f" at {rate_per_s:,g}/s" if rate_per_s else ""
        sentences.append(f"How much cannot be told{at}: {who} {verb} not keep up here.")
    if found.at_least and found.word in {Word.SLOWER, Word.FASTER}:
        sentences.append("The machine hid a part of the difference, which may be larger.")
    if rate_per_s and asked_per_s and rate_per_s < asked_per_s:
        sentences.append(
            f"The rate was {rate_per_s:,g}/s: {asked_per_s:,g}/s were too much for this machine."
        )
    if "load" in found.halves:
        quiet, busy = found.halves["load"]
        sentences.append(
            f"Load matters: {slower_words(quiet.value)} when quieter, "
            f"{slower_words(busy.value)} when busier."
        )
    if "time" in found.halves:
        first, second = found.halves["time"]
        sentences.append(
            f"It changed midway: {slower_words(first.value)} at first, "
            f"{slower_words(second.value)} later."
        )
    left_s = None if elapsed_s is None or found.is_settled else found.seconds_left(elapsed_s)
    if left_s is not None:
        sentences.append(seconds_left_words(left_s))
    return sentences


def seconds_left_words(left_s: float) -> str:
    return f"About {duration(_round_up(left_s))} more would settle it."


def ratio_text(ratio: Ratio | None) -> str:
    """1.24 [1.19, 1.29]; a dash where there is none."""
    if ratio is None:
        return "–"
    return f"{figure(ratio.value)} [{figure(ratio.low)}, {figure(ratio.high)}]"


def _difference(found: ArmComparison, reference: str, arm: str) -> str:
    p50 = found.p50
    is_slower = found.word == Word.SLOWER
    if is_slower and p50.value >= FACTOR_FROM:
        low, best, high = map(figure, (p50.low, p50.value, p50.high))
        size = f"at least {low}" if found.at_least else f"{low} to {high}"
        said = f"{arm} takes {size} times as long as {reference}"
    else:
        ends = (p50.low - 1, p50.high - 1) if is_slower else (1 - p50.high, 1 - p50.low)
        low, best, high = map(_percent, (ends[0], abs(p50.value - 1), ends[1]))
        least = number(100 * ends[0], share_decimals(ends[0]))
        size = f"at least {low}" if found.at_least else f"{least} to {high}"
        said = f"{arm} is {size} {found.word} than {reference}"
    or_more = f", upper end {high} or more" if found.at_least else ""
    return f"{said} (best estimate {best}{or_more})."


def _percent(share: float) -> str:
    return percent(share, decimals=share_decimals(share))


def _round_up(seconds: float) -> float:
    return max(1.0, float(f"{seconds:.1g}"))

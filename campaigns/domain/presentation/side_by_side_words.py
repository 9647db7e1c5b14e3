"""What a comparison of arms that took turns says, in sentences: the answer, then its limits."""

from collections.abc import Mapping, Sequence

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.side_by_side import ArmComparison
from campaigns.domain.analysis.signed_rank import Ratio
from campaigns.domain.plan.turns import LONGEST_LIMIT_S
from campaigns.domain.presentation.intervals import difference_words, slower_words
from campaigns.domain.units import and_joined, duration, figure

Names = Sequence[str] | Mapping[int, str]  # by an arm's number


def answer(found: ArmComparison, names: Names) -> str:
    """One sentence; `names` are those of all arms."""
    reference, arm = names[found.reference], names[found.arm]
    if found.p50 is None:
        return why_no_word(found, names)
    p50 = found.p50
    said, ends = difference_words(found.word, p50.value, p50.low, p50.high, at_least=found.at_least)
    if found.behind and found.word in {Word.SLOWER, Word.FASTER}:
        return f"{arm} is {found.word} than {reference}."
    if found.word == Word.SAME:
        return f"{arm} shows {said} from {reference} ({ends})."
    preposition = "against" if found.word == Word.OPEN else "than"
    return f"{arm} is {said} {preposition} {reference} ({ends})."


def why_no_word(found: ArmComparison, names: Names) -> str:
    """Of arms that fail, or have had no round yet."""
    if found.failing:
        who = and_joined([names[number] for number in found.failing])
        return say("errors", share="More than a tenth", where=f" to {who}")
    reference, arm = names[found.reference], names[found.arm]
    return say("no_replies", first=reference, second=arm)


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
        do = "does" if len(found.behind) == 1 else "do"
        at = f" at {rate_per_s:,g}/s" if rate_per_s else ""
        sentences.append(say("behind", at=at, who=who, do=do))
    if rate_per_s and asked_per_s and rate_per_s < asked_per_s:
        sentences.append(say("lower_rate", sent=f"{rate_per_s:,g}", asked=f"{asked_per_s:,g}"))
    for half, code in (("load", "load_matters"), ("time", "changed_midway")):
        if half in found.halves:
            first, second = (slower_words(each.value) for each in found.halves[half])
            sentences.append(say(code, first=first, second=second))
    left_s = None if elapsed_s is None or found.is_settled else found.seconds_left(elapsed_s)
    if left_s is not None:
        sentences.append(seconds_left_words(left_s))
    return sentences


def seconds_left_words(left_s: float) -> str:
    if left_s > LONGEST_LIMIT_S:
        return say("settle_most", more=duration(LONGEST_LIMIT_S))
    return say("settle", more=f"{duration(_round_up(left_s))} more")


def ratio_text(ratio: Ratio | None) -> str:
    """1.24 [1.19, 1.29]; a dash where there is none."""
    if ratio is None:
        return "–"
    return f"{figure(ratio.value)} [{figure(ratio.low)}, {figure(ratio.high)}]"


def _round_up(seconds: float) -> float:
    return max(1.0, float(f"{seconds:.1g}"))

"""A change with its interval, in percent: "+54 %", "+52 to +56", "12 % [9, 15]"; and what a
comparison of arms that took turns says, in sentences: the answer, then its limits.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.ratio import BOUNDED, CLEAR, RatioInterval, Word
from campaigns.domain.analysis.side_by_side import ArmComparison
from campaigns.domain.plan.turns import FEWEST_ROUNDS, LONGEST_LIMIT_S
from campaigns.domain.units import (
    MAX_DECIMALS,
    MINUS,
    THIN,
    and_joined,
    change_percent,
    change_size,
    decimals_for,
    decimals_to_see,
    duration,
    figure,
    number,
    percent,
    rounded,
)

FACTOR_FROM = 2.0  # a ratio from here on is told as a factor
_MOST = 10  # times as much more, +1,000 %
Names = Sequence[str] | Mapping[int, str]  # by an arm's number


def interval_words(interval: RatioInterval, decimals: int | None = None) -> str:
    """Such as "95 % interval +52 to +56 %"; by default with the decimals that it supports, or in
    factors, as the ratio itself is told."""
    name = f"{percent(interval.confidence, decimals=0)} interval"
    if decimals is None:
        return f"{name} {ends_words(interval.ratio, interval.low, interval.high)}"
    low, high = change_ends(interval.ratio, interval.low, interval.high, decimals)
    return f"{name} {low} to {high}{THIN}%"


def difference_words(
    word: Word, ratio: float, low: float, high: float, *, at_least: bool = False
) -> tuple[str, str]:
    """What a ratio with its interval says, and its ends: ("24 % slower", "19 to 29 %"), ("at least
    3.6 × slower", "best estimate 4.1 ×"), ("no practical difference", "−2 to +4 %")."""
    if word == Word.SAME:
        return str(word), ends_words(ratio, low, high)
    if word == Word.OPEN:
        return str(word), span_words(low, high)
    if word in BOUNDED:
        return str(word), bounds_words(low, high)
    if word == Word.SLOWER and ratio >= FACTOR_FROM:
        digits = factor_digits(low, high)
        least, best, most = (figure(each, digits) for each in (low, ratio, high))
        unit = "×"
    else:
        shares = [abs(each - 1) for each in (low, ratio, high)]
        if word == Word.FASTER:
            shares.reverse()
        least, best, most = (number(100 * each, share_decimals(each)) for each in shares)
        unit = "%"
    if at_least:
        return f"at least {least}{THIN}{unit} {word}", f"best estimate {best}{THIN}{unit}"
    return f"{best}{THIN}{unit} {word}", f"{least} to {most}{THIN}{unit}"


def link_words(word: Word) -> tuple[str, str]:
    """Verb and preposition around what `difference_words` says: "is" … "than", "shows" … "from"."""
    if word == Word.SAME:
        return "shows", "from"
    return "is", "against" if word == Word.OPEN else "than"


def change_words(ratio: float) -> str:
    """A ratio in a tile: "3.9 ×", "+12.3 %"."""
    if ratio >= FACTOR_FROM:
        return f"{figure(ratio, 2)}{THIN}×"
    return change_size(ratio)


def ends_words(ratio: float, low: float, high: float) -> str:
    """The ends of its interval: "3.8 to 4.0 ×", "+9.1 to +15.2 %"."""
    if ratio >= FACTOR_FROM:
        digits = factor_digits(low, high)
        return f"{figure(low, digits)} to {figure(high, digits)}{THIN}×"
    ends = change_ends(ratio, low, high, change_decimals(low, high))
    return f"{' to '.join(ends)}{THIN}%"


def factor_digits(low: float, high: float) -> int:
    """Two, or three where the ends of an interval would look alike."""
    return 2 if figure(low, 2) != figure(high, 2) else 3


def bounds_words(low: float, high: float) -> str:
    """What an interval around 1 leaves open: "at most 4.0 % faster, at most 12 % slower"."""
    return f"at most {slower_words(low)}, at most {slower_words(high)}"


def span_words(low: float, high: float) -> str:
    """3.0 % faster to 2.0 % slower; 0.9 to 1.1 % faster"""
    if low < 1 < high:
        return f"{slower_words(low)} to {slower_words(high)}"
    word = Word.FASTER if high <= 1 else Word.SLOWER
    return f"{difference_words(word, high, low, high)[1]} {word}"


def slower_words(ratio: float) -> str:
    """12 % slower; 4.0 % faster; 4.1 × slower"""
    if ratio >= FACTOR_FROM:
        return f"{figure(ratio, 2)}{THIN}× slower"
    share = percent(abs(ratio - 1), decimals=share_decimals(ratio - 1))
    return f"{share} {'slower' if ratio >= 1 else 'faster'}"


def share_decimals(share: float) -> int:
    """Of a percentage in two digits, for a third one would not be repeated."""
    return decimals_to_see(100 * share, 1 if abs(share) < 0.0995 else 0)


def change_ends(ratio: float, low: float, high: float, decimals: int = 1) -> tuple[str, str]:
    """("+52", "+56") of a ratio with its interval.

    The upper end of few repeats that differ is "more than +1,000", or than the power of ten above
    the change: nobody needs to know how much more.
    """
    most = _MOST
    while ratio - 1 >= most:
        most *= 10
    least = _end(low, decimals)
    if high - 1 > most:
        return least, f"more than {number(100 * most, 0, signed=True)}"
    return least, _end(high, decimals)


def change_interval(ratio: float, low: float, high: float) -> str:
    """[−14.5, −11.2], in percent."""
    return f"[{', '.join(change_ends(ratio, low, high))}]"


def _end(ratio: float, decimals: int) -> str:
    """What is slower has an interval above 0, not one from 0 on."""
    change = change_percent(ratio)
    return number(change, decimals_to_see(change, decimals), signed=True)


def least_change(share: float) -> str:
    """Of a smallest change that could be seen, without its unit: "2.4", "more than 1,000"."""
    if share > _MOST:
        return f"more than {number(100 * _MOST, 0)}"
    return number(100 * share, decimals_to_see(100 * share, 1))


def change_decimals(low: float, high: float) -> int:
    """Decimals of percentages: as many as a ratio's interval supports, down to half its width."""
    width = 100 * (high - low)
    return next((places for places in (0, 1) if width >= 2 * 10**-places), 2)


def _decimals_apart(low: float, high: float, decimals: int) -> int:
    """`decimals`, or as many more as the ends of a very narrow interval need to look different."""
    width = 100 * (high - low)
    if not width or width >= 10**-decimals:
        return decimals
    ends = 100 * (low - 1), 100 * (high - 1)
    enough = (
        places
        for places in range(decimals, MAX_DECIMALS)
        if rounded(ends[0], places) != rounded(ends[1], places)
    )
    return next(enough, MAX_DECIMALS)


def size_words(ratio: float, low: float, high: float, *, signed: bool = True) -> str:
    """Of a ratio with its interval, such as "+12 % [+9, +15]"; without signs where a word tells the
    direction: "12 % [9, 15]". Two digits, more where the ends of the interval would look alike."""
    change = 100 * (ratio - 1)
    most = max(decimals_for([abs(change)], 2), change_decimals(low, high))
    places = _decimals_apart(low, high, min(1, most))
    ends = change_ends(ratio, low, high, places)
    if signed:
        return f"{number(change, places, signed=True)}{THIN}% [{', '.join(ends)}]"
    sizes = [end.replace("+", "").replace(MINUS, "") for end in ends]
    text = ", ".join(sizes if change > 0 else reversed(sizes))
    return f"{number(abs(change), places)}{THIN}% [{text}]"


def answer(compared: ArmComparison, names: Names) -> str:
    """One sentence; `names` are those of all arms."""
    reference, arm = names[compared.reference], names[compared.arm]
    if compared.p50 is None:
        return why_no_word(compared, names)
    p50 = compared.p50
    change, ends = difference_words(
        compared.word, p50.ratio, p50.low, p50.high, at_least=compared.at_least
    )
    if compared.behind and compared.word in CLEAR:
        return f"{arm} is {compared.word} than {reference}."
    verb, preposition = link_words(compared.word)
    return f"{arm} {verb} {change} {preposition} {reference} ({ends})."


def why_no_word(compared: ArmComparison, names: Names) -> str:
    """Of arms that fail, or have had no round yet."""
    if compared.failing:
        who = and_joined([names[number] for number in compared.failing])
        return say("errors", share="More than a tenth", where=f" to {who}")
    reference, arm = names[compared.reference], names[compared.arm]
    return say("no_replies", first=reference, second=arm)


def limits_of(
    compared: ArmComparison,
    names: Names,
    *,
    rate_per_s: float | None = None,
    asked_per_s: float | None = None,
    elapsed_s: float | None = None,
) -> list[str]:
    """What else has to be known, a sentence each."""
    sentences = []
    if compared.behind and compared.p50 is not None:
        who = and_joined([names[number] for number in compared.behind])
        do = "does" if len(compared.behind) == 1 else "do"
        at = f" at {rate_per_s:,g}/s" if rate_per_s else ""
        sentences.append(say("behind", at=at, who=who, do=do))
    if rate_per_s and asked_per_s and rate_per_s < asked_per_s:
        sentences.append(say("lower_rate", sent=f"{rate_per_s:,g}", asked=f"{asked_per_s:,g}"))
    for half, code in (("load", "load_matters"), ("time", "changed_midway")):
        if half in compared.halves:
            first, second = (slower_words(each.ratio) for each in compared.halves[half])
            sentences.append(say(code, first=first, second=second))
    left_s = None if elapsed_s is None or compared.is_settled else compared.seconds_left(elapsed_s)
    if left_s is not None and compared.n_rounds < FEWEST_ROUNDS:
        sentences.append(say("no_rounds", needed=FEWEST_ROUNDS, n=compared.n_rounds))
    if left_s is not None:
        sentences.append(seconds_left_words(left_s))
    return sentences


def seconds_left_words(left_s: float) -> str:
    if left_s > LONGEST_LIMIT_S:
        return say("settle_most", more=duration(LONGEST_LIMIT_S))
    return say("settle", more=f"{duration(rounded_left_s(left_s))} more")


def rounded_left_s(left_s: float) -> float:
    """Up to one digit: 40 s."""
    digit_s = 10.0 ** max(0, floor(log10(max(1.0, left_s))))
    return digit_s * max(1, ceil(left_s / digit_s))


def ratio_text(ratio: RatioInterval | None) -> str:
    """1.24 [1.19, 1.29]; a dash where there is none."""
    if ratio is None:
        return "–"
    return f"{figure(ratio.ratio)} [{figure(ratio.low)}, {figure(ratio.high)}]"

"""Verdicts as sentences: [(text, is bold), …]."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.comparison import ComparisonVerdict, Word
from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.shown.intervals import change_decimals, interval_words
from campaigns.domain.shown.overhead_table import HTTP_NAMES, time_decimals
from campaigns.domain.shown.results import Sentence, trimmed
from campaigns.domain.units import number, percent, with_unit

MODES = {
    "new": "new connection",
    "keep-alive": "keep-alive",
    "resumed": "resumed session",
}
_LEADS = {
    "new": "on a new connection",
    "keep-alive": "with keep-alive",
    "resumed": "with a resumed TLS session",
}
_MOST = 4  # pairs that the sentence tells one by one


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison, as input of the sentence. `plan_label` is "" if all have the same plan,
    `connection_mode` is "" if the names tell it; `why_not`: why there is nothing to compare."""

    plan_label: str
    connection_mode: str
    mean: OverheadRow
    verdict: ComparisonVerdict
    has_word: bool
    names: tuple[str, str] = HTTP_NAMES
    why_not: str = ""


def overhead_sentence(pairs: Sequence[Pair], *, is_final: bool) -> Sentence:
    """TLS against no TLS, in words; "so far" while runs are pending."""
    sentence: Sentence = []
    for index, pair in enumerate(pairs[:_MOST]):
        lead = _lead(pair, so_far=not is_final and index == 0)
        sentence += [*_clause(pair, lead, is_final=is_final), (" ", False)]
    if len(pairs) > _MOST:
        sentence.append((f"{len(pairs) - _MOST} more comparisons are below. ", False))
    if not is_final and any(not pair.has_word for pair in pairs):
        sentence.append(
            (f"No verdict yet: that takes {MIN_REPEATS} finished repeats of each.", False)
        )
    return trimmed(sentence)


def _lead(pair: Pair, *, so_far: bool) -> str:
    """What comes before the names, such as "So far on a new connection "; "" for nothing."""
    plan = f"{pair.plan_label}: " if pair.plan_label else ""
    words = ["so far" if so_far else "", _LEADS.get(pair.connection_mode, "")]
    where = "".join(f"{word} " for word in words if word)
    return plan + (where if plan else where[:1].upper() + where[1:])


def _clause(pair: Pair, lead: str, *, is_final: bool) -> Sentence:
    mean, word = pair.mean, pair.verdict.word
    plain, tls = pair.names
    if mean.ratio is None and pair.why_not:
        return [(_begun(lead, f"no answer: {pair.why_not}."), False)]
    if mean.ratio is None:
        return [(_begun(lead, "nothing can be compared yet."), False)]
    change, interval, times = _change(mean), _interval(mean), times_words(mean)
    if not pair.has_word and not is_final:
        return [(f"{lead}{tls} takes ", False), (times, True), (f" ({change}).", False)]
    aside = f" {pair.verdict.text}" if mean.interval and mean.interval.set_aside else ""
    if word is Word.SAME:
        return [
            (_begun(lead, "there is "), False),
            ("no practical difference", True),
            (f" between {plain} and {tls} ({change}, {interval}).{aside}", False),
        ]
    if word is Word.INCONCLUSIVE:
        return [
            (f"{lead}{tls} against {plain} is ", False),
            ("inconclusive", True),
            (f": {change} ({interval}; {times}). {_first_sentence(pair.verdict.text)}", False),
        ]
    return [
        (f"{lead}{tls} is ", False),
        (f"{word} than {plain}: {change}", True),
        (f" ({interval}), {times}.{aside}", False),
    ]


def _begun(lead: str, words: str) -> str:
    """A lead begins with a capital already, or with a plan's name, which stays as it is."""
    return lead + words if lead else words[:1].upper() + words[1:]


def _change(mean: OverheadRow) -> str:
    return percent(mean.increase, decimals=_decimals(mean), signed=True)


def _interval(mean: OverheadRow) -> str:
    return interval_words(mean.interval) if mean.interval else "one run has no interval"


def _decimals(mean: OverheadRow) -> int:
    return change_decimals(mean.interval.low, mean.interval.high) if mean.interval else 1


def _first_sentence(text: str) -> str:
    """A reason without its details, which are listed below the sentence."""
    return text.split(". ")[0].removesuffix(".") + "." if text else ""


def times_words(mean: OverheadRow, decimals: int | None = None) -> str:
    """The times that a change is of, such as "29.1 instead of 18.9 ms". `decimals`: those of the
    table below; by default as in a table of these two."""
    decimals = time_decimals([mean]) if decimals is None else decimals
    candidate, baseline = (number(each / 1000, decimals) for each in _typical_us(mean))
    return f"{candidate} instead of {with_unit(baseline, 'ms')}"


def _typical_us(mean: OverheadRow) -> tuple[float, float]:
    """(candidate, baseline): geometric means, whose ratio is the change that is said; without an
    interval the two figures."""
    if mean.interval:
        return mean.interval.candidate, mean.interval.baseline
    return mean.candidate_us, mean.baseline_us


def plain_text(sentence: Sentence) -> str:
    return "".join(text for text, _ in sentence)

"""Verdicts as sentences, [(text, is bold), …], and what two compared arms are called in them: the
shortest names that tell them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.comparison import ComparisonVerdict, Reason, Word
from campaigns.domain.analysis.overhead import OverheadRow
from campaigns.domain.analysis.ratio import BOUNDED
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.plan.target import TLS_TWINS
from campaigns.domain.presentation.intervals import (
    FACTOR_FROM,
    bounds_words,
    change_decimals,
    interval_words,
)
from campaigns.domain.presentation.overhead_table import HTTP_NAMES, time_decimals
from campaigns.domain.presentation.results import Sentence, trimmed
from campaigns.domain.presentation.sweep_table import injector_words
from campaigns.domain.units import counted, decimals_for, figure, number, percent, with_unit

MODES = {"new": "new connection", "keep-alive": "keep-alive", "resumed": "resumed session"}
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
    row: OverheadRow
    verdict: ComparisonVerdict
    has_word: bool
    names: tuple[str, str] = HTTP_NAMES
    why_not: str = ""


def overhead_sentence(pairs: Sequence[Pair], *, is_final: bool) -> Sentence:
    """TLS against no TLS, in words; "so far" while runs are pending."""
    metrics = {pair.row.metric for pair in pairs}
    is_median = bool(pairs) and "mean" not in metrics
    begin = "At the median: " if is_final else "So far at the median: "
    sentence: Sentence = [(begin, False)] if is_median else []
    for index, pair in enumerate(pairs[:_MOST]):
        # What comes before the names, such as "So far on a new connection "; "" for
        # nothing.
        so_far = not is_final and index == 0 and not is_median
        plan = f"{pair.plan_label}: " if pair.plan_label else ""
        words = ["so far" if so_far else "", _LEADS.get(pair.connection_mode, "")]
        where = "".join(f"{word} " for word in words if word)
        begins = not plan and not (is_median and index == 0)
        lead = plan + (where[:1].upper() + where[1:] if begins else where)
        where = "" if is_median or pair.row.metric == "mean" else " at the median"
        sentence += [*_clause(pair, lead, where, is_final=is_final), (" ", False)]
    if len(pairs) > _MOST:
        sentence.append((f"{len(pairs) - _MOST} more comparisons are below. ", False))
    waits = [each for each in pairs if each.verdict.reason is not Reason.NO_ROUNDS]
    if not is_final and any(not pair.has_word for pair in waits):
        sentence.append(
            (f"No verdict yet: that takes {MIN_REPEATS} finished repeats of each.", False)
        )
    return trimmed(sentence)


def _clause(pair: Pair, lead: str, where: str, *, is_final: bool) -> Sentence:
    """`where`: what its times are, if the sentence has not said it."""
    row, word = pair.row, pair.verdict.word
    plain, tls = pair.names
    if row.ratio is None and pair.why_not:
        return [(_begun(lead, f"nothing is known: {pair.why_not}."), False)]
    if row.ratio is None and pair.verdict.reason is Reason.ERRORS:
        return [(pair.verdict.text, False)]
    if row.ratio is None:
        return [(_begun(lead, "nothing can be compared yet."), False)]
    if word is None:
        takes = f"about {change_text(row)}{where}, {times_words(row)}"
        if pair.verdict.text and is_final:
            # Without its details, which are listed below the sentence.
            reason = pair.verdict.text.split(". ")[0].removesuffix(".")
            return [(f"{lead}{tls} against {plain}: {takes}. {reason}.", False)]
        return [(f"{lead}{tls} takes ", False), (takes, True), (".", False)]
    ends = f"{interval_words(row.interval)}{where}; {times_words(row)}"
    if word is Word.SAME:
        return [
            (_begun(lead, "there is "), False),
            ("no practical difference", True),
            (f" between {plain} and {tls} ({ends}).", False),
        ]
    if word in BOUNDED:
        bounds = bounds_words(row.interval.low, row.interval.high)
        said = (f"{lead}{tls} is ", False), (f"{word} than {plain}", True)
        if word is Word.OPEN:
            said = (f"{lead}{tls} against {plain} is ", False), (str(word), True)
        best = f"best estimate {change_text(row)}{where}, {times_words(row)}"
        return [*said, (f": {bounds} ({best}). {pair.verdict.text}", False)]
    if not pair.verdict.has_size:
        said = (f"{lead}{tls} is ", False), (f"{word} than {plain}", True)
        return [*said, (f". {pair.verdict.text}", False)]
    or_more = " or more" if pair.verdict.or_more else ""
    return [
        (f"{lead}{tls} is ", False),
        (f"{word} than {plain}: {change_text(row)}{or_more}", True),
        (f" ({ends}).", False),
    ]


def _begun(lead: str, words: str) -> str:
    """A lead begins with a capital already, or with a plan's name, which stays as it is."""
    return lead + words if lead else words[:1].upper() + words[1:]


def change_text(row: OverheadRow) -> str:
    """Such as +54.2 %, or 3.9 times as long; with the decimals that its interval supports."""
    if row.ratio >= FACTOR_FROM:
        return f"{figure(row.ratio, 2)} times as long"
    found = row.interval
    decimals = change_decimals(found.low, found.high) if found else 1
    return percent(row.increase, decimals=decimals, signed=True)


def times_words(mean: OverheadRow) -> str:
    """The times that a change is of, such as "29.1 instead of 18.9 ms"."""
    decimals = time_decimals([mean])
    # Geometric means, whose ratio is the change that is said; without an interval the two figures.
    us = mean.candidate_us, mean.baseline_us
    if mean.interval:
        us = mean.interval.candidate, mean.interval.baseline
    candidate, baseline = (number(each / 1000, decimals) for each in us)
    return f"{candidate} instead of {with_unit(baseline, 'ms')}"


def gap_words(rows: Sequence[OverheadRow], *, or_more: bool = False) -> str:
    """By how much the two of any of these rows differ: ", by 0.38 to 0.52 ms"; "" of rows without
    intervals. `or_more`: the differences may be larger."""
    found = [row.interval for row in rows if row.interval]
    gaps_ms = [
        abs(each.baseline * (end - 1)) / 1000 for each in found for end in (each.low, each.high)
    ]
    if not gaps_ms:
        return ""
    decimals = decimals_for([min(gaps_ms)], 2)
    least, most = (number(pick(gaps_ms), decimals) for pick in (min, max))
    size = with_unit(most if least == most else f"{least} to {most}", "ms")
    size = f"{with_unit(least, 'ms')} or more" if or_more else size
    return f", by {size}" if rows[0].metric == "mean" else f", by {size} at the median"


@dataclass(frozen=True, slots=True)
class ArmTime:
    """`text`: its `us` in words."""

    plan: str
    arm: str
    us: float
    text: str


def times_sentence(times: Sequence[ArmTime], *, is_final: bool) -> Sentence:
    """Of tests without a verdict, the fastest of each plan first: no two plans are alike."""
    plans: dict[str, list[ArmTime]] = {}
    for each in times:
        plans.setdefault(each.plan, []).append(each)
    ordered = [each for arms in plans.values() for each in sorted(arms, key=lambda arm: arm.us)]
    said: Sentence = []
    for index, each in enumerate(ordered[:_MOST]):
        begins = ". " if index else "" if is_final else "So far "
        is_of_last = index > 0 and ordered[index - 1].plan == each.plan
        lead = ", " if is_of_last else f"{begins}{each.plan} takes "
        said += [(lead, False), (each.text, True), (f" ({each.arm})", False)]
    more = len(ordered) - _MOST
    return [*said, (f". {counted(more, 'more tests')} below." if more > 0 else ".", False)]


def plain_text(sentence: Sentence) -> str:
    return "".join(text for text, _ in sentence)


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What tells an arm apart from the others of its campaign."""

    plan: str
    target: str
    scheme: str
    host: str
    port: int
    connection_mode: str
    injectors: int = 1
    swept: str = ""
    tls_profile: str = ""


def arm_names(baseline: ArmFacts, candidate: ArmFacts) -> tuple[str, str]:
    """Such as ("HTTP", "HTTPS") or ("nginx :8080", "nginx :8443"); roles if nothing differs."""
    arms = (baseline, candidate)
    plans = [arm.plan for arm in arms] if _differ(arms, "plan") else ["", ""]
    where = [_where(arm, arms) for arm in arms]
    first, second = (", ".join(filter(None, each)) for each in zip(plans, where, strict=True))
    return (first, second) if first != second else ("the baseline", "the candidate")


def shared_mode(baseline: ArmFacts, candidate: ArmFacts) -> str:
    """The connection mode that the sentence names once; "" if the names have to tell it.

    HTTP has no session to resume, so it is compared on a new connection.
    """
    modes = (baseline.connection_mode, candidate.connection_mode)
    are_twins = TLS_TWINS.get(candidate.scheme) == baseline.scheme
    is_resumed = modes == ("new", "resumed") and are_twins
    return modes[1] if modes[0] == modes[1] or is_resumed else ""


def _where(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    tells_mode = not shared_mode(*arms)
    tells_scheme = _differ(arms, "scheme")
    tells_place = _differ(arms, "target") or (not tells_scheme and _differ(arms, "host", "port"))
    words = [
        arm.target if tells_place else "",
        _address(arm, arms) if tells_place else "",
        arm.scheme.upper() if tells_scheme or (tells_mode and not tells_place) else "",
        MODES[arm.connection_mode] if tells_mode else "",
        injector_words(arm.injectors) if _differ(arms, "injectors") else "",
        arm.swept if _differ(arms, "swept") else "",
        _profile(arm, arms),
    ]
    return " ".join(filter(None, words))


def _profile(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    """The TLS profile; the standard one has a name only beside another."""
    if not _differ(arms, "tls_profile"):
        return ""
    return arm.tls_profile or ("" if _differ(arms, "scheme") else "standard TLS")


def _address(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    """What tells two endpoints of one target apart."""
    if _differ(arms, "target"):
        return ""
    host = arm.host if _differ(arms, "host") else ""
    return f"{host}:{arm.port}" if _differ(arms, "port") else host


def _differ(arms: tuple[ArmFacts, ArmFacts], *names: str) -> bool:
    return any(getattr(arms[0], name) != getattr(arms[1], name) for name in names)

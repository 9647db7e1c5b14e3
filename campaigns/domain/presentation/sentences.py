"""Verdicts as sentences, [(text, is bold), …], and what two compared arms are called in them: the
shortest names that tell them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from campaigns.domain.analysis.messages import Sentence, say, trimmed
from campaigns.domain.analysis.pair import PairResult, Reason
from campaigns.domain.analysis.ratio import CLEAR, Word
from campaigns.domain.plan.sweep import INJECTORS, point_words
from campaigns.domain.plan.target import TLS_TWINS
from campaigns.domain.presentation.intervals import difference_words, link_words, slower_words
from campaigns.domain.presentation.overhead_table import HTTP_NAMES
from campaigns.domain.units import and_joined, counted, duration, figure, with_unit

MODES = {"new": "new connection", "keep-alive": "keep-alive", "resumed": "resumed session"}
MESSAGE = "message"  # beside connection modes: what is compared is on connections that stay open
_WHERE_MODE = {
    MESSAGE: "per message",
    "new": "on new connections",
    "keep-alive": "with keep-alive",
    "resumed": "with resumed TLS sessions",
}


def what_is_timed(nouns: str) -> str:
    return "message round trip" if nouns == "messages" else "response time"


_MOST = 4  # pairs that the sentence tells one by one


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison, as input of the sentence. `plan_label` is "" if all have the same plan,
    `connection_mode` is "" if the names tell it; `why_not`: why there is nothing to compare."""

    plan_label: str
    connection_mode: str
    row: PairResult
    has_word: bool
    names: tuple[str, str] = HTTP_NAMES
    why_not: str = ""


def overhead_sentence(
    pairs: Sequence[Pair],
    *,
    is_final: bool,
    is_crowded: bool = False,
    settles_s: float | None = None,
) -> Sentence:
    """TLS against no TLS, or other pairs, in words: "HTTPS is 3.9 × slower on new connections (3.8
    to 4.0 ×) and makes no practical difference with keep-alive (−2 to +4 %)."; "so far" while runs
    are pending. `is_crowded`: others used most of the CPU, so the slower arm waited longer for it
    and its factor is no least one. `settles_s`: in how long all will be clear."""
    begins = " ".join(
        words
        for words, is_so in (("so far", not is_final), ("on this busy machine", is_crowded))
        if is_so
    )
    sentence: Sentence = [(f"{begins[:1].upper()}{begins[1:]} ", False)] if begins else []
    places: dict[str, list[str]] = {}  # by what would settle the comparisons there
    if not is_final and len(pairs) > _MOST:  # what is clear comes first
        pairs = sorted(pairs, key=lambda each: each.row.word not in CLEAR)
    for names, group in groupby(pairs[:_MOST], key=lambda pair: pair.names):
        clauses = []
        for pair in group:
            if clause := _clause(pair, is_first=not clauses, is_crowded=is_crowded):
                clauses.append(clause)
            if not clause or is_final or not pair.has_word:
                beside = _beside(pair, is_final=is_final)
                places.setdefault(beside, []).append(_where_words(pair).strip())
        if clauses:
            sentence += [*_join(names[1], clauses), (" ", False)]
    if len(sentence) == 1:  # only how it begins
        sentence = []
    after = [
        f"{where[:1].upper()}{where[1:]}: {beside}"
        if beside and len(of) < len(pairs) and (where := and_joined([*filter(None, of)]))
        else beside
        for beside, of in places.items()
    ]
    if len(pairs) > _MOST:
        after.append(f"{len(pairs) - _MOST} more comparisons are below.")
    waits = [each for each in pairs if each.row.reason is not Reason.NO_ROUNDS]
    if not is_final and any(not pair.has_word for pair in waits):
        after.append(say("too_few_runs"))
    sentence += [(f"{text} ", False) for text in dict.fromkeys(after) if text]
    if settles_s:
        sentence.insert(0, (f"{say('settles', time=duration(settles_s))} ", False))
    return trimmed(sentence)


class _Clause(NamedTuple):
    verb: str
    bold: str
    ends: str


def _clause(pair: Pair, *, is_first: bool, is_crowded: bool) -> _Clause | None:
    """None where no figure can be said. Only the first of several names what it is compared with;
    HTTP is what HTTPS is always compared with."""
    row, plain = pair.row, pair.names[0]
    if row.ratio is None:
        return None
    is_named = is_first and pair.names != HTTP_NAMES
    verb, preposition = link_words(row.word)
    if row.word is None and round(row.ratio, 3) == 1:
        words, ends, preposition = "about as fast", "", "as"
    elif row.word is None or not row.interval:
        words, ends = f"about {slower_words(row.ratio)}", ""
    elif row.has_size:
        words, ends = difference_words(
            row.word,
            row.interval.ratio,
            row.interval.low,
            row.interval.high,
            at_least=row.or_more and not is_crowded,
        )
    else:
        words, ends = str(row.word), ""
    if row.word is Word.SAME and not is_named:
        verb = "makes"
    where = f"{f' {preposition} {plain}' * is_named}{_where_words(pair)}"
    return _Clause(verb, f"{words}{where}", f" ({ends})" if ends else "")


def _where_words(pair: Pair) -> str:
    """ " with keep-alive", " for list"; "" where neither plan nor mode is told."""
    mode = _WHERE_MODE.get(pair.connection_mode, "")
    return f"{mode and ' '}{mode}{f' for {pair.plan_label}' if pair.plan_label else ''}"


def _join(who: str, clauses: Sequence[_Clause]) -> Sentence:
    """HTTPS is A (…), B (…) and makes C (…)."""
    sentence: Sentence = [(f"{who} ", False)]
    for index, clause in enumerate(clauses):
        if index:
            sentence.append((" and " if index == len(clauses) - 1 else ", ", False))
        verb = "" if index and clauses[index - 1].verb == clause.verb else f"{clause.verb} "
        sentence += [(verb, False), (clause.bold, True), (clause.ends, False)]
    return [*sentence, (".", False)]


def _beside(pair: Pair, *, is_final: bool) -> str:
    """What would settle it, or why nothing more is known."""
    row = pair.row
    if row.ratio is None and row.reason is Reason.ERRORS:
        return row.text
    if row.ratio is None and pair.why_not:
        return f"Can't compare: {pair.why_not}."
    if row.ratio is None:
        return row.text if is_final else "Comparisons appear after the first runs."
    if row.word is None:
        # Without its details, which are listed below the sentence.
        reason = row.text.split(". ")[0].removesuffix(".")
        return f"{reason}." if is_final and reason else ""
    return row.text


def gap_words(rows: Sequence[PairResult], *, or_more: bool = False) -> str:
    """By how much the two of any of these rows differ: ", by 0.38 to 0.52 ms"; "" of rows without
    intervals. `or_more`: the differences may be larger. An end is a ratio: it counts from either
    time, so that the smallest difference holds whichever of the two was disturbed."""
    gaps_ms = [
        abs(time_us * (end - 1)) / 1000
        for interval in (row.interval for row in rows)
        if interval
        for end in (interval.low, interval.high)
        for time_us in (interval.baseline, interval.candidate / end)
    ]
    if not gaps_ms:
        return ""
    least, most = (figure(pick(gaps_ms), 2) for pick in (min, max))
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
    in_order = [each for arms in plans.values() for each in sorted(arms, key=lambda arm: arm.us)]
    sentence: Sentence = []
    for index, each in enumerate(in_order[:_MOST]):
        begins = ". " if index else "" if is_final else "So far "
        is_of_last = index > 0 and in_order[index - 1].plan == each.plan
        lead = ", " if is_of_last else f"{begins}{each.plan} takes "
        sentence += [(lead, False), (each.text, True), (f" ({each.arm})", False)]
    more = len(in_order) - _MOST
    return [*sentence, (f"; {counted(more, 'more tests')}." if more > 0 else ".", False)]


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
    differs_target = _differ(arms, "target")
    tells_place = differs_target or (not tells_scheme and _differ(arms, "host", "port"))
    # What tells two endpoints of one target apart.
    address = ""
    if tells_place and not differs_target:
        host = arm.host if _differ(arms, "host") else ""
        address = f"{host}:{arm.port}" if _differ(arms, "port") else host
    # The standard TLS profile has a name only beside another.
    profile = ""
    if _differ(arms, "tls_profile"):
        profile = arm.tls_profile or ("" if tells_scheme else "standard TLS")
    words = [
        arm.target if tells_place else "",
        address,
        arm.scheme.upper() if tells_scheme or (tells_mode and not tells_place) else "",
        MODES[arm.connection_mode] if tells_mode else "",
        point_words(INJECTORS, arm.injectors) if _differ(arms, "injectors") else "",
        arm.swept if _differ(arms, "swept") else "",
        profile,
    ]
    return " ".join(filter(None, words))


def _differ(arms: tuple[ArmFacts, ArmFacts], *names: str) -> bool:
    return any(getattr(arms[0], name) != getattr(arms[1], name) for name in names)

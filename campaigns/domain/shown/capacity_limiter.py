"""What limited a search: in a word, and the evidence of its trials' judgements.

Of the target only its replies are known, so an answer names the target's side: the target, or the
network on the way to it. Whether injectors had room is read from their vitals near the answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.judged.capacity import Ending
from campaigns.domain.judged.judgement import Judgement
from campaigns.domain.judged.target_state import SATURATED
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.judged.trust import LIMITS
from campaigns.domain.units import DASH, counted, percent

# Where on a row's bar the doubtful value is, in percent of its length.
DOUBTFUL_AT = 70
_OWN_CPU = "its machine's CPU was at 100\u202f%"
_SIGNS = {
    "in_flight_growing": "requests in flight grew",
    SATURATED: "all connections were busy",
    "dropped": "requests were dropped",
    "sent_share": "planned requests were not sent",
    "no_success": "no request succeeded",
    "target_cpu": _OWN_CPU,
    "target_link": "its network link was full",
    "listen_overflows": "its listen queue overflowed",
}
_BUSY = {
    "cpu": "CPU of the busiest, of a core",
    "cpu_5s": "CPU in its busiest five seconds",
    "link": "network link of its machine",
}
_WORDS = {
    Ending.FOUND: "target side",
    Ending.BELOW: "target side",
    Ending.INJECTOR: "injectors",
    Ending.LIMIT: "cap",
    Ending.DRIFTED: "drift",
    Ending.DEADLINE: "time",
    Ending.STOPPED: "stopped",
    Ending.SILENT: "no reply",
}
_WHY = {
    Ending.DRIFTED: "The target took more or less from one search to the next.",
    Ending.DEADLINE: "The time was over before the limit was found.",
    Ending.STOPPED: "The search was stopped before the limit was found.",
    Ending.SILENT: "After the last trial the target answered no more.",
    Ending.INJECTOR: "Two trials in a row cannot be trusted. Use more injector processes or hosts.",
}


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A figure of the target's side or of the injectors. `bar`: its length in percent, the doubtful
    value at DOUBTFUL_AT; None where there is none to compare with."""

    who: str
    figure: str
    measured: str
    doubtful_from: str = DASH
    bar: float | None = None
    was_it: str = ""


@dataclass(frozen=True, slots=True)
class Limiter:
    """`word` is for a tile, `why` the sentence beside it."""

    word: str
    why: str
    rows: tuple[LimitRow, ...]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Limiter":
        rows = tuple(LimitRow(**row) for row in stored["rows"])
        return cls(stored["word"], stored["why"], rows)


def signs_of(verdicts: Iterable[Verdict], judgement: Judgement | None) -> list[str]:
    """By what a trial failed: rules that were broken, and what the target did not keep up with."""
    broken = [f"{each.rule} was broken" for each in verdicts if not each.passed]
    reasons = judgement.target.reasons if judgement else ()
    return broken + [_SIGNS[each.code] for each in reasons if each.code in _SIGNS]


def limiter_of(
    ending: Ending | None,
    failed: Sequence[Sequence[str]],
    doubts: Sequence[str],
    busy: Sequence[Mapping[str, float]],
    cap: str,
) -> Limiter:
    """`failed`: the signs of each failed trial. `doubts`: why each of the last trials that do not
    count does not. `busy`: what injectors used in each trial near the answer, by the criteria's
    codes. `cap`: the rate that was not to be exceeded, in words."""
    injectors = _of_injectors(busy)
    has_room = bool(injectors) and not any(row.was_it == "yes" for row in injectors)
    room = " The injectors had room." if has_room else ""
    is_target = ending in (Ending.FOUND, Ending.BELOW)
    why = _WHY.get(ending, "")
    if ending == Ending.LIMIT:
        why = f"Every rate up to {cap} was kept, and no higher one was allowed."
    elif is_target:
        why = f"The target, or the network on the way to it.{room}"
    elif ending is None:
        why = "Known when the search has ended."
    doubtful = _of_doubts(doubts) if ending == Ending.INJECTOR else []
    rows = (*_of_target(failed, is_target), *doubtful, *injectors)
    return Limiter(_WORDS.get(ending, DASH), why, rows)


def _of_target(failed: Sequence[Sequence[str]], is_target: bool) -> list[LimitRow]:
    n_by_sign = Counter(sign for signs in failed for sign in set(signs))
    was_it = "yes" if is_target else ""
    rows = [
        LimitRow("Target", sign, f"{n} of {len(failed)} failed trials", was_it=was_it)
        for sign, n in n_by_sign.most_common()
    ]
    unknown = LimitRow("Target", "its own CPU", "unknown", was_it="look at its machine")
    return [*rows, unknown] if failed and _OWN_CPU not in n_by_sign else rows


def _of_doubts(doubts: Sequence[str]) -> list[LimitRow]:
    return [
        LimitRow("Injectors", why, counted(n, "trials"), was_it="yes")
        for why, n in Counter(doubts).items()
    ]


def _of_injectors(busy: Sequence[Mapping[str, float]]) -> list[LimitRow]:
    """The mean over the trials; a criterion that some trial lacks is of the others."""
    rows = []
    for code, figure in _BUSY.items():
        values = [each[code] for each in busy if code in each]
        if values:
            mean, mild = sum(values) / len(values), LIMITS[code].mild
            bar = min(100.0, round(DOUBTFUL_AT * mean / mild, 1))
            was_it = "yes" if mean > mild else "no"
            rows.append(
                LimitRow("Injectors", figure, percent(mean), percent(mild, decimals=0), bar, was_it)
            )
    return rows

"""What limited a search: in a word, and the evidence of its trials' judgements.

Of the target its replies are known, so an answer names the target's side: the target, or the
network on the way to it. Whether injectors had room is read from their vitals near the answer. What
the target's own machine told is set beside that (`beside_machine`), and may name it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaigns.domain.judged.busy import Busy
from campaigns.domain.judged.capacity import Ending
from campaigns.domain.judged.criteria import Limits
from campaigns.domain.judged.judgement import Judgement
from campaigns.domain.judged.target_state import SATURATED
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.judged.trust import LIMITS
from campaigns.domain.measured.redaction import without_addresses
from campaigns.domain.plan.threshold import TARGET_METRICS
from campaigns.domain.units import (
    DASH,
    counted,
    decimals_beside,
    decimals_for,
    percent,
    typed_percent,
)

# Where on a row's bar the doubtful value is, in percent of its length.
DOUBTFUL_AT = 70
# From here on a machine is likely the limit: what a few seconds need is beyond their mean.
BUSY_FROM = 0.80
_FULL_CORE = 0.9  # of one core: what a single thread can fill
_MACHINE_SIGNS = {
    "target_cpu": "its machine's CPU was at 100\u202f%",
    "target_link": "its network link was full",
    "listen_overflows": "its listen queue overflowed",
}
_SIGNS = {
    "in_flight_growing": "requests in flight grew",
    SATURATED: "all connections were busy",
    "dropped": "requests were dropped",
    "sent_share": "planned requests were not sent",
    "no_success": "no request succeeded",
    **_MACHINE_SIGNS,
}
_TARGET_SIDE, _TARGET_CPU, _TARGET_NETWORK = "target side", "target CPU", "target network"
_UNKNOWN = "unknown"
_BUSY = {
    "cpu": "CPU of the busiest, of a core",
    "cpu_5s": "CPU in its busiest five seconds",
    "link": "network link of its machine",
}
_WORDS = {
    Ending.FOUND: _TARGET_SIDE,
    Ending.BELOW: _TARGET_SIDE,
    Ending.INJECTOR: "injectors",
    Ending.LIMIT: "cap",
    Ending.DRIFTED: "drift",
    Ending.DEADLINE: "time",
    Ending.STOPPED: "stopped",
    Ending.SILENT: "no reply",
}
_WHY = {
    Ending.DRIFTED: "The target's capacity changed from one search to the next.",
    Ending.DEADLINE: "Time ran out before the limit was found.",
    Ending.STOPPED: "The search was stopped before the limit was found.",
    Ending.SILENT: "After the last trial the target stopped answering.",
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
        rows = [row for row in _without_unknown(self.rows) if not _is_of_machine(row)]
        told = [replace(row, figure=without_addresses(row.figure, host)) for row in rows]
        return replace(self, rows=tuple(told))

    @property
    def names_machine(self) -> bool:
        """Whether what the target's machine told makes it the likely limit."""
        return self.word in (_TARGET_CPU, _TARGET_NETWORK)


def _is_of_machine(row: LimitRow) -> bool:
    is_sign = row.figure in _MACHINE_SIGNS.values()
    return is_sign or row.figure.startswith(TARGET_METRICS)


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
    limits: Mapping[str, Limits] = LIMITS,
) -> Limiter:
    """`failed`: the signs of each failed trial. `doubts`: why each of the last trials that do not
    count does not. `busy`: what injectors used in each trial near the answer, by the criteria's
    codes. `cap`: the rate that was not to be exceeded, in words. `limits`: by which trials are
    judged."""
    injectors = _of_injectors(busy, limits)
    is_target = ending in (Ending.FOUND, Ending.BELOW)
    why = _WHY.get(ending, "")
    if ending == Ending.LIMIT and failed:
        why = f"The last trial, at {cap}, passed, and no higher rate was allowed; others failed."
    elif ending == Ending.LIMIT:
        why = f"Every rate up to {cap} was kept, and no higher one was allowed."
    elif is_target:
        why = f"{_named(Busy())[1]}{_room_words(injectors)}"
    elif ending is None:
        why = "Known when the search has ended."
    doubtful = _of_doubts(doubts) if ending == Ending.INJECTOR else []
    rows = (*_of_target(failed, is_target), *doubtful, *injectors)
    return Limiter(_WORDS.get(ending, DASH), why, rows)


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
        was_it = likely if near.target_cpu >= BUSY_FROM else _below(near)
        yield _bar_row("Target", f"CPU{cores}", near.target_cpu, BUSY_FROM, was_it)
    if near.target_link is not None:
        was_it = likely if near.target_link >= BUSY_FROM else "no"
        yield _bar_row("Target", "network link of its machine", near.target_link, BUSY_FROM, was_it)


def _without_unknown(rows: Sequence[LimitRow]) -> tuple[LimitRow, ...]:
    return tuple(row for row in rows if row.measured != _UNKNOWN)


def _below(near: Busy) -> str:
    """A thread that fills a core moves from one to another, and the mean of many hides it; of how
    many, nobody may have told."""
    in_use = near.target_cpu * near.target_cores
    may_be = in_use >= _FULL_CORE or not near.target_cores
    return "one core may be" if near.target_cores != 1 and may_be else "no"


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


def _bar_row(who: str, figure: str, share: float, doubtful: float, was_it: str) -> LimitRow:
    bar = min(100.0, round(DOUBTFUL_AT * share / doubtful, 1))
    usual = decimals_for([100 * share], most=2)
    measured = percent(share, decimals=decimals_beside(100 * share, 100 * doubtful, usual))
    return LimitRow(who, figure, measured, typed_percent(doubtful), bar, was_it)


def _room_words(rows: Iterable[LimitRow]) -> str:
    injectors = [row for row in rows if row.who == "Injectors"]
    has_room = bool(injectors) and not any(row.was_it == "yes" for row in injectors)
    return " The injectors had room." if has_room else ""


def _of_doubts(doubts: Sequence[str]) -> list[LimitRow]:
    return [
        LimitRow("Injectors", why, counted(n, "trials"), was_it="yes")
        for why, n in Counter(doubts).items()
    ]


def _of_injectors(
    busy: Sequence[Mapping[str, float]], limits: Mapping[str, Limits]
) -> list[LimitRow]:
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

"""What a search for a capacity says: its sentence, how far it is, each trial in words; and what
limited it: in a word, and the evidence of its trials' judgements.

Of the target its replies are known, so an answer names the target's side: the target, or the
network on the way to it. Whether injectors had room is read from their vitals near the answer. What
the target's own machine told is set beside that (`beside_machine`), and may name it.

The table "Who was the limit?": each side's figures beside what they are limited by."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from campaigns.domain.analysis.capacity import (
    FEWEST_FOR_INTERVAL,
    LEAST_DRIFT,
    NOT_KEPT_UP,
    CapacityAnswer,
    CapacityInterval,
    Ending,
    TrialResult,
)
from campaigns.domain.analysis.criteria import CRITERIA, TARGET_MACHINE, Who
from campaigns.domain.analysis.judgement import LIMITS, Judgement, LimitsByCode, Observation
from campaigns.domain.analysis.limit import FULL_CPU, FULL_LINK, OTHERS, Busy, Limit, blame
from campaigns.domain.analysis.messages import MESSAGES, Sentence, joined, say, sentence, so_far
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.metrics.outcomes import without_addresses
from campaigns.domain.plan.threshold import TARGET_METRICS, Threshold
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Row,
    Table,
    empty,
    figure_cell,
    text_cell,
)
from campaigns.domain.presentation.what_to_do import frequent_cause
from campaigns.domain.units import (
    DASH,
    counted,
    decimals_alone,
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


def objective_words(rules: Sequence[Threshold]) -> str:
    """p95 below 300 ms and errors below 1 %"""
    return " and ".join(
        f"{rule.metric.replace('_', ' ')}{rule.part} {'above' if rule.sign == '>' else 'below'} "
        f"{rule.limit:,.15g}{f' {rule.unit}' if rule.unit else ''}"
        for rule in rules
    )


def search_sentence(answer: CapacityAnswer, objective: str, *, is_going_on: bool) -> Sentence:
    """The answer with its interval, or what stopped it and what is known."""
    if is_going_on:
        n = len(answer.searches)
        if not (answer.capacity or answer.at_least or answer.below):
            return sentence("searching")
        waits = answer.capacity and n < FEWEST_FOR_INTERVAL
        after = sentence("interval_of_searches", searches=counted(n, "searches"))
        return joined([so_far(_answer_words(answer, objective)), after if waits else []])
    if answer.ending == Ending.BELOW:
        return sentence("capacity_below", rate=_per_s(answer.below), objective=objective)
    if answer.ending == Ending.DRIFTED:
        # A search that was lost on its way may follow others that found the same.
        is_told = abs(answer.drift) >= LEAST_DRIFT
        change = f" by {percent(answer.drift, decimals=0, signed=True)}" if is_told else ""
        between = "the first search to the last" if change else "one search to the next"
        return sentence("capacity_drifted", change=change, between=between)
    words = _answer_words(answer, objective)
    if answer.ending == Ending.FOUND:
        return words
    return joined([words, sentence(_limited_by(answer.ending, bool(answer.below)))])


def _limited_by(ending: Ending | None, some_failed: bool) -> str:
    """The code of its message. The highest rate that was allowed may pass at last, though a trial
    up to there failed."""
    if ending is None:
        return "under_way"
    if ending == Ending.LIMIT and some_failed:
        return "limit_at_times"
    return "found" if ending == Ending.BELOW else str(ending)


NOT_STEADY = "not steady"


def capacity_text(answer: CapacityAnswer, interval: CapacityInterval | None) -> str:
    """1,850 (1,790 to 1,910), or what is known without a capacity. `interval`: that of its
    report."""
    if interval is None:
        return NOT_STEADY if answer.ending == Ending.DRIFTED else bound_words(answer) or DASH
    if interval.low is None:
        return f"about {rate(interval.rate_per_s)}"
    return f"{rate(interval.rate_per_s)} ({rate(interval.low)} to {rate(interval.high)})"


def bound_words(answer: CapacityAnswer) -> str:
    """What is known of a capacity that was not found: at least 400, below 100, between both; ""
    where nothing is, as no bound holds of a target that drifted."""
    least, below = answer.at_least, answer.below
    if answer.ending == Ending.DRIFTED or not (least or below):
        return ""
    if not least:
        return f"below {rate(below)}"
    is_between = below and not _is_bound(answer)
    return f"between {rate(least)} and {rate(below)}" if is_between else f"at least {rate(least)}"


def _is_bound(answer: CapacityAnswer) -> bool:
    return answer.ending in (Ending.LIMIT, Ending.INJECTOR) and bool(answer.at_least)


def _answer_words(answer: CapacityAnswer, objective: str) -> Sentence:
    """What the trials say so far."""
    interval, least, below = answer.capacity, answer.at_least, answer.below
    if _is_bound(answer):
        interval = below = None
    if interval:
        code, at = "capacity" if interval.low else "capacity_about", interval.rate_per_s
    elif below:
        code, at = "capacity_between" if least else "capacity_under", below
    else:
        code, at = "capacity_at_least" if least else "capacity_unknown", least
    return sentence(
        code,
        rate=_per_s(at),
        low=rate(interval.low if interval else least),
        high=rate(interval.high if interval else None),
        searches=counted(interval.n_searches if interval else 0, "searches"),
        objective=objective,
    )


def _per_s(rate_per_s: float | None) -> str:
    return f"{rate(rate_per_s)} requests/s"


# From here on a machine is likely the limit: what a few seconds need is beyond their mean.
BUSY_FROM = 0.80
_FULL_CORE = 0.9  # of one core: what a single thread can fill
_MACHINE_SIGNS = {code: CRITERIA[code].cause for code in TARGET_MACHINE}
_SIGNS = {code: CRITERIA[code].cause for code in (*NOT_KEPT_UP, *TARGET_MACHINE)}
_UNKNOWN = "unknown"
_BUSY = {
    "cpu": "CPU of the busiest, of a core",
    "link": "network link of its machine",
}
_TARGET_SIDE = MESSAGES["found"].title
_FULL = {code: MESSAGES[code].title for code in ("target_cpu_full", "target_link_full")}


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A figure of the target's side or of the injectors."""

    who: str
    figure: str
    measured: str
    limit: str = DASH
    was_it: str = ""


_HEADS = (
    Column("figure", "figure", is_text=True),
    Column("measured", "measured", is_text=True),
    Column("limit", "limit", is_text=True),
    Column("was_it", "was it the limit?", is_text=True),
)


@dataclass(frozen=True, slots=True)
class Limiter:
    """`word` is for a tile, `why` the sentence beside it."""

    word: Annotated[str, "Such as target CPU, injectors or cap."]
    why: str
    rows: tuple[LimitRow, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Limiter":
        names = [each.name for each in fields(LimitRow)]
        rows = (LimitRow(**{name: row[name] for name in names}) for row in data["rows"])
        return cls(data["word"], data["why"], tuple(rows))

    @property
    def table(self) -> Table:
        """The evidence of the trials."""
        rows = (
            Row(
                each.who,
                tuple(map(text_cell, (each.figure, each.measured, each.limit, each.was_it))),
                kind="total" if each.was_it in {"yes", "likely"} else "",
            )
            for each in self.rows
        )
        return Table("limited-by", "What limited it", _HEADS, tuple(rows), "who")

    def beside_machine(self, near: Busy) -> "Limiter":
        """With what the target's machine did near the answer, as far as anybody told that."""
        machine = _of_machine(near, may_be=self.word in (_TARGET_SIDE, DASH))
        usual = self.rows if near.target_cpu is None else _without_unknown(self.rows)
        rows = (*machine, *usual)
        if self.word != _TARGET_SIDE:
            return replace(self, rows=rows)
        word, why = _target_words(near)
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
        evidence = [replace(row, figure=without_addresses(row.figure, host)) for row in rows]
        return replace(self, rows=tuple(evidence))

    @property
    def names_machine(self) -> bool:
        """Whether what the target's machine told makes it the likely limit."""
        return self.word in _FULL.values()


def signs_of(verdicts: Iterable[Verdict], judgement: Judgement | None) -> list[str]:
    """By what a trial failed: rules that were broken, and what the target did not keep up with."""
    broken = [f"{each.rule} was broken" for each in verdicts if each.is_broken]
    reasons = judgement.target.reasons if judgement else ()
    return broken + [_SIGNS[each.code] for each in reasons if each.code in _SIGNS]


def limiter_of(
    ending: Ending | None,
    failed_trials: Sequence[Sequence[str]],
    doubts: Sequence[str],
    busy: Sequence[Mapping[str, float]],
    limits: LimitsByCode = LIMITS,
    spoilt: Sequence[Judgement] = (),
) -> Limiter:
    """`failed_trials`: the signs of each. `doubts`: why each of the last trials that do not count
    does not, and `spoilt` their judgements. `busy`: what injectors used in each trial near the
    answer, by the criteria's codes. `limits`: by which trials are judged."""
    injectors = _of_injectors(busy, limits)
    message = MESSAGES[_limited_by(ending, bool(failed_trials))]
    word, why = message.title, f"{message.sentence} {message.remedy}".strip()
    if word == _TARGET_SIDE:
        why = f"{_target_words(Busy())[1]}{_room_words(injectors)}"
    machine = (
        [
            LimitRow("Injector's machine", reason, counted(n, "trials"), was_it="yes")
            for reason, n in Counter(doubts).items()
        ]
        if ending == Ending.INJECTOR
        else []
    )
    rows = (*_of_target(failed_trials, word == _TARGET_SIDE), *machine, *injectors)
    if ending == Ending.INJECTOR and spoilt:
        cause = blame(spoilt[-1])
        word = CRITERIA[cause.code].who.removeprefix("the ") if cause.code in OTHERS else word
        causes = frequent_cause(spoilt, len(spoilt), "trials")
        why = f"{causes[:1].upper()}{causes[1:]}. {CRITERIA[cause.code].remedy}"
    return Limiter(word, why, rows)


def _of_target(failed_trials: Sequence[Sequence[str]], is_target: bool) -> list[LimitRow]:
    n_by_sign = Counter(sign for signs in failed_trials for sign in set(signs))
    was_it = "yes" if is_target else ""
    trials = counted(len(failed_trials), "failed trials")
    rows = [
        LimitRow("Target", sign, f"{n} of {trials}", was_it=was_it)
        for sign, n in n_by_sign.most_common()
    ]
    unknown = LimitRow("Target", "its own CPU", _UNKNOWN, was_it="start its agent")
    is_unknown = failed_trials and _MACHINE_SIGNS["target_cpu"] not in n_by_sign
    return [*rows, unknown] if is_unknown else rows


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
        yield _share_row("Target", f"CPU{cores}", near.target_cpu, BUSY_FROM, was_it)
    if near.target_link is not None:
        was_it = likely if near.target_link >= BUSY_FROM else "no"
        figure = "network link of its machine"
        yield _share_row("Target", figure, near.target_link, BUSY_FROM, was_it)


def _without_unknown(rows: Sequence[LimitRow]) -> tuple[LimitRow, ...]:
    return tuple(row for row in rows if row.measured != _UNKNOWN)


def _target_words(near: Busy) -> tuple[str, str]:
    """The word for the target's side, and the sentence about it."""
    for code, share in zip(_FULL, (near.target_cpu, near.target_link), strict=True):
        if share is not None and share >= BUSY_FROM:
            return _FULL[code], say(code, share=percent(share, decimals=0))
    cpu = near.target_cpu
    cpu_words = "" if cpu is None else f"; its CPU was at {percent(cpu, decimals=0)}"
    return _TARGET_SIDE, say("found", cpu=cpu_words)


def _share_row(who: str, figure: str, share: float, limit: float, was_it: str) -> LimitRow:
    usual = decimals_for([100 * share], most=2)
    text = percent(share, decimals=decimals_beside(100 * share, 100 * limit, usual))
    return LimitRow(who, figure, text, typed_percent(limit), was_it)


def _room_words(rows: Iterable[LimitRow]) -> str:
    injectors = [row for row in rows if row.who == "Injectors"]
    has_room = bool(injectors) and not any(row.was_it == "yes" for row in injectors)
    return f" {say('had_room')}" if has_room else ""


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
                rows.append(_share_row("Injectors", figure, mean, mild, was_it))
    return rows


_NO_LIMIT = "There is no limit to compare it with."
_INJECTORS = {
    "cpu": "injector: CPU, % of a core, mean",
    "link": "injector: network link, %",
}


def limit_table(
    limit: Limit,
    judgement: Judgement,
    vitals: Mapping[str, Observation],
    machines: Sequence[MachineUse],
    rates: tuple[float | None, float | None],
    limits: LimitsByCode = LIMITS,
    nouns: str = "requests",
) -> Table:
    """`vitals`: the injectors' by code. `rates`: how many of the `nouns` a second were ok, and were
    planned. `limits`: by which runs are judged."""
    rows = []
    for code, label in _INJECTORS.items():
        if code in vitals:
            mild, is_it = limits[code].mild, judgement.measurement.has(code)
            least = None if mild is None else 100 * mild
            rows.append(_row(label, 100 * vitals[code].value, least, is_it=is_it))
    rows += _of_machines(judgement, machines)
    if rates[0] is not None:
        rows.append(_row(f"load: ok {nouns}/s", *rates))
    columns = (
        Column("measured", "highest", "", "The highest second, or as the row says."),
        Column("limit", "limit from", "", "From here on it may be the limit."),
        Column("result", "bottleneck?", "", "By the rules of the judgement.", True),
    )
    title = "No bottleneck" if limit.who == Who.PLAN else f"Bottleneck: {limit.who}"
    return Table("limit", title, columns, tuple(rows), "figure", limit.why)


def _of_machines(judgement: Judgement, machines: Sequence[MachineUse]) -> Iterator[Row]:
    for use in machines:
        whose = f"{use.source}: " if len(machines) > 1 else "target: "
        highest = {name: pair[1] for name, pair in use.figures.items()}
        is_it = judgement.target.has("target_cpu")
        if "watched" in highest:
            # Full with what interrupts and the system need beside them.
            yield _row(f"{whose}CPU of chosen processes, %", 100 * highest["watched"], is_it=is_it)
        elif "cpu" in highest:
            yield _row(f"{whose}CPU, %", 100 * highest["cpu"], 100 * FULL_CPU, is_it=is_it)
        if highest.get("stolen"):
            # A CPU is full with it.
            yield _row(f"{whose}CPU stolen by other guests, %", 100 * highest["stolen"])
        if highest.get("memory_bytes") and "memory_used_bytes" in highest:
            share = highest["memory_used_bytes"] / highest["memory_bytes"]
            yield _row(f"{whose}memory, %", 100 * share)
        yield from _of_network(judgement, whose, highest)
        if "listen_overflows" in highest:
            is_it = judgement.target.has("listen_overflows")
            yield _row(f"{whose}listen queue overflows/s", highest["listen_overflows"], is_it=is_it)
        if "retransmitted" in highest:
            yield _row(f"{whose}segments sent again/s", highest["retransmitted"])


def _of_network(judgement: Judgement, whose: str, highest: Mapping[str, float]) -> Iterator[Row]:
    """As a share of the link's speed where that is known."""
    rates = [highest[name] for name in ("received_bytes", "sent_bytes") if name in highest]
    if not rates:
        return
    if speed := highest.get("link_bytes_per_s"):
        is_it = judgement.target.has("target_link")
        share = 100 * max(rates) / speed
        yield _row(f"{whose}network link, %", share, 100 * FULL_LINK, is_it=is_it)
    else:
        yield _row(f"{whose}network, MB/s", max(rates) / 1e6)


def _row(label: str, value: float, limit: float | None = None, *, is_it: bool | None = None) -> Row:
    mark = {None: "", True: "yes", False: "no"}[is_it]
    verdict = text_cell(mark, tone="bad" if is_it else "") if mark else empty(_NO_LIMIT)
    if limit is None:
        cell = figure_cell(Figure(value), decimals_alone(value))
        return Row(label, (cell, empty(_NO_LIMIT), verdict))
    decimals = decimals_beside(value, limit, decimals_alone(value))
    limit_cell = figure_cell(Figure(limit), decimals_alone(limit))
    return Row(label, (figure_cell(Figure(value), decimals), limit_cell, verdict))

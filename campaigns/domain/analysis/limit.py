"""Who was the limit of a run: the injector, the network, the target, or only the load as planned?
And what kept an injector from measuring.

Follows from the run's judgement, and from what the agents of its target told. The injector goes
first: while it is in doubt, nothing is known of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaigns.domain.analysis.busy import FEW_OTHERS, FULL_CPU
from campaigns.domain.analysis.criteria import (
    BUSY,
    CRITERIA,
    HIGH_EFFECT,
    LATE,
    SATURATED,
    TYPICAL_EFFECT,
    UNSENT,
    Who,
)
from campaigns.domain.analysis.judgement import Finding, Judgement
from campaigns.domain.analysis.reasons import JudgementReason
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.metrics.machine import MachineUse
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import Plan
from campaigns.domain.units import counted, percent_at_most, said_of


@dataclass(frozen=True, slots=True)
class Limit:
    """`why`: the evidence, in a sentence or two."""

    who: Who
    why: str


_TOOK_CPU = {Who.OTHERS, Who.HYPERVISOR, Who.QUOTA}
OTHERS = frozenset(code for code, row in CRITERIA.items() if row.who in _TOOK_CPU)
# Doubts that come of a lack of CPU, whoever used it.
_OF_CPU = OTHERS | UNSENT | {TYPICAL_EFFECT, HIGH_EFFECT, LATE, "stall", "cpu"}
_NOT_KEPT_UP = (
    SATURATED, "in_flight_growing", "dropped", "sent_share", "slot_wait", "errors_at_limit",
)  # fmt: skip
_OPEN = {Model.OPEN, Model.OVER}
_FULL = 0.9  # of one core: with a little that the agent does not see
_STOLEN = 0.05  # of all cores: from here on it is noted of the injector's own
_TO_KNOW = "An agent on the target's machine would tell which."


def blame(judged: Judgement) -> JudgementReason:
    """What names the cause of a measurement's worst doubt: another reason, a note, or the doubt
    itself where nothing else is known. A lack of CPU is the injector's own only where its CPU was
    the limit, else of the other programs, the hypervisor or the quota that took it."""
    reasons = judged.measurement.reasons
    if reasons[0].code not in _OF_CPU:
        return reasons[0]
    own = [each for each in reasons if each.code == "cpu"]
    if beyond := [each for each in own if each.state]:
        return beyond[0]
    # Others that used the CPU are to blame where the injector waited for it, as the notes know.
    others = [each for each in (*reasons, *judged.notes) if each.code in OTHERS]
    return max(others, key=lambda each: each.value or 0.0, default=(*own, reasons[0])[0])


def with_noise_noted(judged: Judgement) -> Judgement:
    """Of a run that took turns with others: noise met all of them, so its cause is a note. What was
    not sent, or not recorded, stays a doubt."""
    reasons = judged.measurement.reasons
    rest = tuple(each for each in reasons if each.code not in BUSY - UNSENT)
    if len(rest) == len(reasons):
        return judged
    cause = blame(judged)
    notes = judged.notes if cause in judged.notes else (replace(cause, state=""), *judged.notes)
    state = Trust((rest and rest[0].state) or Trust.TRUSTED)
    return replace(judged, measurement=Finding(state, rest), notes=notes)


def limit_of(
    judged: Judgement, machines: Sequence[MachineUse], plan: Plan, *, ended_early: bool = False
) -> Limit:
    """Of a run that has ended; `machines`: none without an agent. `ended_early`: it was stopped or
    failed, so the plan says more than it sent."""
    doubts = [
        each
        for each in judged.measurement.reasons
        if each.state or CRITERIA[each.code].who == Who.NETWORK
    ]
    if doubts:
        candidates = (each for each in doubts if CRITERIA[each.code].who or each.code in UNSENT)
        first = next(candidates, None)
        if first is None:
            return Limit(Who.UNKNOWN, doubts[0].text)
        if (who := CRITERIA[(cause := blame(judged)).code].who) in _TOOK_CPU:
            return Limit(who, cause.text)
        if CRITERIA[first.code].who == Who.NETWORK:
            return Limit(Who.NETWORK, first.text)
        own = next((each for each in doubts if CRITERIA[each.code].who == Who.INJECTOR), None)
        return Limit(Who.INJECTOR, own.text) if own else Limit(Who.MACHINE, first.text)
    reasons = {each.code: each for each in judged.target.reasons}
    if judged.target.state is None:
        return Limit(Who.UNKNOWN, judged.target.text)
    # Its link first: others may wait for nothing else.
    for code in ("target_link", "target_cpu", "listen_overflows"):
        if code in reasons:
            return Limit(CRITERIA[code].who, reasons[code].text)
    if "resent" in reasons:
        # The target loses packets where its CPU or its queue is full, and these were not.
        text = reasons["resent"].text
        if _highest_cpu(machines) is None:
            return Limit(Who.UNKNOWN, f"{text} {_TO_KNOW}")
        return Limit(Who.NETWORK, f"{text}{_room_words(machines)}")
    if reason := next((reasons[code] for code in _NOT_KEPT_UP if code in reasons), None):
        return _of_target_side(reason, machines)
    if judged.target.state == TargetState.FAILING:
        failing = said_of(plan.nouns, "Requests that fail show no limit.")
        return Limit(Who.UNKNOWN, f"{judged.target.text} {failing}")
    return Limit(
        Who.PLAN, f"{_planned_words(plan, ended_early=ended_early)}{_room_words(machines)}"
    )


def _of_target_side(reason: JudgementReason, machines: Sequence[MachineUse]) -> Limit:
    highest = _highest_cpu(machines)
    if highest is None:
        why = "It was the target, or the network on the way to it."
        return Limit(Who.UNKNOWN, f"{reason.text} {why} {_TO_KNOW}")
    # Whether a machine used as much as a thread can, which moves from core to core; it may
    # have where nobody told how many cores it has.
    may_fill_a_core = any(
        not use.cores or use.cores * cpu >= _FULL
        for use in machines
        if (cpu := _highest_of(use)) is not None
    )
    # What was not in use may have been somebody else's.
    shares = [use.figures["stolen"][1] for use in machines if "stolen" in use.figures]
    stolen = max(shares, default=0.0)
    took = f"other guests of its hypervisor took up to {percent_at_most(stolen)} of it"
    causes = [took] if stolen > _STOLEN else []
    of_all = max(use.figures["cpu"][1] for use in machines if "cpu" in use.figures)
    if of_all >= FULL_CPU > highest + FEW_OTHERS:
        causes.append("other programs of its machine took the rest")
    causes += ["one thread was full"] if may_fill_a_core else []
    causes.append("it waited for something else")
    so = f"{', '.join(causes[:-1])}, or {causes[-1]}" if len(causes) > 1 else causes[0]
    why = f"Its CPU was never above {percent_at_most(highest)}, so {so}"
    return Limit(Who.TARGET, f"{reason.text} {why}, such as locks, a pool or a database.")


def _planned_words(plan: Plan, *, ended_early: bool) -> str:
    load = plan.load
    if load.model in _OPEN and ended_early:
        early = "Until it ended, requests were sent as planned, and the target kept up."
        return said_of(plan.nouns, early)
    if load.model in _OPEN:
        return said_of(plan.nouns, "All requests were sent as planned, and the target kept up.")
    n = load.connections if load.model == Model.CLOSED else None
    if n and n > 1:
        each = f"Each of the {counted(n, 'connections')}"
        return f"{each} waited for its reply before it sent again; more would have sent more."
    if load.model == Model.SEQUENTIAL or n == 1:
        return said_of(plan.nouns, "Each request waited for the reply before it.")
    return "No more were in flight than the plan allows."


def _room_words(machines: Sequence[MachineUse]) -> str:
    highest = _highest_cpu(machines)
    if highest is None:
        return ""
    return f" The target's CPU was never above {percent_at_most(highest)}."


def _highest_cpu(machines: Sequence[MachineUse]) -> float | None:
    """In the highest second of any machine; None where none told it."""
    shares = [cpu for use in machines if (cpu := _highest_of(use)) is not None]
    return max(shares, default=None)


def _highest_of(use: MachineUse) -> float | None:
    """By the chosen processes, where there are any."""
    pair = use.figures.get("watched", use.figures.get("cpu"))
    return pair and pair[1]

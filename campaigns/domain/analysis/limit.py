"""Who was the limit of a run: the injector, the network, the target, or only the load as planned?
What kept an injector from measuring? And how busy everyone was: what the vitals of the injector
processes say, each criterion's worst one, and what the target's machine ran out of, as its agent
told it second by second. A CPU or a link is full if it was so for some seconds in a row: a second
of 100 % is ordinary.

The limit follows from the run's judgement, and from what the agents of its target told. The
injector goes first: while it is in doubt, nothing is known of the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

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
from campaigns.domain.analysis.judgement import Finding, Judgement, JudgementReason, Observation
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.metrics.machine import MachinePoint, MachineUse
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import Plan
from campaigns.domain.units import clock, count, counted, duration, percent_at_most, said_of

# Vitals by criterion: those judged by the run's mean, and those judged by the worst second.
_MEANS = {"cpu": "cpu_share", "throttled": "throttled_share", "steal": "steal_share"}
_WORST = {
    "stall": "hub_lag_max_us",
    "open_files": "open_files_share",
    "ports": "ports_share",
    "swapped": "swapped_pages",
    "clock_step": "clock_step_us",
    "link": "link_share",
    "packets_lost": "packets_lost_share",
}


def observed_vitals(vitals: list[dict[str, Any]]) -> dict[str, Observation]:
    """By the criterion's code, of a measurement's vitals: a row for each injector process."""
    observations: dict[str, Observation] = {}
    for kind, vital_by_code in (("mean", _MEANS), ("worst", _WORST)):
        for code, vital in vital_by_code.items():
            if shard := worst_shard(vitals, vital, kind):
                number = injector_number(vitals, shard)
                observations[code] = Observation(shard[kind][vital], shard["at"][vital], number)
    return observations


def others_cpu(vitals: Sequence[Mapping[str, Any]]) -> Observation | None:
    """The share of an injector host's CPU that no injector process of the run used, on the busiest
    host where it kept one of them from running. Each process counts the others among other
    programs."""
    names = {"other_cpu_share", "other_cores", "cpu_share"}
    complete = [each for each in vitals if names <= each["mean"].keys()]
    all_cores = sum(each["mean"]["cpu_share"] for each in complete)
    shares = [
        mean["other_cpu_share"]
        * max(0.0, 1 - (all_cores - mean["cpu_share"]) / (mean["other_cores"] or 1.0))
        for each in complete
        if _was_kept_waiting(each["worst"]) and (mean := each["mean"])
    ]
    return Observation(max(shares)) if shares else None


def _was_kept_waiting(worst: Mapping[str, float]) -> bool:
    """Whether waiting for a CPU was most of the longest stall; else the injector itself stalled."""
    waited_us = 1_000_000 * worst.get("run_delay_share", 0.0)
    return waited_us > 0 and waited_us >= worst.get("hub_lag_max_us", 0.0) / 2


def worst_shard(
    vitals: list[dict[str, Any]], vital: str, kind: str = "worst"
) -> dict[str, Any] | None:
    """The row of the injector process with the worst second, or mean; None where none has this
    vital."""
    shards = [each for each in vitals if vital in each[kind]]
    return max(shards, key=lambda each: each[kind][vital], default=None)


def injector_number(vitals: list[dict[str, Any]], shard: dict[str, Any] | None) -> int | None:
    """The injector's number from 1; None if there is only one."""
    return shard["shard"] + 1 if shard and len(vitals) > 1 else None


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """A target's machine, as a share of what it can do over the measured seconds of a run: its CPU
    of all `cores` (0 if nobody told how many), that of the chosen processes where there are any;
    and its network link in the busier direction."""

    cpu: float | None
    cores: int
    link: float | None

    @classmethod
    def of_use(cls, use: MachineUse) -> "MachineLoad":
        means = {name: pair[0] for name, pair in use.figures.items()}
        directions = [means.get(name) for name in ("received_bytes", "sent_bytes")]
        link = link_share(directions, means.get("link_bytes_per_s"))
        return cls(means.get("watched", means.get("cpu")), use.cores, link)


@dataclass(frozen=True, slots=True)
class Busy:
    """Shares of 1; None where nobody told it. `target_cpu`: of all cores of the target's busiest
    machine, of which it has `target_cores`; `injector_cpu`: of a core, of the busiest injector
    process; `target_link` and `injector_link`: of the fullest network link's speed there."""

    target_cpu: float | None = None
    target_cores: int = 0
    target_link: float | None = None
    injector_cpu: float | None = None
    injector_link: float | None = None

    @property
    def network(self) -> float | None:
        """The fullest link at either end."""
        links = [each for each in (self.target_link, self.injector_link) if each is not None]
        return max(links, default=None)


def link_share(directions: Iterable[float | None], speed: float | None) -> float | None:
    """Of the link's speed, both in bytes/s; None where one of them is not known."""
    shares = [each for each in directions if each is not None]
    return max(shares) / speed if shares and speed else None


def busy_of(vitals: Sequence[Mapping[str, Any]], machines: Sequence[MachineLoad]) -> Busy:
    """Of a run with these vitals of its injector processes, and these machines of its target."""
    cpu = observed_vitals(vitals).get("cpu")
    links = [each["mean"]["link_share"] for each in vitals if "link_share" in each["mean"]]
    busiest = max(machines, key=lambda each: each.cpu or 0.0, default=None)
    return Busy(
        target_cpu=busiest and busiest.cpu,
        target_cores=busiest.cores if busiest else 0,
        target_link=max((m.link for m in machines if m.link is not None), default=None),
        injector_cpu=cpu and cpu.value,
        injector_link=max(links, default=None),
    )


def mean_busy(every: Sequence[Busy]) -> Busy:
    """Over several runs; a share that some of them lack is of the others."""

    def mean_of(name: str) -> float | None:
        values = [value for each in every if (value := getattr(each, name)) is not None]
        return fmean(values) if values else None

    return Busy(
        target_cpu=mean_of("target_cpu"),
        target_cores=max((each.target_cores for each in every), default=0),
        target_link=mean_of("target_link"),
        injector_cpu=mean_of("injector_cpu"),
        injector_link=mean_of("injector_link"),
    )


FULL_CPU, FULL_LINK = 0.98, 0.9
# Of all cores: what an agent and the system itself need beside the chosen processes.
FEW_OTHERS = 0.1
# With fewer requests, a single overflow would be a misleadingly large share.
_FEW_REQUESTS = 1000


def observed_machines(
    machines: Mapping[str, Sequence[MachinePoint]], attempts: int, *, is_co_located: bool = False
) -> dict[str, Observation]:
    """Of the measured seconds of each machine by name: `target_cpu` and `target_link`, the longest
    time in a row in which it was full, s; `listen_overflows` as a share of the attempts. The CPU of
    an injector's machine says nothing of the target, unless its processes were chosen."""
    worst: dict[str, Observation] = {}
    for name, points in machines.items():
        place = f" on {name}" if len(machines) > 1 else ""
        is_anybodys = is_co_located and all(point.watched_share is None for point in points)
        for code, observation in _of_one(points, attempts, place):
            if is_anybodys and code == "target_cpu":
                continue
            if code not in worst or observation.value > worst[code].value:
                worst[code] = observation
    return worst


def _cpu_share(point: MachinePoint) -> float | None:
    """In use by the machine, or by other guests of its hypervisor: what is left can be had. Much
    use by others than the chosen processes is not the target's."""
    free, chosen_share = point.share("idle_s", "waiting_s"), point.watched_share
    if free is None:
        return None
    others = 0.0 if chosen_share is None else point.share("user_s", "system_s") - chosen_share
    return 1 - free - (others if others > FEW_OTHERS else 0.0)


def _link_share(point: MachinePoint) -> float | None:
    """Of the network link in its busier direction; None where its speed is not known."""
    speed = point.did.get("link_bytes_per_s")
    rates = [point.per_s(name) for name in ("received_bytes", "sent_bytes")]
    return max(rates) / speed if speed and None not in rates else None


def _of_one(
    points: Sequence[MachinePoint], attempts: int, place: str
) -> Iterator[tuple[str, Observation]]:
    for code, share, full in (
        ("target_cpu", _cpu_share, FULL_CPU),
        ("target_link", _link_share, FULL_LINK),
    ):
        if any(share(point) is not None for point in points):
            stretch = _longest(points, lambda point, of=share, at=full: (of(point) or 0) >= at)
            length_s = round(sum(point.lasted_s for point in stretch), 3)
            when = f" from {clock(stretch[0].second)}" if stretch else ""
            if stretch and stretch[-1].second == points[-1].second:
                when = f"{when} on"
            elif stretch:
                when = f" for {duration(len(stretch))}{when}"
            yield code, Observation(length_s, measure=f"{place}{when}")
    overflows = [(point.second, point.did.get("listen_overflows", 0)) for point in points]
    total = sum(n for _, n in overflows)
    first = next((f", first at {clock(second)}" for second, n in overflows if n), "")
    share = total / max(attempts, _FEW_REQUESTS)
    times = "once" if total == 1 else f"{count(round(total))} times"
    yield "listen_overflows", Observation(share, measure=f" {times}{place}{first}")


def _longest(
    points: Sequence[MachinePoint], is_full: Callable[[MachinePoint], bool]
) -> list[MachinePoint]:
    """The longest row of full seconds; one that nobody told ends it."""
    longest: list[MachinePoint] = []
    present: list[MachinePoint] = []
    for point in points:
        if not is_full(point):
            present = []
            continue
        follows = present and point.second == present[-1].second + 1
        present = [*present, point] if follows else [point]
        longest = max(longest, present, key=len)
    return longest


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


def blame(judgement: Judgement) -> JudgementReason:
    """What names the cause of a measurement's worst doubt: another reason, a note, or the doubt
    itself where nothing else is known. A lack of CPU is the injector's own only where its CPU was
    the limit, else of the other programs, the hypervisor or the quota that took it."""
    reasons = judgement.measurement.reasons
    if reasons[0].code not in _OF_CPU:
        return reasons[0]
    own = [each for each in reasons if each.code == "cpu"]
    if beyond := [each for each in own if each.state]:
        return beyond[0]
    # Others that used the CPU are to blame where the injector waited for it, as the notes know.
    others = [each for each in (*reasons, *judgement.notes) if each.code in OTHERS]
    return max(others, key=lambda each: each.value or 0.0, default=(*own, reasons[0])[0])


def with_noise_noted(judgement: Judgement) -> Judgement:
    """Of a run that took turns with others: noise met all of them, so its cause is a note. What was
    not sent, or not recorded, stays a doubt."""
    reasons = judgement.measurement.reasons
    rest = tuple(each for each in reasons if each.code not in BUSY - UNSENT)
    if len(rest) == len(reasons):
        return judgement
    cause = blame(judgement)
    notes = (
        judgement.notes
        if cause in judgement.notes
        else (replace(cause, state=""), *judgement.notes)
    )
    state = Trust((rest and rest[0].state) or Trust.TRUSTED)
    return replace(judgement, measurement=Finding(state, rest), notes=notes)


def limit_of(
    judgement: Judgement, machines: Sequence[MachineUse], plan: Plan, *, ended_early: bool = False
) -> Limit:
    """Of a run that has ended; `machines`: none without an agent. `ended_early`: it was stopped or
    failed, so the plan says more than it sent."""
    doubts = [
        each
        for each in judgement.measurement.reasons
        if each.state or CRITERIA[each.code].who == Who.NETWORK
    ]
    if doubts:
        candidates = (each for each in doubts if CRITERIA[each.code].who or each.code in UNSENT)
        first = next(candidates, None)
        if first is None:
            return Limit(Who.UNKNOWN, doubts[0].text)
        if (who := CRITERIA[(cause := blame(judgement)).code].who) in _TOOK_CPU:
            return Limit(who, cause.text)
        if CRITERIA[first.code].who == Who.NETWORK:
            return Limit(Who.NETWORK, first.text)
        own = next((each for each in doubts if CRITERIA[each.code].who == Who.INJECTOR), None)
        return Limit(Who.INJECTOR, own.text) if own else Limit(Who.MACHINE, first.text)
    reasons = {each.code: each for each in judgement.target.reasons}
    if judgement.target.state is None:
        return Limit(Who.UNKNOWN, judgement.target.text)
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
    if judgement.target.state == TargetState.FAILING:
        failing = said_of(plan.nouns, "Requests that fail show no limit.")
        return Limit(Who.UNKNOWN, f"{judgement.target.text} {failing}")
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

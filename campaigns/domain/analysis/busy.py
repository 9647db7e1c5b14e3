"""How busy everyone was in a run: what the vitals of its injector processes say, each criterion's
worst one; what the target's machine ran out of, as its agent told it second by second; and both as
shares.

A CPU or a link is full if it was so for some seconds in a row: a second of 100 % is ordinary.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from campaigns.domain.analysis.reasons import Observed
from campaigns.domain.metrics.machine import MachinePoint, MachineUse
from campaigns.domain.units import clock, count, duration

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


def observed_vitals(vitals: list[dict[str, Any]]) -> dict[str, Observed]:
    """By the criterion's code, of a measurement's vitals: a row for each injector process."""
    observed: dict[str, Observed] = {}
    for code, vital in _MEANS.items():
        shards = [each for each in vitals if vital in each["mean"]]
        worst = max(shards, key=lambda each: each["mean"][vital], default=None)
        if worst:
            at = worst["at"][vital]
            observed[code] = Observed(worst["mean"][vital], at, injector_number(vitals, worst))
    for code, vital in _WORST.items():
        if worst := worst_shard(vitals, vital):
            at = worst["at"][vital]
            observed[code] = Observed(worst["worst"][vital], at, injector_number(vitals, worst))
    return observed


def others_cpu(vitals: Sequence[Mapping[str, Any]]) -> Observed | None:
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
    return Observed(max(shares)) if shares else None


def _was_kept_waiting(worst: Mapping[str, float]) -> bool:
    """Whether waiting for a CPU was most of the longest stall; else the injector itself stalled."""
    waited_us = 1_000_000 * worst.get("run_delay_share", 0.0)
    return waited_us > 0 and waited_us >= worst.get("hub_lag_max_us", 0.0) / 2


def worst_shard(vitals: list[dict[str, Any]], vital: str) -> dict[str, Any] | None:
    """The row of the injector process with the worst second; None where none has this vital."""
    shards = [each for each in vitals if vital in each["worst"]]
    return max(shards, key=lambda each: each["worst"][vital], default=None)


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
) -> dict[str, Observed]:
    """Of the measured seconds of each machine by name: `target_cpu` and `target_link`, the longest
    time in a row in which it was full, s; `listen_overflows` as a share of the attempts. The CPU of
    an injector's machine says nothing of the target, unless its processes were chosen."""
    worst: dict[str, Observed] = {}
    for name, points in machines.items():
        place = f" on {name}" if len(machines) > 1 else ""
        is_anybodys = is_co_located and all(point.watched_share is None for point in points)
        for code, observed in _of_one(points, attempts, place):
            if is_anybodys and code == "target_cpu":
                continue
            if code not in worst or observed.value > worst[code].value:
                worst[code] = observed
    return worst


def _cpu_share(point: MachinePoint) -> float | None:
    """In use by the machine, or by other guests of its hypervisor: what is left can be had. Much
    use by others than the chosen processes is not the target's."""
    left, watched = point.share("idle_s", "waiting_s"), point.watched_share
    if left is None:
        return None
    others = 0.0 if watched is None else point.share("user_s", "system_s") - watched
    return 1 - left - (others if others > FEW_OTHERS else 0.0)


def _link_share(point: MachinePoint) -> float | None:
    """Of the network link in its busier direction; None where its speed is not known."""
    speed = point.did.get("link_bytes_per_s")
    rates = [point.per_s(name) for name in ("received_bytes", "sent_bytes")]
    return max(rates) / speed if speed and None not in rates else None


def _of_one(
    points: Sequence[MachinePoint], attempts: int, place: str
) -> Iterator[tuple[str, Observed]]:
    for code, share, full in (
        ("target_cpu", _cpu_share, FULL_CPU),
        ("target_link", _link_share, FULL_LINK),
    ):
        if any(share(point) is not None for point in points):
            stretch = _longest(points, lambda point, of=share, at=full: (of(point) or 0) >= at)
            length_s = round(sum(point.lasted_s for point in stretch), 3)
            yield code, Observed(length_s, measure=f"{place}{_when(stretch, points)}")
    overflows = [(point.second, point.did.get("listen_overflows", 0)) for point in points]
    total = sum(n for _, n in overflows)
    first = next((f", first at {clock(second)}" for second, n in overflows if n), "")
    share = total / max(attempts, _FEW_REQUESTS)
    times = "once" if total == 1 else f"{count(round(total))} times"
    yield "listen_overflows", Observed(share, measure=f" {times}{place}{first}")


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


def _when(stretch: Sequence[MachinePoint], points: Sequence[MachinePoint]) -> str:
    if not stretch:
        return ""
    since = f"from {clock(stretch[0].second)} on"
    if stretch[-1].second == points[-1].second:
        return f" {since}"
    return f" for {duration(len(stretch))} {since.removesuffix(' on')}"

"""How busy everyone was in a run: the target's machine, the injectors and the network."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from campaigns.domain.judged.injector_vitals import observed_vitals
from campaigns.domain.measured.machine_use import MachineUse


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """A target's machine, as a share of what it can do over the measured seconds of a run: its CPU
    of all `cores` (0 if nobody told how many), and its network link in the busier direction."""

    cpu: float | None
    cores: int
    link: float | None

    @classmethod
    def of_use(cls, use: MachineUse) -> "MachineLoad":
        means = {name: pair[0] for name, pair in use.figures.items()}
        directions = [means.get(name) for name in ("received_bytes", "sent_bytes")]
        link = link_share(directions, means.get("link_bytes_per_s"))
        return cls(means.get("cpu"), use.cores, link)


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
        told = [each for each in (self.target_link, self.injector_link) if each is not None]
        return max(told, default=None)


def link_share(directions: Iterable[float | None], speed: float | None) -> float | None:
    """Of the link's speed, both in bytes/s; None where one of them is not known."""
    told = [each for each in directions if each is not None]
    return max(told) / speed if told and speed else None


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
        told = [value for each in every if (value := getattr(each, name)) is not None]
        return fmean(told) if told else None

    return Busy(
        target_cpu=mean_of("target_cpu"),
        target_cores=max((each.target_cores for each in every), default=0),
        target_link=mean_of("target_link"),
        injector_cpu=mean_of("injector_cpu"),
        injector_link=mean_of("injector_link"),
    )

"""What else uses an injector host, as it announced it, in words. Names of programs are only for
those who may start a campaign."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, NamedTuple

from campaigns.domain.presentation.tables import Column, Figure, Row, Table, figure_cell
from campaigns.domain.units import figure, percent

# Beyond these the host is busy: shares of its CPU, and of the time for its quota.
OTHERS_SHARE, STEAL_SHARE, THROTTLED_SHARE = 0.5, 0.05, 0.05
MEANING = "Medians stay reliable; p99 may not."
_MOST_PROGRAMS = 3
# So much of what others use, and one program is the cause.
_MOST = 0.8


class BusyProgram(NamedTuple):
    name: str
    share: Annotated[float, "Of the machine's CPU."]

    def __str__(self) -> str:
        return f"{self.name} {_whole(self.share)}"


@dataclass(frozen=True, slots=True)
class HostUse:
    """`whose`: this machine's, or lab-2's. `programs`: the busiest first."""

    whose: str
    others_share: Annotated[float, "CPU of all but benchsite's injectors."] = 0.0
    steal_share: Annotated[float, "CPU that the hypervisor gave to others."] = 0.0
    throttled_share: Annotated[float, "Time in which the CPU quota was used up."] = 0.0
    load_1min: Annotated[float | None, "Load average."] = None
    programs: Annotated[
        tuple[BusyProgram, ...],
        "At most three. Empty for those who may start no campaign.",
    ] = ()

    @classmethod
    def of(cls, whose: str, use: dict[str, Any]) -> "HostUse":
        """Of what workers/host_use.py tells."""
        reports = use["programs"]
        programs = tuple(
            BusyProgram(each["name"], each["cores"] / use["cores"]) for each in reports
        )
        shares = (use[f"{name}_share"] for name in ("others", "steal", "throttled"))
        return cls(whose, *shares, use["load_1min"], programs)

    @property
    def is_busy(self) -> bool:
        """Whether that disturbs measurements."""
        return (
            self.others_share > OTHERS_SHARE
            or self.steal_share > STEAL_SHARE
            or self.throttled_share > THROTTLED_SHARE
        )

    @property
    def largest_share(self) -> float:
        return max(self.others_share, self.steal_share, self.throttled_share)

    def without_names(self) -> "HostUse":
        return replace(self, programs=())

    def words(self) -> str:
        """Its largest use in a sentence."""
        if self.largest_share == self.others_share:
            if self.programs and self.programs[0].share >= _MOST * self.others_share:
                name, share = self.programs[0]
                return f"{name} uses {_whole(share)} of {self.whose} CPU."
            programs = f": {', '.join(map(str, self.programs))}" if self.programs else ""
            others = f"Other programs use {_whole(self.others_share)} of {self.whose} CPU"
            return f"{others}{programs}."
        if self.largest_share == self.steal_share:
            share = _whole(self.steal_share)
            return f"The hypervisor gives {share} of {self.whose} CPU to other machines."
        return (
            f"Injectors use up {self.whose} CPU quota {_whole(self.throttled_share)} of the time."
        )

    def quiet_words(self) -> str:
        others = f"other programs use {_whole(self.others_share)} of its CPU."
        name = self.whose.removesuffix("'s")
        return f"{name[:1].upper()}{name[1:]} is quiet: {others}"

    def facts(self) -> list[str]:
        """What the page of hosts tells, in few words each."""
        load = [] if self.load_1min is None else [f"load average {figure(self.load_1min)}"]
        steal = [f"steal {_whole(self.steal_share)}"] if self.steal_share else []
        quota = [f"at its CPU quota {_whole(self.throttled_share)} of the time"]
        programs = f" ({', '.join(map(str, self.programs))})" if self.programs else ""
        others = f"other programs {_whole(self.others_share)} of the CPU{programs}"
        return [*load, *steal, *(quota if self.throttled_share else []), others]


def programs_of(lists: Iterable[Iterable[tuple[str, float]]]) -> tuple[BusyProgram, ...]:
    """Of those that each run's host told: at most three, by their mean share."""
    runs = list(lists)
    shares: Counter[str] = Counter()
    for name, share in chain.from_iterable(runs):
        shares[name] += share / len(runs)
    return tuple(BusyProgram(*each) for each in shares.most_common(_MOST_PROGRAMS))


def programs_table(programs: Sequence[BusyProgram]) -> Table:
    return Table(
        "programs",
        "Programs that used most of the injector host's CPU",
        (Column("share", "share", "% of the machine", "While the run was sending."),),
        tuple(Row(each.name, (figure_cell(Figure(100 * each.share), 0),)) for each in programs),
        label_title="program",
    )


def _whole(share: float) -> str:
    return percent(share, decimals=0)


def busiest(uses: Iterable[HostUse]) -> HostUse | None:
    """Of those that are busy; None where none is."""
    busy = [each for each in uses if each.is_busy]
    return max(busy, key=lambda each: each.largest_share, default=None)

"""What a project may use at most: the caps, and the sentence when one is reached."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from campaigns.domain.units import counted, figure, number, percent

DAY_S = 24 * 3600
GIGABYTE = 10**9


@dataclass(frozen=True, slots=True)
class Cap:
    """One cap. `nouns` follow the number; `remedy` says what members can do by themselves."""

    name: str  # its setting is BENCHSITE_CAP_ and this
    title: str
    nouns: str
    remedy: str
    scale: int = 1  # one of `nouns` in the unit that is counted
    unit: str = ""  # that is counted; "" for a number of things
    is_share: bool = False  # its setting is in percent of what the live injector hosts offer

    @property
    def unit_words(self) -> str:
        """The unit of `figure`: hours, GB; "" for a number of things."""
        return self.nouns.split()[0] if self.scale != 1 else ""

    @property
    def highest(self) -> int:
        """The largest number that its setting can be."""
        return 100 if self.is_share else 1_000_000

    def setting_words(self, most: float) -> str:
        """What is set, not what follows from it: 75 % of the injector slots."""
        if not self.is_share:
            return self.words(most)
        return f"{percent(most / 100, decimals=0)} of the {self.nouns}"

    def words(self, value: float) -> str:
        """A value as counted, with its unit: 12.5 hours of load."""
        if self.scale == 1:
            return counted(round(value), self.nouns)
        return f"{self.figure(value)} {self.nouns}"

    def figure(self, value: float) -> str:
        """The same without its unit."""
        if self.scale == 1 or not value:
            return number(value)
        in_units = value / self.scale
        return "< 0.001" if in_units < 0.001 else figure(in_units)


RUNS = Cap("RUNS", "Active runs", "active runs", "It begins when one of them has ended.")
SLOTS = Cap(
    "SLOT_PERCENT",
    "Injector slots",
    "injector slots",
    "It begins when one of its runs has ended.",
    is_share=True,
)
LOAD_HOURS = Cap(
    "LOAD_HOURS",
    "Load in 24 hours",
    "hours of load in 24 hours",
    "Wait, stop what is queued, or measure for less time.",
    scale=3600,
    unit="s",
)
PLANS = Cap("PLANS", "Plans", "plans", "Delete plans that no campaign uses.")
CAMPAIGNS = Cap("CAMPAIGNS", "Campaigns", "campaigns", "Delete campaigns that nobody needs.")
STORED_GB = Cap(
    "STORED_GB",
    "Stored results",
    "GB of results",
    "Delete campaigns.",
    scale=GIGABYTE,
    unit="bytes",
)
# Of the installation: an address has at most one run at a time, so this bounds each plan.
RATE = Cap(
    "RATE_PER_S", "Requests/s to an address", "requests/s to one address", "Lower the plan's rate."
)

RAISE = "An administrator can raise this cap."
PROJECT_CAPS = (RUNS, SLOTS, LOAD_HOURS, PLANS, CAMPAIGNS, STORED_GB)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How much a project may have, None: as much as it wants; `of` says what that is a share of:
    75 % of 12."""

    most: float | None
    of: str = ""

    def holds(self, total: float) -> bool:
        return self.most is None or total <= self.most

    def refusal(self, cap: Cap, project: str, adding: int) -> str:
        """Why a run that needs so many at once can never begin; "" if it can."""
        if self.holds(adding):
            return ""
        return (
            f"Each run needs {counted(adding, cap.nouns)} at once; {project} may have "
            f"{cap.figure(self.most)} ({self.of}). {RAISE}"
        )


NO_CEILING = Ceiling(None)


def share_of(offered: int, cap_percent: float | None, how: str = "") -> Ceiling:
    """A project's share of what the injector hosts offer, rounded down; at least one, so that each
    project can measure. `how`: in which way they offer it."""
    if cap_percent is None:
        return NO_CEILING
    most = min(offered, max(1, int(offered * cap_percent // 100)))
    return Ceiling(most, f"{percent(cap_percent / 100, decimals=0)} of {number(offered)}{how}")


def tighter(one: Ceiling, other: Ceiling) -> Ceiling:
    return min(one, other, key=lambda each: inf if each.most is None else each.most)


@dataclass(frozen=True, slots=True)
class Use:
    """What a project uses of one cap, in the unit that is counted. `planned` is what queued runs
    will add."""

    cap: Cap
    used: float
    planned: float = 0.0
    ceiling: Ceiling = NO_CEILING

    @property
    def most(self) -> float | None:
        """None without a cap."""
        return self.ceiling.most

    @property
    def total(self) -> float:
        return self.used + self.planned

    @property
    def share(self) -> float:
        """Of the cap, at most 1; 0 without a cap."""
        return min(1.0, self.total / self.most) if self.most else 0.0

    @property
    def used_words(self) -> str:
        return self.cap.figure(self.used)

    @property
    def planned_words(self) -> str:
        return self.cap.figure(self.planned) if self.planned else ""

    @property
    def most_words(self) -> str:
        return "no cap" if self.most is None else self.cap.figure(self.most)

    @property
    def percent_of_total_text(self) -> str:
        """What follows on what is used: 3 of 8, 3 without a cap."""
        return "without a cap" if self.most is None else f"of {self.most_words}"

    def refusal(self, project: str, adding: float) -> str:
        """Why `adding` more is too much, and what to do; "" while it fits."""
        if self.ceiling.holds(self.total + adding):
            return ""
        to_come = f", {self.planned_words} of it still to come" if self.planned else ""
        is_told = self.cap.scale != 1 or adding > 1
        more = f" This would add {self.cap.figure(adding)}." if is_told else ""
        share = f" ({self.ceiling.of})" if self.ceiling.of else ""
        return (
            f"{project} has {self.cap.figure(self.total)} of at most {self.cap.words(self.most)}"
            f"{share}{to_come}.{more} {self.cap.remedy} {RAISE}"
        )


def most_of(cap: Cap, defaults: Mapping[str, int], own: Mapping[str, int]) -> float | None:
    """A project's cap in the unit that is counted: its own, or the installation's; None: no cap."""
    most = own.get(cap.name, defaults[cap.name])
    return most * cap.scale if most > 0 else None

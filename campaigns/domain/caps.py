"""What a project may use at most: the caps, and the sentence when one is reached."""

from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.domain.units import counted, figure, number

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

    @property
    def unit_words(self) -> str:
        """The unit of `figure`: hours, GB; "" for a number of things."""
        return self.nouns.split()[0] if self.scale != 1 else ""

    def words(self, value: float) -> str:
        """A value as counted, with its unit: 12.5 hours of load."""
        if self.scale == 1:
            return counted(round(value), self.nouns)
        return f"{self.figure(value)} {self.nouns}"

    def figure(self, value: float) -> str:
        """The same without its unit."""
        if self.scale == 1 or not value:
            return number(value)
        scaled = value / self.scale
        return "< 0.001" if scaled < 0.001 else figure(scaled)


RUNS = Cap("RUNS", "Active runs", "active runs", "It begins when one of them has ended.")
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
    "RATE_PER_S",
    "Requests/s to an address",
    "requests/s to one address",
    "Lower the plan's rate.",
)

PROJECT_CAPS = (RUNS, LOAD_HOURS, PLANS, CAMPAIGNS, STORED_GB)
CAPS = (*PROJECT_CAPS, RATE)


@dataclass(frozen=True, slots=True)
class Use:
    """What a project uses of one cap, in the unit that is counted. `planned` is what queued runs
    will add; `most` is None without a cap."""

    cap: Cap
    used: float
    planned: float = 0.0
    most: float | None = None

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

    def refusal(self, project: str, adding: float) -> str:
        """Why `adding` more is too much, and what to do; "" while it fits."""
        if self.most is None or self.total + adding <= self.most:
            return ""
        planned = f", {self.planned_words} of it still to come" if self.planned else ""
        added = f" This would add {self.cap.figure(adding)}." if self.cap.scale != 1 else ""
        return (
            f"{project} has {self.cap.figure(self.total)} of at most {self.cap.words(self.most)}"
            f"{planned}.{added} {self.cap.remedy} An administrator can raise this cap."
        )


def most_of(cap: Cap, defaults: Mapping[str, int], own: Mapping[str, int]) -> float | None:
    """A project's cap in the unit that is counted: its own, or the installation's; None: no cap."""
    most = own.get(cap.name, defaults[cap.name])
    return most * cap.scale if most > 0 else None

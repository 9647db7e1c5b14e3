"""What the rounds of several labs came to, kept in a folder: a file for each lab, a line for each
round. So labs add up, beside each other and on different days.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Self

from benchmarks.faults.kinds import KINDS, RunPhase
from benchmarks.faults.report import Struck
from benchmarks.faults.rounds import Fault


@dataclass(frozen=True, slots=True)
class RoundResult:
    """A round that was played. `began_at`: ISO 8601, UTC; `load`: the machine's load average of
    the last minute at its end; `broken`: what did not hold, in sentences."""

    seed: int
    number: int
    began_at: str
    took_s: float
    load: float
    struck: tuple[Struck, ...]
    broken: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"struck": [_struck_to_json(each) for each in self.struck]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        struck = tuple(_struck_from_json(each) for each in stored["struck"])
        return cls(**{**stored, "struck": struck, "broken": tuple(stored["broken"])})


class Results:
    """The folder. Labs with different seeds may write at the same time."""

    def __init__(self, folder: Path):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, result: RoundResult) -> None:
        with (self._folder / f"seed-{result.seed}.jsonl").open("a") as file:
            file.write(json.dumps(result.to_json()) + "\n")

    def all(self) -> list[RoundResult]:
        texts = (path.read_text() for path in sorted(self._folder.glob("*.jsonl")))
        lines = (line for text in texts for line in text.splitlines())
        return [RoundResult.from_json(json.loads(line)) for line in lines]

    def next_round(self, seed: int) -> int:
        """The first that no lab with this seed has played."""
        return 1 + max((each.number for each in self.all() if each.seed == seed), default=0)


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def summary(results: Iterable[RoundResult]) -> str:
    """One line: how much was tried, how long that took, how busy the machine was."""
    rounds = list(results)
    if not rounds:
        return "No round has been played."
    n_faults = sum(len(each.struck) for each in rounds)
    loads = sorted(each.load for each in rounds)
    seeds = ", ".join(map(str, sorted({each.seed for each in rounds})))
    took_s = sum(each.took_s for each in rounds) / max(1, n_faults)
    n_broken = sum(bool(each.broken) for each in rounds)
    return (
        f"{n_faults:,} faults in {len(rounds):,} rounds of seeds {seeds}, {took_s:.1f} s a fault, "
        f"{n_broken} rounds broken; load average {loads[0]:.0f} to {loads[-1]:.0f}, "
        f"median {median(loads):.0f}"
    )


def _struck_to_json(struck: Struck) -> dict[str, Any]:
    fault = struck.fault
    return {
        "kind": fault.kind.name,
        "phase": fault.phase.value,
        "victim": fault.victim,
        "within": round(fault.within, 3),
        "hold_s": round(fault.hold_s, 3),
        "held": struck.held,
        "silent_s": [round(each, 3) for each in struck.silent_s],
    }


def _struck_from_json(stored: dict[str, Any]) -> Struck:
    kind, phase = KINDS[stored["kind"]], RunPhase(stored["phase"])
    fault = Fault(kind, phase, stored["victim"], stored["within"], stored["hold_s"])
    return Struck(fault, stored["held"], tuple(stored["silent_s"]))

"""What happens in each round, drawn from a seed: the same seed and number, the same faults."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.faults.kinds import FaultKind, RunPhase
from benchmarks.faults.network import TARGETS

CAMPAIGNS = len(TARGETS)
# A first request whose worker died is given up after 50 s, which are waited for.
_WEIGHTS = {RunPhase.FIRST: 0.2, RunPhase.MEASURED: 2.0}
_SOME_AT_ONCE = (0.2, 0.3, 0.3, 0.2)  # one to four faults
_SHORT_S, _LONG_S = (0.3, 3.0), (4.5, 9.0)  # less than the dead man's switch, and more


@dataclass(frozen=True, slots=True)
class Fault:
    """`victim`: the place of the campaign whose run is hit. `within`: how far into the phase, from
    0 to 1. `hold_s`: how long it lasts."""

    kind: FaultKind
    phase: RunPhase
    victim: int
    within: float
    hold_s: float

    def __str__(self) -> str:
        lasts = f" for {self.hold_s:.1f} s" if self.kind.lasts else ""
        return f"{self.kind.name}{lasts}, {self.phase} of campaign {self.victim + 1}"


@dataclass(frozen=True, slots=True)
class FaultRound:
    """Faults in `CAMPAIGNS` campaigns that begin together."""

    number: int
    faults: tuple[Fault, ...]

    def begins_with_first_request(self, place: int) -> bool:
        """The others skip theirs."""
        return any(each.victim == place and each.phase is RunPhase.FIRST for each in self.faults)


def rounds(seed: int, kinds: Sequence[FaultKind], first: int = 1) -> Iterator[FaultRound]:
    """Without an end."""
    number = first
    while True:
        yield _round(Random(f"{seed}/{number}"), number, kinds)
        number += 1


def _round(chance: Random, number: int, kinds: Sequence[FaultKind]) -> FaultRound:
    (wanted,) = chance.choices((1, 2, 3, 4), _SOME_AT_ONCE)
    faults: list[Fault] = []
    for kind in chance.sample(kinds, len(kinds)):
        if len(faults) < wanted and all(kind.part != each.kind.part for each in faults):
            faults.append(_fault(chance, kind))
    return FaultRound(number, tuple(faults))


def _fault(chance: Random, kind: FaultKind) -> Fault:
    (phase,) = chance.choices(kind.phases, [_WEIGHTS.get(each, 1.0) for each in kind.phases])
    lengths = chance.choice((_SHORT_S, _LONG_S))
    return Fault(
        kind=kind,
        phase=phase,
        victim=chance.randrange(CAMPAIGNS),
        within=chance.random(),
        hold_s=chance.uniform(*lengths) if kind.lasts else 0.0,
    )

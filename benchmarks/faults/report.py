"""The lab's table: what was tried of each kind in each phase, what held, how soon load ended."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil

from benchmarks.faults.kinds import RunPhase
from benchmarks.faults.rounds import Fault

COLUMNS = ("fault", *RunPhase, "broken", "load ends after: p50, p99, max", "goal")


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that was planted, and whether all held. `silent_s`: how long each run that it alone
    ended went on sending."""

    fault: Fault
    held: bool
    silent_s: tuple[float, ...] = ()


@dataclass(slots=True)
class _KindRow:
    tried: dict[RunPhase, int] = field(default_factory=lambda: defaultdict(int))
    held: dict[RunPhase, int] = field(default_factory=lambda: defaultdict(int))
    silent_s: list[float] = field(default_factory=list)
    goal_s: float | None = None


def markdown(struck: Iterable[Struck]) -> Iterator[str]:
    """Its lines. A cell has how many faults were held of those that were tried."""
    rows: dict[str, _KindRow] = defaultdict(_KindRow)
    for each in struck:
        row = rows[each.fault.kind.name]
        row.tried[each.fault.phase] += 1
        row.held[each.fault.phase] += each.held
        row.silent_s += each.silent_s
        row.goal_s = each.fault.kind.ends_s
    yield _line(COLUMNS)
    yield _line("---" for _ in COLUMNS)
    for name, row in sorted(rows.items()):
        cells = [_share_text(row.held[phase], row.tried[phase]) for phase in RunPhase]
        yield _line((name, *cells, str(_broken(row)), _silence(row.silent_s), _goal(row)))
    n_tried = sum(sum(row.tried.values()) for row in rows.values())
    n_broken = sum(map(_broken, rows.values()))
    yield _line((f"all {n_tried:,}", *("" for _ in RunPhase), str(n_broken), "", ""))


def _broken(row: _KindRow) -> int:
    return sum(row.tried.values()) - sum(row.held.values())


def _share_text(held: int, tried: int) -> str:
    return f"{held} of {tried}" if tried else ""


def _silence(silent_s: list[float]) -> str:
    if not silent_s:
        return ""
    ordered, n = sorted(silent_s), len(silent_s)
    p50, p99 = (ordered[ceil(share * n) - 1] for share in (0.5, 0.99))
    return f"{p50:.1f}, {p99:.1f}, {ordered[-1]:.1f} s ({n})"


def _goal(row: _KindRow) -> str:
    return "" if row.goal_s is None else f"≤ {row.goal_s:g} s"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

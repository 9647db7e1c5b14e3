"""Figures that rules about the target's machine are judged by, such as target_cpu < 80 %."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from campaigns.domain.measured.machine import BUSY
from campaigns.domain.measured.machine_use import MachinePoint

# Of a second: numerator and denominator, which are added up over the seconds.
_Parts = tuple[float, float]


def _cpu(point: MachinePoint) -> _Parts | None:
    share = point.share(*BUSY)
    return None if share is None else (share, 1)


def _memory(point: MachinePoint) -> _Parts | None:
    used, whole = point.did.get("memory_used_bytes"), point.did.get("memory_bytes")
    return (used / whole, 1) if whole and used is not None else None


def _resent(point: MachinePoint) -> _Parts | None:
    resent, sent = point.did.get("retransmitted"), point.did.get("segments_sent")
    return None if resent is None or sent is None else (resent, sent)


_PARTS: dict[str, Callable[[MachinePoint], _Parts | None]] = {
    "target_cpu": _cpu,
    "target_memory": _memory,
    "target_resent": _resent,
}


def machine_figure(
    metric: str, machines: Mapping[str, Sequence[MachinePoint]], n_seconds: int
) -> list[tuple[int, float]]:
    """(second, % of everything told up to its end) of the machine with the highest one at last; []
    where none told it. `n_seconds`: how many were measured."""
    found = [_so_far(metric, points, n_seconds) for points in machines.values()]
    return max(filter(None, found), key=lambda each: each[-1][1], default=[])


def _so_far(metric: str, points: Sequence[MachinePoint], n_seconds: int) -> list[tuple[int, float]]:
    measured = [point for point in points if 0 <= point.second < n_seconds]
    told = [(each.second, parts) for each in measured if (parts := _PARTS[metric](each))]
    sums = accumulate((parts for _, parts in told), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    seconds = (second for second, _ in told)
    return [
        (second, 100 * part / whole)
        for second, (part, whole) in zip(seconds, sums, strict=True)
        if whole
    ]

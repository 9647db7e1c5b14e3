"""What the target's machine ran out of during a run, as its agent told it second by second.

A CPU or a link is full if it was so for some seconds in a row: a second of 100 % is ordinary.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from campaigns.domain.judged.criteria import Observed
from campaigns.domain.measured.machine_use import MachinePoint
from campaigns.domain.units import clock, count, duration

FULL_CPU, FULL_LINK = 0.98, 0.9
# With fewer requests, a single overflow would be a misleadingly large share.
_FEW_REQUESTS = 1000


def observed_machines(
    machines: Mapping[str, Sequence[MachinePoint]], attempts: int
) -> dict[str, Observed]:
    """Of the measured seconds of each machine by name: `target_cpu` and `target_link`, the longest
    time in a row in which it was full, s; `listen_overflows` as a share of the attempts."""
    found: dict[str, Observed] = {}
    for name, points in machines.items():
        place = f" on {name}" if len(machines) > 1 else ""
        for code, seen in _of_one(points, attempts, place):
            if code not in found or seen.value > found[code].value:
                found[code] = seen
    return found


def cpu_share(point: MachinePoint) -> float | None:
    """In use by the machine, or by other guests of its hypervisor: what is left can be had."""
    left = point.share("idle_s", "waiting_s")
    return None if left is None else 1 - left


def link_share(point: MachinePoint) -> float | None:
    """Of the network link in its busier direction; None where its speed is not known."""
    speed = point.did.get("link_bytes_per_s")
    told = [point.per_s(name) for name in ("received_bytes", "sent_bytes")]
    return max(told) / speed if speed and None not in told else None


def _of_one(
    points: Sequence[MachinePoint], attempts: int, place: str
) -> Iterator[tuple[str, Observed]]:
    for code, share, full in (
        ("target_cpu", cpu_share, FULL_CPU),
        ("target_link", link_share, FULL_LINK),
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

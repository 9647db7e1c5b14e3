"""What `perf stat -x ';' -I 1000` prints: lines in, the counts of sampled seconds out."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from workers.agent.machine import LONGEST_S, Interval

USER_ONLY = "user space only"
# These happen in the kernel: who may count in user space alone is told 0, which is no count.
_OF_KERNEL = {"context-switches:u", "cpu-migrations:u"}
_NS = 1_000_000_000


class PerfLine(NamedTuple):
    """`until_s`: the end of its interval, since perf began. `count` is None where `lack` says why;
    `share_percent`: of the time, how long perf had a counter for it. A count is extrapolated
    below 100."""

    until_s: float
    event: str
    count: float | None
    share_percent: float
    lack: str = ""


def line_of(text: str) -> PerfLine | None:
    """None for what is no count."""
    fields = text.strip().split(";")
    try:
        until_s, told, event, share_percent = fields[0], fields[1], fields[3], float(fields[5])
        if event in _OF_KERNEL:
            return PerfLine(float(until_s), event, None, share_percent, USER_ONLY)
        if told == "<not counted>" and share_percent == 100:  # it did not run, nothing was missed
            return PerfLine(float(until_s), event, 0.0, share_percent)
        if told.startswith("<"):
            return PerfLine(float(until_s), event, None, share_percent, told.strip("<>"))
        return PerfLine(float(until_s), event, float(told), share_percent)
    except (IndexError, ValueError):
        return None


class PerfIntervals:
    """The intervals of one perf. They end between the samples; each belongs to the sampled second
    in which its middle lies, or to none.

    `began_ns`: when perf began, by boot_ns: as the line tells it that came quickest. `is_off`:
    perf's clock has stood still since then, as in a suspend.
    """

    def __init__(self) -> None:
        self.began_ns: int | None = None
        self.is_off = False
        self._lines: dict[float, list[PerfLine]] = {}
        self._told_until_s = 0.0

    def add(self, line: PerfLine, arrived_ns: int) -> None:
        began_ns = arrived_ns - round(line.until_s * _NS)
        self.began_ns = min(began_ns, self.began_ns or began_ns)
        self.is_off |= began_ns - self.began_ns > LONGEST_S * _NS
        self._lines.setdefault(line.until_s, []).append(line)

    def take(self, seen: Interval) -> dict[str, Any] | None:
        """What was counted in this second: {"lasted_s", "counts": {event: [count, % of the time]},
        "lacks": {event: why}}. None where nothing was. To be called second by second."""
        half_ns = round(seen.lasted_s * _NS / 2)
        inside = []
        for until_s in sorted(self._lines):
            lasted_s = until_s - self._told_until_s
            middle_ns = self.began_ns + round((until_s - lasted_s / 2) * _NS)
            if middle_ns >= seen.middle_ns + half_ns:
                break
            self._told_until_s = until_s
            lines = self._lines.pop(until_s)
            if middle_ns >= seen.middle_ns - half_ns and 0 < lasted_s <= LONGEST_S:
                inside.append((lasted_s, lines))
        return _together(inside) if inside else None


def _together(intervals: Iterable[tuple[float, list[PerfLine]]]) -> dict[str, Any]:
    whole_s = sum(lasted_s for lasted_s, _ in intervals)
    counts: dict[str, list[float]] = {}
    lacks: dict[str, str] = {}
    for lasted_s, lines in intervals:
        for line in lines:
            if line.count is None:
                lacks[line.event] = line.lack
            else:
                count, share_percent = counts.get(line.event, (0.0, 0.0))
                share_percent += line.share_percent * lasted_s / whole_s
                counts[line.event] = [round(count + line.count, 3), round(share_percent, 2)]
    whole = {event: each for event, each in counts.items() if event not in lacks}
    return {"lasted_s": round(whole_s, 6), "counts": whole, "lacks": lacks}

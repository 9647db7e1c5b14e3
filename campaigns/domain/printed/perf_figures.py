"""What follows from two counters of `perf stat`: shown only where both were counted."""

from collections.abc import Iterable, Iterator

from campaigns.domain.printed.output import PrintedValue
from campaigns.domain.printed.perf_stat import ELAPSED

IPC = "instructions per cycle"
# (name, unit, counter above, counter below, factor). Clocks are in ms, the time elapsed in s.
_RATIOS = (
    ("CPUs utilized", "", "task-clock", ELAPSED, 1e-3),
    ("clock rate", "GHz", "cycles", "task-clock", 1e-6),
    (IPC, "", "instructions", "cycles", 1),
    ("misses per 1,000 branches", "", "branch-misses", "branches", 1e3),
    ("misses per 1,000 cache references", "", "cache-misses", "cache-references", 1e3),
    ("context switches per CPU second", "", "context-switches", "task-clock", 1e3),
)
# Counted by software, whichever privilege a modifier such as :u chooses.
_OF_ALL = (ELAPSED, "task-clock")


def perf_figures(values: Iterable[PrintedValue]) -> Iterator[PrintedValue]:
    """Both counters have the same modifier, so that user cycles do not meet all instructions, and
    were counted in as many intervals."""
    counted = {each.name: each for each in reversed([*values])}
    for modifier in sorted({name.partition(":")[2] for name in counted}):
        for name, unit, above, below, factor in _RATIOS:
            high = counted.get(_with(above, modifier, counted))
            low = counted.get(_with(below, modifier, counted))
            if (modifier == "" or _named(above, modifier) in counted) and _go_together(high, low):
                suffix = f":{modifier}" if modifier else ""
                yield PrintedValue(f"{name}{suffix}", factor * high.value / low.value, unit)


def _go_together(high: PrintedValue | None, low: PrintedValue | None) -> bool:
    is_known = high is not None and low is not None and high.value is not None and low.value
    return bool(is_known) and high.why == low.why


def _named(name: str, modifier: str) -> str:
    return f"{name}:{modifier}" if modifier else name


def _with(name: str, modifier: str, counted: dict) -> str:
    exact = _named(name, modifier)
    return name if name in _OF_ALL and exact not in counted else exact

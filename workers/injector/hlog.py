"""A run as an HdrHistogram log, which the tools around HdrHistogram read: `--hlog`.

One line for each second and timing, tagged with the timing's name. Values are microseconds; start
times count from the start of measuring; the warm-up is left out.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from campaigns.domain.metrics.snapshot import TIMINGS, Total
from workers.injector.summary import LocalRun

_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'


def hlog_lines(run: LocalRun) -> Iterator[str]:
    """The log in format 1.3 with histograms of the V2 encoding."""
    start = run.started_at
    words = datetime.fromtimestamp(start, UTC).isoformat(timespec="milliseconds")
    yield "#[Histogram log format version 1.3]"
    yield "#[Values are microseconds, tags are timings]"
    yield f"#[StartTime: {start:.3f} (seconds since epoch), {words}]"
    yield f"#[BaseTime: {start:.3f} (seconds since epoch)]"
    yield _LEGEND
    for number, total in sorted(_by_second(run).items()):
        yield from _second_lines(number, total)


def _by_second(run: LocalRun) -> dict[int, Total]:
    """All injectors and steps of a second merged."""
    seconds: dict[int, Total] = {}
    for second in run.seconds:
        if second.second >= 0:
            seconds.setdefault(second.second, Total()).add(second)
    return seconds


def _second_lines(number: int, total: Total) -> Iterator[str]:
    for name in TIMINGS:
        timing = total.timing(name)
        if timing.n:
            payload = timing.histogram.encode()
            yield f"Tag={name},{number}.000,1.000,{timing.max_us}.000,{payload}"

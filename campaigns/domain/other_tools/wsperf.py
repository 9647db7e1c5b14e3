"""wsperf's table of handshakes; beside its opening handshake the other phases of a connection.

wsperf prints the opening handshake only, although its title speaks of closing too, takes failed
connections in, and prints the maximum as q99.99 where there are too few for it.
"""

from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.other_tools.report_words import (
    DASH,
    ReportHead,
    clock_lines,
    closing_lines,
    load_lines,
    ms,
    percent_of,
    quantile,
)
from campaigns.domain.units import counted

# A kind of request that is no WebSocket has the columns that it has.
_PHASES = (
    ("TCP", "connect"),
    ("TLS", "tls"),
    ("opening", "handshake"),
    ("messages", "exchange"),
    ("closing", "close"),
    ("whole", "service"),
)
_QUANTILES = {
    "q90": 90_000, "q95": 95_000, "q99": 99_000, "q99.9": 99_900, "q99.99": 99_990,
}  # fmt: skip
_NAME, _WIDTH = 18, 11


def wsperf(result: Measurement, head: ReportHead) -> str:
    phases = [(title, result.total.timing(name)) for title, name in _PHASES]
    timed = [(title, timing) for title, timing in phases if timing.n]
    # (name, how a timing says it), in wsperf's order.
    lines = [
        *_counts(result),
        "",
        *load_lines(result),
        *clock_lines(result),
        *_marks(result),
        "whole: from the actual start to the end of the connection.",
        f"{'ms, of successes':>{_NAME}}" + "".join(f"{title:>{_WIDTH}}" for title, _ in timed),
        *(
            (
                f"{name + ':':>{_NAME}}"
                + "".join(f"{cell:>{_WIDTH}}" for cell in [text(timing) for _, timing in timed])
            )
            for name, text in [
                ("Min", lambda timing: ms(timing.min_us)),
                ("SD", lambda timing: ms(timing.sd_us)),
                ("Avg", lambda timing: ms(timing.mean_us)),
                ("Median", lambda timing: quantile(timing, 50_000)),
                *((name, _at(rank)) for name, rank in _QUANTILES.items()),
                ("Max", lambda timing: ms(timing.max_us)),
            ]
        ),
    ]
    return "\n".join([*lines, *closing_lines(result, head)])


def _counts(result: Measurement) -> list[str]:
    total, duration_s = result.total, result.duration_s
    success, fail = total.count("ok"), total.count("failed")
    ended = success + fail
    per_s = f"{total.in_time('ok') / duration_s:.0f}" if duration_s else DASH
    share = percent_of(fail, ended)
    title = "Aggregate results"
    if result.plan.exchange is not None:
        title += " (WebSocket Opening+Closing Handshake)"
    return [
        title,
        "",
        f"{'Duration:':>{_NAME}} {duration_s:9.1f} s",
        f"{'Total:':>{_NAME}} {ended:9d}",
        f"{'Success:':>{_NAME}} {success:9d}",
        f"{'Fail:':>{_NAME}} {fail:9d}",
        f"{'Fail %:':>{_NAME}} {share:>9}",
        f"{'Handshakes/sec:':>{_NAME}} {per_s:>9}",
    ]


def _marks(result: Measurement) -> list[str]:
    load, total = result.plan.load, result.total
    if load.low is None:
        return []
    throttled, resumed = total.count("window_throttled"), total.count("window_resumed")
    return [
        f"Marks per injector process: {load.low} and {load.high}; "
        f"reached the high one {counted(throttled, 'times')}, "
        f"refilled {counted(resumed, 'times')}.",
        "",
    ]


def _at(rank: int):
    def text(timing: Timing) -> str:
        return quantile(timing, rank)

    return text

"""The columns of JMeter's Aggregate Report and Summary Report, a row for each step, below its flow
where there are flows, and a total.

JMeter counts failed samples in every time and takes the deviation of the whole population; here
times are of ok requests, percentiles nearest rank, the deviation that of a sample (n - 1).
"""

from campaigns.domain.metrics.measurement import Measurement, parts_of
from campaigns.domain.metrics.snapshot import Total
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

_HEADS = (
    "# Samples", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Max",
    "Std. Dev.", "Error %", "Thr./sec", "Recv KiB/s", "Sent KiB/s", "Avg. Bytes",
)  # fmt: skip
_LABEL_WIDTH, _WIDTH = 24, 11


def jmeter(result: Measurement, head: ReportHead) -> str:
    below = "  " if result.plan.flows else ""
    rows = [(below * (each.kind == "step") + each.label, each.total) for each in parts_of(result)]
    lines = [
        *load_lines(result),
        *clock_lines(result),
        "",
        "Times below in ms, from the actual start to the last byte, of ok requests.",
        f"{'Label':<{_LABEL_WIDTH}}" + "".join(f"{head:>{_WIDTH}}" for head in _HEADS),
        *(_row(label, total, result.duration_s) for label, total in rows),
        _row("TOTAL", result.total, result.duration_s),
    ]
    return "\n".join([*lines, *closing_lines(result, head)])


def _row(label: str, total: Total, duration_s: float) -> str:
    elapsed = total.timing("service")
    ended = total.count("ok") + total.count("failed")
    ranks = (50_000, 90_000, 95_000, 99_000)
    times = [
        ms(elapsed.mean_us),
        *(quantile(elapsed, rank) for rank in ranks),
        ms(elapsed.min_us),
        ms(elapsed.max_us),
        ms(elapsed.sd_us),
    ]
    cells = [str(ended), *times, percent_of(total.count("failed"), ended)]
    cells += [_per_s(total.in_time("ok") + total.in_time("failed"), duration_s)]
    cells += [
        _per_s(total.in_time(name) / 1024, duration_s) for name in ("bytes_received", "bytes_sent")
    ]
    cells.append(f"{total.count('bytes_received') / ended:.1f}" if ended else DASH)
    name = label if len(label) < _LABEL_WIDTH else f"{label[: _LABEL_WIDTH - 2]}…"
    return f"{name:<{_LABEL_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)


def _per_s(amount: float, duration_s: float) -> str:
    return f"{amount / duration_s:.2f}" if duration_s else DASH

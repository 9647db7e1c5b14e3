"""Reports for the terminal: plain, in httperf's six groups, with ab's percentile table.

Figures that those tools define in a way that cannot be right are left out, and the report says so.
"""

from collections.abc import Callable
from typing import Any

from campaigns.domain.outcomes import TIMEOUT_KINDS, WORDS, Kind
from campaigns.domain.snapshot import PARTS, Timing, Total
from workers.injector.summary import Result

_AB_RANKS = (50, 66, 75, 80, 90, 95, 98, 99)


def plain(order: dict[str, Any], result: Result) -> str:
    """What was sent, how fast it was answered, where the time went, what went wrong."""
    total, duration_s = result.total, result.duration_s
    n_ok, n_failed = total.count("ok"), total.count("failed")
    lines = [
        f"{n_ok + n_failed:,} requests in {duration_s:.2f} s: {n_ok:,} ok, {n_failed:,} failed",
        f"{_rate(n_ok, duration_s)} ok/s",
        "",
        f"{'ms':<10}{'n':>10}{'mean':>10}{'min':>10}{'p50':>10}{'p90':>10}{'p95':>10}"
        f"{'p99':>10}{'max':>10}",
    ]
    for name in ("response", "service", "lateness", *PARTS, "failed"):
        if total.timing(name).n:
            lines.append(_plain_row(name, total.timing(name)))
    lines += ["", *_error_lines(total)] if total.errors else []
    return "\n".join([*lines, *_closing_lines(result)])


def _plain_row(name: str, timing: Timing) -> str:
    figures = [timing.mean_us, timing.min_us]
    figures += [timing.percentile_us(rank) for rank in (50_000, 90_000, 95_000, 99_000)]
    cells = "".join(f"{us / 1000:>10.3f}" for us in [*figures, timing.max_us])
    return f"{name:<10}{timing.n:>10,d}{cells}"


def _error_lines(total: Total) -> list[str]:
    ordered = sorted(total.errors.items(), key=lambda item: -item[1])
    return [f"{count:>10,d}  {kind}: {WORDS[Kind(kind)]}" for kind, count in ordered]


def _closing_lines(result: Result) -> list[str]:
    validity, reasons = result.verdict
    verdict = ["", f"Validity: {validity}", *(f"  {reason['text']}" for reason in reasons)]
    return [*_threshold_lines(result), *verdict]


def _threshold_lines(result: Result) -> list[str]:
    lines = ["", "Thresholds:"] if result.thresholds else []
    for each in result.thresholds:
        measured = "nothing measured" if each.measured is None else f"{each.measured:.4g}"
        since = "" if each.since is None else f", since second {each.since}"
        state = "passed" if each.passed else "FAILED"
        lines.append(f"  {state}  {each.rule}: {measured} {each.unit}".rstrip() + since)
    return lines


def _rate(count: int, duration_s: float) -> str:
    return f"{count / duration_s:,.1f}" if duration_s else "–"


def httperf(order: dict[str, Any], result: Result) -> str:
    """httperf's six groups. Its connection lifetimes count only survivors: left out."""
    total, duration_s = result.total, result.duration_s
    groups = [
        _httperf_total(total, duration_s),
        _httperf_connections(total, duration_s),
        _httperf_requests(order, total, duration_s),
        _httperf_replies(result, total),
        _httperf_miscellaneous(result, total, duration_s),
        _httperf_errors(total),
    ]
    note = "Connection time [ms] min, avg, max, median is left out: it would hide the failed ones."
    lines = ["\n".join([*group, ""]) for group in groups]
    return "\n".join([*lines, note, *_closing_lines(result)])


def _mean_ms(timing: Timing) -> str:
    return f"{timing.mean_us / 1000:.3f}" if timing.n else "–"


def _httperf_total(total: Total, duration_s: float) -> list[str]:
    return [
        f"Total: connections {total.count('connections_opened')} "
        f"requests {total.count('started') - total.count('dropped')} "
        f"replies {sum(total.statuses.values())} test-duration {duration_s:.3f} s"
    ]


def _httperf_connections(total: Total, duration_s: float) -> list[str]:
    opened = total.count("connections_opened")
    period = f"{duration_s * 1000 / opened:.1f}" if opened else "–"
    return [
        f"Connection rate: {_rate(opened, duration_s)} conn/s ({period} ms/conn)",
        f"Connection time [ms]: connect {_mean_ms(total.timing('connect'))} "
        f"(TCP) tls {_mean_ms(total.timing('tls'))}",
    ]


def _httperf_requests(order: dict[str, Any], total: Total, duration_s: float) -> list[str]:
    sent = total.count("started") - total.count("dropped")
    ended = total.count("ok") + total.count("failed")
    period = f"{duration_s * 1000 / sent:.1f}" if sent else "–"
    size = f"{total.count('bytes_sent') / ended:.1f}" if ended else "–"
    return [
        f"Request rate: {_rate(sent, duration_s)} req/s ({period} ms/req)",
        f"Request size [B]: {size}",
    ]


def _httperf_replies(result: Result, total: Total) -> list[str]:
    classes = [
        sum(count for status, count in total.statuses.items() if status[0] == digit)
        for digit in "12345"
    ]
    replies = sum(classes)
    size = f"{total.count('bytes_received') / replies:.1f}" if replies else "–"
    return [
        _reply_rate_line(result),
        f"Reply time [ms]: response {_mean_ms(total.timing('wait'))} "
        f"transfer {_mean_ms(total.timing('receive'))}",
        f"Reply size [B]: header, content and footer {size} (total)",
        "Reply status: " + " ".join(f"{n + 1}xx={count}" for n, count in enumerate(classes)),
    ]


def _reply_rate_line(result: Result) -> str:
    """Whole seconds as samples, where httperf takes five of them as one."""
    per_second: dict[int, int] = {}
    for second in result.seconds:
        if 0 <= second.second < int(result.duration_s):
            replies = sum(second.statuses.values())
            per_second[second.second] = per_second.get(second.second, 0) + replies
    samples = list(per_second.values())
    if not samples:
        return "Reply rate [replies/s]: no whole second (0 samples)"
    mean = sum(samples) / len(samples)
    n_free = len(samples) - 1
    deviation = (sum((each - mean) ** 2 for each in samples) / n_free) ** 0.5 if n_free else None
    stddev = f"{deviation:.1f}" if deviation is not None else "–"
    return (
        f"Reply rate [replies/s]: min {min(samples)} avg {mean:.1f} max {max(samples)} "
        f"stddev {stddev} ({len(samples)} samples of 1 s)"
    )


def _httperf_miscellaneous(result: Result, total: Total, duration_s: float) -> list[str]:
    size = total.count("bytes_sent") + total.count("bytes_received")
    share = f"{result.cpu_us / 1e4 / duration_s:.1f}" if duration_s else "–"
    speed = f"{size / 1024 / duration_s:.1f} KiB/s ({size * 8e-6 / duration_s:.3f} Mbit/s)"
    return [
        f"CPU time [s]: user + system {result.cpu_us / 1e6:.2f} ({share} % of one core)",
        f"Net I/O: {speed if duration_s else '–'}",
    ]


def _httperf_errors(total: Total) -> list[str]:
    count = total.errors.get
    timeouts = sum(count(kind, 0) for kind in TIMEOUT_KINDS)
    fd_unavailable, ports = count("client_fd_exhausted", 0), count("client_ports", 0)
    refused, resets = count("connect_refused", 0), count("reset", 0)
    table_full = count("client_file_table", 0)
    named = timeouts + refused + resets + fd_unavailable + ports + table_full
    return [
        f"Errors: total {total.count('failed')} client-timo {timeouts} connrefused {refused} "
        f"connreset {resets}",
        f"Errors: fd-unavail {fd_unavailable} addrunavail {ports} ftab-full {table_full} "
        f"other {total.count('failed') - named}",
    ]


def ab(order: dict[str, Any], result: Result) -> str:
    """ab's lines and its percentile table, by nearest rank, of the requests that were ok."""
    total, duration_s = result.total, result.duration_s
    response = total.timing("response")
    done = total.count("ok") + total.count("failed")
    lines = [
        f"Concurrency Level:      {order['plan']['load'].get('connections') or '–'}",
        f"Time taken for tests:   {duration_s:.3f} seconds",
        f"Complete requests:      {done}",
        f"Failed requests:        {total.count('failed')}",
        f"Total transferred:      {total.count('bytes_received')} bytes",
        f"Requests per second:    {_rate(done, duration_s)} [#/sec] (mean, failed ones included)",
        "",
        "Connection Times (ms)",
        f"{'':<14}{'min':>9}{'mean':>9}{'[+/-sd]':>9}{'median':>9}{'max':>9}",
    ]
    titles = {"connect": "Connect TCP", "tls": "Connect TLS", "wait": "Waiting"}
    for name, title in {**titles, "response": "Total"}.items():
        if total.timing(name).n:
            lines.append(_ab_row(title, total.timing(name)))
    if response.n:
        lines += ["", "Percentage of the requests served within a certain time (ms)"]
        lines += [f"{q:>5}% {response.percentile_us(q * 1000) / 1000:>9.3f}" for q in _AB_RANKS]
        lines.append(f"  100% {response.max_us / 1000:>9.3f} (longest request)")
    lines += ["", "Processing is left out: its moments are not measured apart from its parts."]
    return "\n".join([*lines, *_closing_lines(result)])


def _ab_row(title: str, timing: Timing) -> str:
    figures = (
        timing.min_us, timing.mean_us, timing.sd_us, timing.percentile_us(50_000), timing.max_us
    )  # fmt: skip
    cells = "".join(f"{'–':>9}" if us is None else f"{us / 1000:>9.3f}" for us in figures)
    return f"{title + ':':<14}{cells}"


REPORTS: dict[str, Callable[[dict[str, Any], Result], str]] = {
    "ab": ab,
    "httperf": httperf,
    "plain": plain,
}

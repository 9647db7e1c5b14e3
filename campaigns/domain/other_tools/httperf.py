"""The report in httperf's groups: total, connections, requests, replies, miscellaneous, errors, and
sessions where there are any.

Names and order are httperf's. Where its definition hides something, ours differs and the line says
so: lifetimes are of all connections, rates are listed with their whole-run value.
"""

from collections.abc import Mapping

from campaigns.domain.metrics.injector_end import most_of, sum_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import TIMEOUT_KINDS
from campaigns.domain.metrics.reply_sizes import reply_sizes
from campaigns.domain.metrics.sessions import session_figures
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.other_tools.report_words import (
    DASH,
    ReportHead,
    clock_lines,
    closing_lines,
    load_lines,
    merged,
    ms,
    per_s,
    tenths,
)
from campaigns.domain.plan.plan import ConnectionMode

SAMPLE_S = 5
# Longer sessions are counted only by their first two digits, and are in --json.
_MOST_LENGTHS = 99


def httperf(result: Measurement, head: ReportHead) -> str:
    total = result.total
    groups = [
        _total(result),
        _connections(result, head),
        _requests(result),
        _replies(result),
        _miscellaneous(result),
        _errors(total),
        *_session_group(result),
    ]
    lines = ["\n".join([*group, ""]) for group in groups]
    clocks = ["Connection times above are from the actual start.", *clock_lines(result)]
    return "\n".join([*lines, *load_lines(result), *clocks, *closing_lines(result, head)[1:]])


def _sent(total: Total) -> int:
    return total.count("started") - total.count("dropped")


def _replies_of(total: Total) -> int:
    return sum(total.statuses.values())


def _between_ms(per_s: float | None) -> str:
    return f"{1000 / per_s:.1f}" if per_s else DASH


def _total(result: Measurement) -> list[str]:
    total, duration_s = result.total, result.duration_s
    burst = most_of(result.ends, "connect_burst")
    longest = [] if burst is None else [f"Maximum connect burst length: {burst}"]
    return [
        *longest,
        f"Total: connections {total.count('connections_opened')} requests {_sent(total)} "
        f"replies {_replies_of(total)} test-duration {duration_s:.3f} s",
    ]


def _connections(result: Measurement, head: ReportHead) -> list[str]:
    total = result.total
    opened = total.count("connections_opened")
    between = _between_ms(total.per_s("connections_opened", result.duration_s))
    mean = tenths(result.mean_in_flight)
    most = sum_of(result.ends, "connections_at_once")
    at_once = "" if most is None else f", <={most} concurrent connections"
    length = f"{_replies_of(total) / opened:.3f}" if opened else DASH
    tcp_us, tls_us = total.timing("connect").mean_us, total.timing("tls").mean_us
    # httperf's connect ends after the TLS handshake.
    connect_us = None if tcp_us is None else tcp_us + (tls_us or 0)
    return [
        f"Connection rate: {per_s(result, 'connections_opened')} conn/s ({between} ms/conn"
        f"{at_once}), {mean} requests in flight on average",
        _lifetimes(result, head),
        f"Connection time [ms]: connect {ms(connect_us)} (TCP {ms(tcp_us)} + TLS {ms(tls_us)})",
        f"Connection length [replies/conn]: {length}",
    ]


def _lifetimes(result: Measurement, head: ReportHead) -> str:
    """httperf counts only connections with a reply; here failed ones count too."""
    total = result.total
    load = result.plan.load
    # With one request each, a connection's lifetime is its request's time.
    if load.counts_connections:
        has_one_each = result.plan.calls_per_arrival == 1
    else:
        has_one_each = head.connection_mode != ConnectionMode.KEEP_ALIVE
    if not has_one_each:
        return "Connection time [ms]: not measured, connections are reused for many requests"
    lives = merged(total.timing("service"), total.timing("failed"))
    return (
        f"Connection time [ms]: min {ms(lives.min_us)} avg {ms(lives.mean_us)} "
        f"max {ms(lives.max_us)} median {ms(lives.percentile_us(50_000))} "
        f"stddev {ms(lives.sd_us)} (failed ones included)"
    )


def _requests(result: Measurement) -> list[str]:
    total, sent_per_s = result.total, result.sent_per_s
    ended = total.count("ok") + total.count("failed")
    size = f"{total.count('bytes_sent') / ended:.1f}" if ended else DASH
    return [
        f"Request rate: {tenths(sent_per_s)} req/s ({_between_ms(sent_per_s)} ms/req)",
        f"Request size [B]: {size}",
    ]


def _replies(result: Measurement) -> list[str]:
    total = result.total
    classes = [
        sum(count for status, count in total.statuses.items() if status[0] == digit)
        for digit in "12345"
    ]
    send, wait, receive = (total.timing(part).mean_us for part in ("send", "wait", "receive"))
    # From the first byte sent to the first byte received.
    response_us = None if send is None or wait is None else send + wait
    samples = rate_samples(result, result.by_second("replies"))
    in_time = _replies_of(total) - total.count("late_replies")
    return [
        f"Reply rate [replies/s]: {_sampled(samples, 1)} ({len(samples)} samples of {SAMPLE_S} s), "
        f"whole run {tenths(in_time / result.duration_s if result.duration_s else None)}",
        f"Reply time [ms]: response {ms(response_us)} transfer {ms(receive)}",
        _reply_size(total),
        "Reply status: " + " ".join(f"{n + 1}xx={count}" for n, count in enumerate(classes)),
    ]


def _reply_size(total: Total) -> str:
    """Sizes of ok replies; the footer is chunk framing. Older measurements have only the sum."""
    sizes = reply_sizes(total)
    if sizes is not None:
        return (
            f"Reply size [B]: header {sizes.head:.1f} content {sizes.body:.1f} "
            f"footer {sizes.framing:.1f} (total {sizes.whole:.1f})"
        )
    replies = _replies_of(total)
    whole = f"{total.count('bytes_received') / replies:.1f}" if replies else DASH
    return f"Reply size [B]: header, content and footer (total {whole})"


def rate_samples(result: Measurement, counts: Mapping[int, int]) -> list[float]:
    """Rates over each complete five seconds, from counts by second; an incomplete rest is
    dropped.
    """
    per_sample = [0] * int(result.duration_s // SAMPLE_S)
    for second, count in counts.items():
        index = second // SAMPLE_S
        if 0 <= index < len(per_sample):
            per_sample[index] += count
    return [each / SAMPLE_S for each in per_sample]


def _sampled(samples: list[float], decimals: int) -> str:
    timing = Timing.of([round(each * 1e6) for each in samples])
    low, mean, high, deviation = (
        DASH if value is None else f"{value / 1e6:.{decimals}f}"
        for value in (timing.min_us, timing.mean_us, timing.max_us, timing.sd_us)
    )
    return f"min {low} avg {mean} max {high} stddev {deviation}"


def _session_group(result: Measurement) -> list[list[str]]:
    """httperf's group of --wsess, where sessions arrived; its histogram counts failed ones too."""
    total = result.total
    seen = session_figures(total, result.duration_s)
    if seen is None:
        return []
    samples = rate_samples(result, result.by_second("sessions"))
    each = DASH if seen.connections_each is None else f"{seen.connections_each:.2f}"
    whole = DASH if seen.rate_per_s is None else f"{seen.rate_per_s:.2f}"
    most = min(max(seen.lengths, default=0), _MOST_LENGTHS)
    lengths = " ".join(str(seen.lengths.get(n, 0)) for n in range(most + 1))
    return [
        [
            f"Session rate [sess/s]: {_sampled(samples, 2)} ({seen.ok}/{seen.started}), "
            f"whole run {whole}",
            f"Session: avg {each} connections/session",
            f"Session lifetime [s]: {_mean_s(total, 'session')}",
            f"Session failtime [s]: {_mean_s(total, 'session_failed')}",
            f"Session length histogram: {lengths}",
        ]
    ]


def _mean_s(total: Total, name: str) -> str:
    mean_us = total.timing(name).mean_us
    return DASH if mean_us is None else f"{mean_us / 1e6:.3f}"


def _miscellaneous(result: Measurement) -> list[str]:
    total, duration_s = result.total, result.duration_s
    size = total.in_time("bytes_sent") + total.in_time("bytes_received")
    speed = f"{size / 1024 / duration_s:.1f}" if duration_s else DASH
    bits = f"{size * 8e-6 / duration_s:.3f}" if duration_s else DASH
    return [_cpu_time(result), f"Net I/O: {speed} KiB/s ({bits}*10^6 bps), without TLS and TCP"]


def _cpu_time(result: Measurement) -> str:
    """All injectors' CPU as shares of one core. httperf uses 100 %; ours sleeps between replies."""
    total_us, user_us = (sum_of(result.ends, name) for name in ("cpu_us", "cpu_user_us"))
    if total_us is None or not result.duration_s:
        return f"CPU time [s]: {DASH}"

    def seconds(us: int) -> str:
        return f"{us / 1e6:.2f}"

    def share(us: int) -> str:
        return f"{us / 1e4 / result.duration_s:.1f} %"

    if user_us is None:
        return f"CPU time [s]: user + system {seconds(total_us)} ({share(total_us)} of one core)"
    system_us = total_us - user_us
    return (
        f"CPU time [s]: user {seconds(user_us)} system {seconds(system_us)} (user "
        f"{share(user_us)} system {share(system_us)} total {share(total_us)} of one core)"
    )


def _errors(total: Total) -> list[str]:
    """socket-timo: TCP itself gave up (ETIMEDOUT). client-timo: a limit of the plan was over."""
    count = total.errors.get
    timeouts = sum(count(kind, 0) for kind in TIMEOUT_KINDS)
    by_kernel = total.count("socket_timeouts")
    fd_unavailable, ports = count("client_fd_exhausted", 0), count("client_ports", 0)
    refused, resets = count("connect_refused", 0), count("reset", 0)
    table_full = count("client_file_table", 0)
    named = timeouts + refused + resets + fd_unavailable + ports + table_full
    # Which limit was over; httperf has one --timeout for all of them.
    phases = {
        "connecting": count("connect_timeout", 0) - by_kernel,
        "TLS": count("tls_timeout", 0),
        "sending": count("write_timeout", 0),
        "first byte": count("first_byte_timeout", 0),
        "rest of the reply": count("body_timeout", 0),
        "WebSocket close": count("ws_close_timeout", 0),
    }
    limits = [f"{phase} {number}" for phase, number in phases.items() if number]
    return [
        f"Errors: total {total.count('failed')} client-timo {timeouts - by_kernel} "
        f"socket-timo {by_kernel} connrefused {refused} connreset {resets}",
        f"Errors: fd-unavail {fd_unavailable} addrunavail {ports} ftab-full {table_full} "
        f"other {total.count('failed') - named}",
        *([f"Client timeouts: {', '.join(limits)}"] if limits else []),
    ]

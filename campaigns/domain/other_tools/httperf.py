"""The report in httperf's groups: total, connections, requests, replies, miscellaneous, errors, and
sessions where there are any.

Lines, order and definitions are httperf's (its manual, and 0.9.0's source). A line that differs has
a mark, and a footnote below the groups. Our own figures follow after them.
"""

from collections.abc import Mapping

from campaigns.domain.metrics.injector_end import most_of, sum_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import TIMEOUT_KINDS, WORDS, Kind
from campaigns.domain.metrics.snapshot import Timing, Total, session_figures
from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.other_tools.report_words import (
    DASH,
    Footnotes,
    ReportHead,
    clock_lines,
    closing_lines,
    load_lines,
    ms,
    tail_note,
    tenths,
)
from campaigns.domain.plan.plan import ConnectionMode

SAMPLE_S = 5
# Longer sessions are counted only by their first two digits, and are in --json.
_MOST_LENGTHS = 99
_CONNECTING = (Kind.CONNECT_REFUSED, Kind.CONNECT_TIMEOUT, Kind.CONNECT_UNREACHABLE)
# EPIPE, ECONNRESET, or the end of input before a reply is whole.
_RESETS = (Kind.RESET, Kind.EOF_BEFORE_REPLY, Kind.EOF_MID_BODY, Kind.WRITE_ERROR)
_OF_OK = "of ok requests; httperf's is of all replies"


def httperf(result: Measurement, head: ReportHead) -> str:
    notes = Footnotes()
    groups = [
        _total(result, head, notes),
        _connections(result, head, notes),
        _requests(result, notes),
        _replies(result, notes),
        _miscellaneous(result, notes),
        _errors(result, notes),
        *_session_group(result),
    ]
    lines = [line for group in groups for line in (*group, "")]
    if any(DASH in line for line in lines):
        notes.mark(f"{DASH}: nothing was measured. httperf prints 0.0.")
    own = [
        *_own_lines(result),
        *load_lines(result),
        "Connection times above are from the actual start.",
        *clock_lines(result),
        *closing_lines(result, head)[1:],
    ]
    return "\n".join([*lines, *notes.lines(), *own])


def _n_begun(total: Total) -> int:
    return total.count("connections_opened") + sum(
        total.errors.get(kind, 0) for kind in _CONNECTING
    )


def _n_requests(total: Total) -> int:
    return total.count("started") - total.count("dropped") - total.count("unsent")


def _replies_of(total: Total) -> int:
    return sum(total.statuses.values())


def _rate(count: int, duration_s: float, noun: str) -> str:
    """Per second, and the time between two."""
    rate = tenths(count / duration_s if duration_s else None)
    between_ms = f"{1000 * duration_s / count:.1f}" if count and duration_s else DASH
    return f"{rate} {noun}/s ({between_ms} ms/{noun}"


def _total(result: Measurement, head: ReportHead, notes: Footnotes) -> list[str]:
    total = result.total
    burst = most_of(result.ends, "connect_burst")
    longest = [] if burst is None else [f"Maximum connect burst length: {burst}", ""]
    cut_short = total.errors.get(Kind.EOF_MID_BODY, 0)
    differs = f"without {cut_short:,} that ended early; httperf takes these for replies"
    equivalent = next((each for each in equivalents(result.plan) if each.tool == "httperf"), None)
    if equivalent is None or not equivalent.command:
        why = equivalent.words if equivalent else "It has no HTTP/2."
        mark = notes.mark(f"No command of httperf does what this plan does. {why}")
        command = f"httperf{mark}"
    else:
        command = equivalent.command.replace("HOST", head.host, 1)
        command = command.replace("PORT", str(head.port), 1)
        command += " --ssl" if any(end.tls for end in result.ends) else ""
    return [
        command,
        *longest,
        f"Total: connections {_n_begun(total)} requests {_n_requests(total)} replies "
        f"{_replies_of(total)} test-duration {result.duration_s:.3f} s"
        f"{notes.mark(tail_note(result))}{notes.mark(differs if cut_short else '')}",
    ]


def _connections(result: Measurement, head: ReportHead, notes: Footnotes) -> list[str]:
    total = result.total
    most = sum_of(result.ends, "connections_at_once")
    at_once = "" if most is None else f", <={most} concurrent connections"
    rate = _rate(_n_begun(total), result.duration_s, "conn")
    # With one request in each connection its lifetime is its request's time.
    has_one_each = (
        result.plan.calls_per_arrival == 1
        if result.plan.load.counts_connections
        else head.connection_mode != ConnectionMode.KEEP_ALIVE
    )
    replies, n_opened = _replies_of(total), total.count("connections_opened")
    with_reply = replies if has_one_each else n_opened
    length = f"{replies / with_reply:.3f}" if with_reply else DASH
    of_all = "of all opened connections; httperf's are those with a reply"
    has_unanswered = not has_one_each and total.count("failed")
    tcp_us, tls_us = total.timing("connect").mean_us, total.timing("tls").mean_us
    # httperf's connect ends after the TLS handshake.
    connect_us = None if tcp_us is None else tcp_us + (tls_us or 0)
    parts = f"TCP {ms(tcp_us)} + TLS {ms(tls_us)}" if tls_us else ""
    of_ok = "of ok requests; httperf's is of all that connected" if total.count("failed") else ""
    opened_only = "at once: opened ones; httperf counts those that are refused too"
    opened_only = opened_only if n_opened < _n_begun(total) and most is not None else ""
    return [
        f"Connection rate: {rate}{at_once}){notes.mark(tail_note(result))}"
        f"{notes.mark(opened_only)}",
        _lifetimes(result, notes, has_one_each=has_one_each),
        f"Connection time [ms]: connect {ms(connect_us)}"
        f"{notes.mark('; '.join(filter(None, (parts, of_ok))))}",
        f"Connection length [replies/conn]: {length}{notes.mark(of_all if has_unanswered else '')}",
    ]


def _lifetimes(result: Measurement, notes: Footnotes, *, has_one_each: bool) -> str:
    """Of connections with a reply, whatever its status."""
    total, lives, why = result.total, Timing(), ""
    if has_one_each:
        lives = Timing.together((total.timing("service"), total.timing("failed_reply")))
    else:
        why = "not measured, connections are reused for many requests"
    return (
        f"Connection time [ms]: min {ms(lives.min_us)} avg {ms(lives.mean_us)} "
        f"max {ms(lives.max_us)} median {ms(lives.percentile_us(50_000))} "
        f"stddev {ms(lives.sd_us)}{notes.mark(why)}"
    )


def _requests(result: Measurement, notes: Footnotes) -> list[str]:
    n_sent = _n_requests(result.total)
    size = f"{result.total.count('bytes_sent') / n_sent:.1f}" if n_sent else DASH
    return [
        f"Request rate: {_rate(n_sent, result.duration_s, 'req')}){notes.mark(tail_note(result))}",
        f"Request size [B]: {size}",
    ]


def _replies(result: Measurement, notes: Footnotes) -> list[str]:
    total = result.total
    classes = [
        sum(count for status, count in total.statuses.items() if status[0] == digit)
        for digit in "12345"
    ]
    send, wait, receive = (total.timing(part).mean_us for part in ("send", "wait", "receive"))
    # From the first byte sent to the first byte received.
    response_us = None if send is None or wait is None else send + wait
    samples = rate_samples(result, result.by_second("replies"))
    has_others = _replies_of(total) > total.count("ok")
    return [
        f"Reply rate [replies/s]: {_sample_words(samples, 1)} ({len(samples)} samples)",
        f"Reply time [ms]: response {ms(response_us)} transfer {ms(receive)}"
        f"{notes.mark(_OF_OK if has_others else '')}",
        _reply_size(total, notes),
        "Reply status: " + " ".join(f"{n + 1}xx={count}" for n, count in enumerate(classes)),
    ]


def _reply_parts(total: Total) -> tuple[int, int, int] | None:
    """Bytes of all whole replies: heads, bodies, framing; None where not counted apart."""
    if not total.count("head_received") and not total.count("failed_head_received"):
        return None
    return tuple(
        total.count(f"{part}_received") + total.count(f"failed_{part}_received")
        for part in ("head", "body", "framing")
    )


def _reply_size(total: Total, notes: Footnotes) -> str:
    """The footer is chunk framing. Older measurements have only the sum."""
    parts, replies = _reply_parts(total), _replies_of(total)
    if not replies:
        return f"Reply size [B]: header {DASH} content {DASH} footer {DASH} (total {DASH})"
    if parts is None:
        whole = total.count("bytes_received") / replies
        return f"Reply size [B]: header, content and footer (total {whole:.1f})"
    n_parted = replies if total.count("failed_head_received") else total.count("ok")
    head, body, framing = (part / n_parted for part in parts)
    is_chunked = "footer: sizes of chunks, and trailers; httperf's has trailers alone"
    of_ok = _OF_OK if n_parted < replies else ""
    has_rest = any(part % n_parted for part in parts)
    cut_off = "httperf cuts the decimals off" if has_rest else ""
    return (
        f"Reply size [B]: header {head:.1f} content {body:.1f} "
        f"footer {framing:.1f} (total {head + body + framing:.1f})"
        f"{notes.mark(is_chunked if framing else '')}{notes.mark(of_ok)}{notes.mark(cut_off)}"
    )


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


def _sample_words(samples: list[float], decimals: int, average: float | None = None) -> str:
    """`average`: in place of the samples' own."""
    timing = Timing.of([round(each * 1e6) for each in samples])
    low, mean, high, deviation = (
        DASH if value is None else f"{value / 1e6:.{decimals}f}"
        for value in (timing.min_us, timing.mean_us, timing.max_us, timing.sd_us)
    )
    if average is not None:
        mean = f"{average:.{decimals}f}"
    return f"min {low} avg {mean} max {high} stddev {deviation}"


def _session_group(result: Measurement) -> list[list[str]]:
    """httperf's group of --wsess, where sessions arrived; its histogram counts failed ones too."""
    total = result.total
    figures = session_figures(total, result.duration_s)
    if figures is None:
        return []
    samples = rate_samples(result, result.by_second("sessions"))
    each = DASH if figures.connections_each is None else f"{figures.connections_each:.2f}"
    whole = figures.rate_per_s
    most = min(max(figures.lengths, default=0), _MOST_LENGTHS)
    lengths = " ".join(str(figures.lengths.get(n, 0)) for n in range(most + 1))
    return [
        [
            f"Session rate [sess/s]: {_sample_words(samples, 2, whole)} "
            f"({figures.ok}/{figures.started})",
            f"Session: avg {each} connections/session",
            f"Session lifetime [s]: {_mean_s(total, 'session')}",
            f"Session failtime [s]: {_mean_s(total, 'session_failed')}",
            f"Session length histogram: {lengths}",
        ]
    ]


def _mean_s(total: Total, name: str) -> str:
    mean_us = total.timing(name).mean_us
    return DASH if mean_us is None else f"{mean_us / 1e6:.3f}"


def _miscellaneous(result: Measurement, notes: Footnotes) -> list[str]:
    total, duration_s = result.total, result.duration_s
    parts = _reply_parts(total)
    n_bytes = total.count("bytes_received") if parts is None else parts[0] + parts[1]
    late = total.count("late_bytes_sent") + total.count("late_bytes_received")
    size = max(0, total.count("bytes_sent") + n_bytes - late)
    speed = tenths(size / 1024 / duration_s if duration_s else None)
    bits = tenths(size * 8e-6 / duration_s if duration_s else None)
    all_of_them = "of all injector processes, of one core; they sleep between replies"
    return [
        f"{_cpu_time(result)}{notes.mark(all_of_them)}",
        f"Net I/O: {speed} KB/s ({bits}*10^6 bps){notes.mark(tail_note(result))}",
    ]


def _cpu_time(result: Measurement) -> str:
    total_us, user_us = (sum_of(result.ends, name) for name in ("cpu_us", "cpu_user_us"))
    duration_s = result.duration_s
    if total_us is None or not duration_s:
        return f"CPU time [s]: {DASH}"

    def share(us: int) -> str:
        return f"{us / 1e4 / duration_s:.1f}%"

    if user_us is None:
        return f"CPU time [s]: user + system {total_us / 1e6:.2f} (total {share(total_us)})"
    system_us = total_us - user_us
    return (
        f"CPU time [s]: user {user_us / 1e6:.2f} system {system_us / 1e6:.2f} (user "
        f"{share(user_us)} system {share(system_us)} total {share(total_us)})"
    )


def _errors(result: Measurement, notes: Footnotes) -> list[str]:
    """socket-timo: TCP itself gave up (ETIMEDOUT). client-timo: a limit of the plan was over. A
    reply with any status is no error."""
    total = result.total
    count = total.errors.get
    timeouts = sum(count(kind, 0) for kind in TIMEOUT_KINDS)
    by_kernel = total.count("socket_timeouts")
    fd_unavailable, ports = count("client_fd_exhausted", 0), count("client_ports", 0)
    refusals, resets = count("connect_refused", 0), sum(count(kind, 0) for kind in _RESETS)
    table_full = count("client_file_table", 0)
    n_named = timeouts + refusals + resets + fd_unavailable + ports + table_full
    n_failed = total.count("failed") - sum(count(kind, 0) for kind in _OF_WHOLE_REPLIES)
    others = ", ".join(
        f"{WORDS.get(kind, kind)} {number:,}"
        for kind, number in total.errors.items()
        if kind not in _NAMED and number
    )
    cut_short = "with replies that ended early, which httperf takes for whole ones"
    return [
        f"Errors: total {n_failed} client-timo {timeouts - by_kernel} "
        f"socket-timo {by_kernel} connrefused {refusals} connreset {resets}"
        f"{notes.mark(cut_short if count(Kind.EOF_MID_BODY, 0) else '')}",
        f"Errors: fd-unavail {fd_unavailable} addrunavail {ports} ftab-full {table_full} "
        f"other {n_failed - n_named}{notes.mark(f'other: {others}' if others else '')}",
    ]


_OF_WHOLE_REPLIES = (
    Kind.STATUS_UNEXPECTED, Kind.REDIRECT_FAILED, Kind.CHECK_FAILED, Kind.VALUE_MISSING,
)  # fmt: skip
_NAMED = {
    *TIMEOUT_KINDS, *_RESETS, Kind.CONNECT_REFUSED, Kind.CLIENT_FD_EXHAUSTED, Kind.CLIENT_PORTS,
    Kind.CLIENT_FILE_TABLE, *_OF_WHOLE_REPLIES,
}  # fmt: skip


def _own_lines(result: Measurement) -> list[str]:
    """What httperf does not say: the rate without samples, the load at a time, which limits."""
    total = result.total
    # httperf has one --timeout for all of them.
    phases = {
        "connecting": total.errors.get("connect_timeout", 0) - total.count("socket_timeouts"),
        "TLS": total.errors.get("tls_timeout", 0),
        "sending": total.errors.get("write_timeout", 0),
        "first byte": total.errors.get("first_byte_timeout", 0),
        "rest of the reply": total.errors.get("body_timeout", 0),
        "WebSocket close": total.errors.get("ws_close_timeout", 0),
    }
    limits = [f"{phase} {number}" for phase, number in phases.items() if number]
    duration_s = result.duration_s
    in_time = _replies_of(total) - total.count("late_replies")
    rate = tenths(in_time / duration_s if duration_s else None)
    return [
        "",
        f"Replies/s over the whole run: {rate}. Samples of httperf are of {SAMPLE_S} s.",
        *([f"Client timeouts: {', '.join(limits)}"] if limits else []),
    ]

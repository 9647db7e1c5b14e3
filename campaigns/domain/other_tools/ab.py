"""The report with ab's lines and its percentile table.

Lines and order are ab's. A line that differs has a mark, and a footnote below the table. Our own
figures follow after them.
"""

from collections import Counter

from campaigns.domain.metrics.certificates import key_bits
from campaigns.domain.metrics.injector_end import servers_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.series import reply_sizes
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.other_tools.report_words import (
    DASH,
    Footnotes,
    ReportHead,
    clock_lines,
    closing_lines,
    is_closed,
    load_lines,
    ms,
    per_s,
    tail_note,
)
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.plan import ConnectionMode

_RANKS = (50, 66, 75, 80, 90, 95, 98, 99)
_CONNECT = ("connect", "tls", "dns", "address")
_RECEIVE = {Kind.RESET, Kind.EOF_BEFORE_REPLY, Kind.EOF_MID_BODY}
# By how much ab's computed time per request may differ from the measured mean.
_LITTLE = 0.05
# OpenSSL's names and sizes of keys, as ab prints them.
_TEMP_KEYS = {
    "X25519": "X25519 253",
    "X448": "X448 448",
    "P-256": "ECDH prime256v1 256",
    "P-384": "ECDH secp384r1 384",
    "P-521": "ECDH secp521r1 521",
}


def ab(result: Measurement, head: ReportHead) -> str:
    total, duration_s = result.total, result.duration_s
    notes = Footnotes()
    n_ended = total.count("ok") + total.count("failed")
    rate, late = per_s(result, "ok", "failed"), notes.mark(tail_note(result))
    n_bytes = total.count("bytes_received")
    in_time = total.in_time("bytes_received")
    speed = f"{in_time / 1024 / duration_s:.2f}" if duration_s else DASH
    n_reused = max(0, sum(total.statuses.values()) - total.count("connections_opened"))
    but_first = "without the first of each connection, which ab counts too"
    lines = [
        *_server_lines(result, head, notes),
        "",
        f"Document Path:          {(result.plan.exchange or result.plan.steps[0]).path}",
        *_length(result, notes),
        "",
        f"Concurrency Level:      {_concurrency(result) or DASH}",
        f"Time taken for tests:   {duration_s:.3f} seconds{late}",
        f"Complete requests:      {n_ended}",
        *_failure_lines(total, notes),
        # Replies on a connection that an earlier request had opened, whatever their status.
        *(
            [f"Keep-Alive requests:    {n_reused}{notes.mark(but_first)}"]
            if head.connection_mode == ConnectionMode.KEEP_ALIVE
            else []
        ),
        f"Total transferred:      {n_bytes} bytes",
        *_body_lines(total, notes),
        f"Requests per second:    {rate} [#/sec] (mean){late}",
        *_time_per_request(result, notes),
        f"Transfer rate:          {speed} [Kbytes/sec] received{late}",
        "",
        *_time_lines(total, notes),
    ]
    own = [*load_lines(result), *clock_lines(result), *closing_lines(result, head)]
    return "\n".join([*lines, "", *notes.lines(), "", *own])


def _concurrency(result: Measurement) -> int | None:
    return (result.plan.load.connections or 1) if is_closed(result) else None


def _server_lines(result: Measurement, head: ReportHead, notes: Footnotes) -> list[str]:
    # Of all replies; ab's is of the first one.
    servers = servers_of(result.ends)
    lines = [
        *([] if servers is None else [f"Server Software:        {', '.join(servers) or DASH}"]),
        f"Server Hostname:        {head.host}",
        f"Server Port:            {head.port}",
    ]
    for (name, how), count in _handshakes(result).items():
        mark = notes.mark(f"{count} handshakes{how}; ab's is of the first connection")
        lines.append(f"SSL/TLS Protocol:       {name}{mark}")
    groups = dict.fromkeys(tls.group for end in result.ends for tls in end.tls if tls.group)
    for group in groups:
        key = _TEMP_KEYS.get(group)
        hybrid = "a hybrid key has no one number of bits" if key is None else ""
        key = f"{key} bits" if key else group
        lines.append(f"Server Temp Key:        {key}{notes.mark(hybrid)}")
    name = head.server_name or ("" if is_address(head.host) else head.host)
    if name and any(end.tls for end in result.ends):
        lines.append(f"TLS Server Name:        {name}")
    return lines


def _length(result: Measurement, notes: Footnotes) -> list[str]:
    """Of all ok replies to the first step; ab takes the first reply's, and fails the others."""
    sizes = reply_sizes(result.steps[0] if result.steps else result.total)
    if sizes is None:
        return []
    if not sizes.varies:
        return [f"Document Length:        {sizes.body:.0f} bytes"]
    varies = f"mean, varies by {sizes.body_sd:.1f}; ab has the first reply's, and fails the others"
    return [f"Document Length:        {sizes.body:.1f} bytes{notes.mark(varies)}"]


def _body_lines(total: Total, notes: Footnotes) -> list[str]:
    """Bodies of whole replies; ab counts the framing of chunks among them."""
    if reply_sizes(total) is None:
        return []
    framing = total.count("framing_received") + total.count("failed_framing_received")
    body = total.count("body_received") + total.count("failed_body_received")
    beside = f"beside {framing} bytes of chunked framing, which ab counts too" if framing else ""
    return [f"HTML transferred:       {body} bytes{notes.mark(beside)}"]


def _handshakes(result: Measurement) -> Counter[tuple[str, str]]:
    """How many of each kind, over all injectors; ab reports only its first connection."""
    counts: Counter[tuple[str, str]] = Counter()
    for end in result.ends:
        # As in ab, the bits of the server's key, then those of the cipher.
        key = key_bits(end.certificate_der_b64) or DASH
        for tls in end.tls:
            name = f"{tls.version},{tls.cipher},{key},{tls.bits}"
            counts[name, ", resumed" if tls.resumed else ""] += tls.count
    return counts


def _failure_lines(total: Total, notes: Footnotes) -> list[str]:
    errors = total.errors
    connect = sum(count for kind, count in errors.items() if kind.startswith(_CONNECT))
    receive = sum(count for kind, count in errors.items() if kind in _RECEIVE)
    status = errors.get(Kind.STATUS_UNEXPECTED, 0)
    n_failed = total.count("failed")
    lines = [f"Failed requests:        {n_failed}"]
    if n_failed:
        mark = notes.mark(
            "disjoint, and they add up; ab counts a reset up to three times, a reply of another "
            "length than the first as a failure, and no status"
        )
        other = n_failed - connect - receive - status
        classes = f"Connect: {connect}, Receive: {receive}, Status: {status}, Other: {other}"
        lines = [f"{lines[0]}{mark}", f"   ({classes}){mark}"]
    if n_writes := errors.get(Kind.WRITE_ERROR, 0):
        lines.append(f"Write errors:           {n_writes}")
    non_2xx = sum(count for code, count in total.statuses.items() if code[0] != "2")
    return [*lines, *([f"Non-2xx responses:      {non_2xx}"] if non_2xx else [])]


def _time_per_request(result: Measurement, notes: Footnotes) -> list[str]:
    """Both are computed, not measured: concurrency · time / requests, and time / requests."""
    n_ended = result.total.in_time("ok") + result.total.in_time("failed")
    if not n_ended or not result.duration_s:
        return []
    between_ms = result.duration_s * 1000 / n_ended
    across = f"{between_ms:.3f} [ms] (mean, across all concurrent requests)"
    lines = [f"Time per request:       {across}"]
    concurrency = _concurrency(result)
    if concurrency is None:
        return lines
    computed_ms = concurrency * between_ms
    mean_us = result.total.timing("service").mean_us
    is_off = mean_us and abs(computed_ms * 1000 / mean_us - 1) > _LITTLE
    doubt = notes.mark("computed; over 5 % from the mean measured below" if is_off else "")
    return [f"Time per request:       {computed_ms:.3f} [ms] (mean){doubt}", *lines]


def _time_lines(total: Total, notes: Footnotes) -> list[str]:
    service = total.timing("service")
    heads = "".join(f"{head:>9}" for head in ("min", "mean", "[+/-sd]", "median", "max"))
    tls = total.timing("tls")
    rows = [
        ("Connect", total.timing("connect_tls" if tls.n else "connect")),
        *([("   TCP", total.timing("connect")), ("   TLS", tls)] if tls.n else []),
        ("Opening", total.timing("handshake")),
        ("Processing", total.timing("processing")),
        ("Waiting", total.timing("wait")),
        ("Total", service),
    ]
    mark = notes.mark("of ok requests, from the actual start; ab's are of failed ones too")
    parts = notes.mark("TCP and TLS are parts of Connect, which ab has whole" if tls.n else "")
    lines = [f"Connection Times (ms){mark}{parts}", f"{'':<14}{heads}"]
    for title, timing in rows:
        if timing.n:
            times_us = (timing.min_us, timing.mean_us, timing.sd_us, timing.percentile_us(50_000))
            cells = "".join(f"{ms(us):>9}" for us in (*times_us, timing.max_us))
            lines.append(f"{title + ':':<14}{cells}")
    if service.n:
        rank = notes.mark("nearest rank; ab prints the next higher one")
        head = "Percentage of the requests served within a certain time (ms)"
        lines += ["", f"{head}{mark}{rank}"]
        lines += [f"{q:>5}% {ms(service.percentile_us(q * 1000)):>9}" for q in _RANKS]
        lines.append(f"  100% {ms(service.max_us):>9} (longest request)")
    return lines

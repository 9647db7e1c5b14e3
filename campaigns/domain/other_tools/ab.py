"""The report with ab's lines and its percentile table.

Percentiles are nearest rank of ok requests (ab prints one rank too high, failed ones included).
ab's Connect includes the TLS handshake; here TCP and TLS are listed below it.
"""

from collections import Counter

from campaigns.domain.metrics.certificates import key_bits
from campaigns.domain.metrics.injector_end import servers_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.reply_sizes import reply_sizes
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.other_tools.report_words import (
    DASH,
    ReportHead,
    clock_lines,
    closing_lines,
    is_closed,
    load_lines,
    ms,
    per_s,
)

_RANKS = (50, 66, 75, 80, 90, 95, 98, 99)
_CONNECT = ("connect", "tls", "dns", "address")
_RECEIVE = {Kind.RESET, Kind.EOF_BEFORE_REPLY, Kind.EOF_MID_BODY}
# By how much ab's computed time per request may differ from the measured mean.
_LITTLE = 0.05


def ab(result: Measurement, head: ReportHead) -> str:
    total, duration_s = result.total, result.duration_s
    done = total.count("ok") + total.count("failed")
    # Replies on a connection that an earlier request had opened, whatever their status.
    kept = max(0, sum(total.statuses.values()) - total.count("connections_opened"))
    received = total.count("bytes_received")
    rate = per_s(result, "ok", "failed")
    received_in_time = total.in_time("bytes_received")
    speed = f"{received_in_time / 1024 / duration_s:.2f}" if duration_s else DASH
    lines = [
        *_server_lines(result, head),
        "",
        *load_lines(result),
        *clock_lines(result),
        f"Concurrency Level:      {_concurrency(result) or DASH}",
        f"Time taken for tests:   {duration_s:.3f} seconds",
        f"Complete requests:      {done}",
        *_failure_lines(total),
        f"Keep-Alive requests:    {kept} (ab: also the first of each)",
        f"Total transferred:      {received} bytes",
        *_body_lines(total),
        f"Requests per second:    {rate} [#/sec] (mean, failed ones included)",
        *_time_per_request(result),
        f"Transfer rate:          {speed} [KiB/sec] received",
        "",
        *_time_lines(total),
    ]
    return "\n".join([*lines, *closing_lines(result, head)])


def _concurrency(result: Measurement) -> int | None:
    return (result.plan.load.connections or 1) if is_closed(result) else None


def _server_lines(result: Measurement, head: ReportHead) -> list[str]:
    request = result.plan.exchange or result.plan.steps[0]
    # Of all replies; ab's is of the first one.
    servers = servers_of(result.ends)
    lines = [
        *([] if servers is None else [f"Server Software:        {', '.join(servers) or DASH}"]),
        f"Server Hostname:        {head.host}",
        f"Server Port:            {head.port}",
    ]
    for (name, resumed), count in _handshakes(result).items():
        lines.append(f"SSL/TLS Protocol:       {name} ({count} handshakes{resumed})")
    return [*lines, f"Document Path:          {request.path}", *_length(result)]


def _length(result: Measurement) -> list[str]:
    """Of all ok replies to the first step; ab takes the first reply's, and fails the others."""
    sizes = reply_sizes(result.steps[0] if result.steps else result.total)
    if sizes is None:
        return []
    if not sizes.varies:
        return [f"Document Length:        {sizes.body:.0f} bytes"]
    spread = f"(mean, varies by {sizes.body_sd:.1f}: no failures)"
    return [f"Document Length:        {sizes.body:.1f} bytes {spread}"]


def _body_lines(total: Total) -> list[str]:
    """Bodies of ok replies; ab counts the framing of chunks among them."""
    if reply_sizes(total) is None:
        return []
    framing = total.count("framing_received")
    beside = f" (beside {framing} bytes of chunked framing)" if framing else ""
    return [f"HTML transferred:       {total.count('body_received')} bytes{beside}"]


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


def _failure_lines(total: Total) -> list[str]:
    """The classes are disjoint and add up, which ab's are not."""
    errors = total.errors
    connect = sum(count for kind, count in errors.items() if kind.startswith(_CONNECT))
    receive = sum(count for kind, count in errors.items() if kind in _RECEIVE)
    status = errors.get(Kind.STATUS_UNEXPECTED, 0)
    failed = total.count("failed")
    lines = [f"Failed requests:        {failed}"]
    if failed:
        other = failed - connect - receive - status
        classes = f"Connect: {connect}, Receive: {receive}, Status: {status}, Other: {other}"
        lines.append(f"   ({classes})")
    lines.append(f"Write errors:           {errors.get(Kind.WRITE_ERROR, 0)}")
    non_2xx = sum(count for code, count in total.statuses.items() if code[0] != "2")
    return [*lines, *([f"Non-2xx responses:      {non_2xx}"] if non_2xx else [])]


def _time_per_request(result: Measurement) -> list[str]:
    """Both are computed, not measured: concurrency · time / requests, and time / requests."""
    done = result.total.in_time("ok") + result.total.in_time("failed")
    if not done or not result.duration_s:
        return []
    between_ms = result.duration_s * 1000 / done
    lines = [f"Mean time between ends: {between_ms:.3f} [ms] (ab: across all concurrent requests)"]
    concurrency = _concurrency(result)
    if concurrency is None:
        return lines
    computed_ms = concurrency * between_ms
    mean_us = result.total.timing("service").mean_us
    is_off = mean_us and abs(computed_ms * 1000 / mean_us - 1) > _LITTLE
    doubt = ", over 5 % from the mean measured below" if is_off else ""
    return [f"Time per request:       {computed_ms:.3f} [ms] (mean, computed{doubt})", *lines]


def _time_lines(total: Total) -> list[str]:
    service = total.timing("service")
    heads = "".join(f"{head:>9}" for head in ("min", "mean", "[+/-sd]", "median", "max"))
    rows = [
        ("Connect", total.timing("connect_tls" if total.timing("tls").n else "connect")),
        *([("   TCP", total.timing("connect"))] if total.timing("tls").n else []),
        ("   TLS", total.timing("tls")),
        ("Opening", total.timing("handshake")),
        ("Processing", total.timing("processing")),
        ("Waiting", total.timing("wait")),
        ("Total", service),
    ]
    lines = ["Connection Times (ms), Total from the actual start", f"{'':<14}{heads}"]
    lines += [_row(title, timing) for title, timing in rows if timing.n]
    if service.n:
        lines += [
            "",
            "Percentage of the requests served within a certain time (ms), from the actual start",
        ]
        lines += [f"{q:>5}% {ms(service.percentile_us(q * 1000)):>9}" for q in _RANKS]
        lines.append(f"  100% {ms(service.max_us):>9} (longest request)")
    return lines


def _row(title: str, timing: Timing) -> str:
    figures = (
        timing.min_us, timing.mean_us, timing.sd_us, timing.percentile_us(50_000), timing.max_us
    )  # fmt: skip
    return f"{title + ':':<14}" + "".join(f"{ms(us):>9}" for us in figures)

"""Text reports in the style of the classic tools and in our own, for the terminal, the run page and
download, all from the same measurement. Figures that a tool defines incorrectly are left out or
corrected, and the report says so.

JMeter's Aggregate Report and Summary Report have a row for each step, below its flow where there
are flows, and a total. JMeter counts failed samples in every time and takes the deviation of the
whole population; here times are of ok requests, percentiles nearest rank, the deviation that of a
sample (n - 1).

wsperf prints the opening handshake only, although its title speaks of closing too, takes failed
connections in, and prints the maximum as q99.99 where there are too few for it. Here the other
phases of a connection are beside it."""

from collections.abc import Callable

from campaigns.domain.analysis.thresholds import weigh
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.injector_end import totals_by_peer
from campaigns.domain.metrics.measurement import Measurement, parts_of
from campaigns.domain.metrics.outcomes import DROPPED, cause_words, causes_of, failure_words
from campaigns.domain.metrics.snapshot import (
    HOPS,
    LATENESS,
    PARTS,
    SESSIONS,
    Timing,
    Total,
    length_words,
    session_figures,
)
from campaigns.domain.other_tools.ab import ab
from campaigns.domain.other_tools.httperf import httperf
from campaigns.domain.other_tools.report_words import (
    DASH,
    ReportHead,
    clock_lines,
    closing_lines,
    intended_start,
    load_lines,
    low_lines,
    ms,
    per_s,
    percent_of,
    quantile,
    tenths,
)
from campaigns.domain.percentiles import P50, P90, P95, P99
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.plan_words import replay_words
from campaigns.domain.presentation.report_tables import handshake_lines, hop_words, redirects_words
from campaigns.domain.presentation.threshold_tables import broken_words
from campaigns.domain.presentation.what_to_do import no_answer_words
from campaigns.domain.units import counted, rate, said_of

_JMETER_HEADS = (
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
        f"{'Label':<{_LABEL_WIDTH}}" + "".join(f"{head:>{_WIDTH}}" for head in _JMETER_HEADS),
        *(_jmeter_row(label, total, result.duration_s) for label, total in rows),
        _jmeter_row("TOTAL", result.total, result.duration_s),
    ]
    return "\n".join([*lines, *closing_lines(result, head)])


def _jmeter_row(label: str, total: Total, duration_s: float) -> str:
    service = total.timing("service")
    n_ended = total.count("ok") + total.count("failed")
    ranks = (50_000, 90_000, 95_000, 99_000)
    times = [
        ms(service.mean_us),
        *(quantile(service, rank) for rank in ranks),
        ms(service.min_us),
        ms(service.max_us),
        ms(service.sd_us),
    ]
    cells = [str(n_ended), *times, percent_of(total.count("failed"), n_ended)]
    cells += [_per_s(total.in_time("ok") + total.in_time("failed"), duration_s)]
    cells += [
        _per_s(total.in_time(name) / 1024, duration_s) for name in ("bytes_received", "bytes_sent")
    ]
    cells.append(f"{total.count('bytes_received') / n_ended:.1f}" if n_ended else DASH)
    name = label if len(label) < _LABEL_WIDTH else f"{label[: _LABEL_WIDTH - 2]}…"
    return f"{name:<{_LABEL_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)


def _per_s(amount: float, duration_s: float) -> str:
    return f"{amount / duration_s:.2f}" if duration_s else DASH


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
_PHASE_WIDTH = 18


def wsperf(result: Measurement, head: ReportHead) -> str:
    timings = [(title, result.total.timing(name)) for title, name in _PHASES]
    timings = [(title, timing) for title, timing in timings if timing.n]
    # (name, how a timing says it), in wsperf's order.
    lines = [
        *_counts(result),
        "",
        *load_lines(result),
        *clock_lines(result),
        *_marks(result),
        "whole: from the actual start to the end of the connection.",
        f"{'ms, of successes':>{_PHASE_WIDTH}}"
        + "".join(f"{title:>{_WIDTH}}" for title, _ in timings),
        *(
            (
                f"{name + ':':>{_PHASE_WIDTH}}"
                + "".join(f"{cell:>{_WIDTH}}" for cell in [text(timing) for _, timing in timings])
            )
            for name, text in [
                ("Min", lambda timing: ms(timing.min_us)),
                ("SD", lambda timing: ms(timing.sd_us)),
                ("Avg", lambda timing: ms(timing.mean_us)),
                ("Median", lambda timing: quantile(timing, 50_000)),
                *(
                    (name, lambda timing, rank=rank: quantile(timing, rank))
                    for name, rank in _QUANTILES.items()
                ),
                ("Max", lambda timing: ms(timing.max_us)),
            ]
        ),
    ]
    return "\n".join([*lines, *closing_lines(result, head)])


def _counts(result: Measurement) -> list[str]:
    total, duration_s = result.total, result.duration_s
    success, fail = total.count("ok"), total.count("failed")
    n_ended = success + fail
    per_s = f"{total.in_time('ok') / duration_s:.0f}" if duration_s else DASH
    share = percent_of(fail, n_ended)
    title = "Aggregate results"
    if result.plan.exchange is not None:
        title += " (WebSocket Opening+Closing Handshake)"
    return [
        title,
        "",
        f"{'Duration:':>{_PHASE_WIDTH}} {duration_s:9.1f} s",
        f"{'Total:':>{_PHASE_WIDTH}} {n_ended:9d}",
        f"{'Success:':>{_PHASE_WIDTH}} {success:9d}",
        f"{'Fail:':>{_PHASE_WIDTH}} {fail:9d}",
        f"{'Fail %:':>{_PHASE_WIDTH}} {share:>9}",
        f"{'Handshakes/sec:':>{_PHASE_WIDTH}} {per_s:>9}",
    ]


def _marks(result: Measurement) -> list[str]:
    load, total = result.plan.load, result.total
    if load.low is None:
        return []
    counts = [
        counted(total.count(name), "times") for name in ("window_throttled", "window_resumed")
    ]
    return [
        f"Marks per injector process: {load.low} and {load.high}; "
        f"reached the high one {counts[0]}, refilled {counts[1]}.",
        "",
    ]


_NAME_WIDTH = 15
_COLUMNS = ("mean", "min", "p50", "p90", "p95", "p99", "max")


def plain(result: Measurement, head: ReportHead) -> str:
    """Response times are of ok requests; failed ones have their row, and one with both."""
    total, duration_s = result.total, result.duration_s
    n_ok, n_failed = total.count("ok"), total.count("failed")
    drops = f", {total.count('dropped'):,} dropped" if total.count("dropped") else ""
    n_replayed = total.count("replayed")
    replays = f", {n_replayed:,} {replay_words(result.plan)[0]}" if n_replayed else ""
    n_sent, n_received = total.count("messages_sent"), total.count("messages_received")
    rates = f"{per_s(result, 'messages_sent')} and {per_s(result, 'messages_received')} messages/s"
    messages = f"{counted(n_sent, 'messages')} sent, {n_received:,} received: {rates}"
    meaning = "; undelayed is response without what the injector added"
    # Most frequent first, those of all steps together.
    error_lines = [
        f"{row.count:>10,d}  {row.kind}: {cause_words(row)}"
        for row in causes_of(result.failures)
        if row.kind != DROPPED
    ]
    lines = [
        *_first_words(result, head),
        f"{counted(n_ok + n_failed, result.plan.nouns)} in {duration_s:.2f} s: {n_ok:,} ok, "
        f"{n_failed:,} failed{drops}{replays}",
        f"{per_s(result, 'ok')} ok/s",
        *([messages] if n_sent + n_received else []),
        *filter(None, [redirects_words(total)]),
        *_session_lines(result),
        *load_lines(result),
        *handshake_lines(result.ends),
        f"Clocks: response counts from {intended_start(result.plan)},"
        f" service from the actual start{meaning if total.timing('undelayed').n else ''}.",
        *low_lines(result),
        "",
        f"{'ms':<{_NAME_WIDTH}}{'n':>10}" + "".join(f"{name:>10}" for name in _COLUMNS),
        *(_row(name, timing) for name, timing in _timings(total) if timing.n),
        "",
        *_address_lines(result),
        *_flow_lines(result),
        *error_lines,
    ]
    return "\n".join([*lines, *closing_lines(result, head)[0 if total.errors else 1 :]])


def _first_words(result: Measurement, head: ReportHead) -> list[str]:
    """What to know before any figure: that there is no answer, or what was broken and failed."""
    judgement, nouns = head.judged, result.plan.nouns
    if judgement and not judgement.is_usable:
        return [f"{no_answer_words([judgement], 1)}. Do not quote the figures below."]
    failures = failure_words(result.failures, result.figures.attempts, nouns)
    verdicts = weigh(result.thresholds, judgement.measurement.state if judgement else None)
    broken = said_of(nouns, broken_words([verdicts]))
    return [f"{words}." for words in (broken, failures) if words]


def _session_lines(result: Measurement) -> list[str]:
    """How the arrived sessions ended; nothing if none arrived."""
    figures = session_figures(result.total, result.duration_s)
    if figures is None:
        return []
    calls = "".join(
        f"; {counted(n, 'calls')} {words}"
        for n, words in (
            (figures.calls_skipped, "not made"),
            (figures.calls_retried, "made again"),
        )
        if n
    )
    each = DASH if figures.connections_each is None else f"{figures.connections_each:.2f}"
    return [
        f"{counted(figures.started, 'sessions')}: {figures.ok:,} ok, {figures.failed:,} failed, "
        f"{figures.dropped:,} dropped{calls}",
        f"{per_s(result, 'sessions_ok')} ok sessions/s, {each} connections each",
        f"Sessions by ok calls: {length_words(figures.lengths) or DASH}",
    ]


def _address_lines(result: Measurement) -> list[str]:
    """A line for each address that load went to; none where it did not go over several."""
    totals = totals_by_peer(result.ends)
    if not totals:
        return []
    width = max(map(len, totals))
    columns = ("ok", "failed", "ok/s", "p50", "p95", "p99")
    lines = [f"{'by address':<{width}}" + "".join(f"{name:>10}" for name in columns)]
    for peer, total in totals.items():
        figures = figures_of(total, result.duration_s)
        cells = [f"{figures.n:,}", f"{figures.failed:,}", rate(figures.rate_per_s)]
        cells += [quantile(total.timing("response"), q) for q in (P50, P95, P99)]
        lines.append(f"{peer:<{width}}" + "".join(f"{cell:>10}" for cell in cells))
    return [*lines, ""]


def _timings(total: Total) -> list[tuple[str, Timing]]:
    names = (
        *("response", "service", "undelayed", *LATENESS, *PARTS),
        *("message", "failed", "failed_reply", *SESSIONS),
    )
    rows = [(name, total.timing(name)) for name in names]
    rows += [(hop_words(nth), total.timing(name)) for nth, name in enumerate(HOPS)]
    if total.timing("failed").n:
        attempts = Timing.together((total.timing("response"), total.timing("failed")))
        rows.append(("attempts", attempts))
    return rows


def _row(name: str, timing: Timing, width: int = _NAME_WIDTH) -> str:
    cells = [ms(timing.mean_us), ms(timing.min_us)]
    cells += [quantile(timing, q) for q in (P50, P90, P95, P99)]
    text = "".join(f"{cell:>10}" for cell in [*cells, ms(timing.max_us)])
    return f"{name[: width - 1]:<{width}}{timing.n:>10,d}{text}"


def _flow_lines(result: Measurement) -> list[str]:
    """Of each flow its requests, its sessions and its steps, with what failed and the ok ones a
    second."""
    if not result.plan.flows:
        return []
    lines = [
        f"{'ms, by flow':<{_LABEL_WIDTH}}{'n':>10}"
        + "".join(f"{name:>10}" for name in (*_COLUMNS, "failed", "ok/s"))
    ]
    for part in parts_of(result):
        is_flow = part.kind == "flow"
        rows = [(part.label if is_flow else f"  {part.label}", "response", "ok", "failed")]
        rows += [("  sessions", "session", "sessions_ok", "sessions_failed")] if is_flow else []
        for label, timing, ok, failures in rows:
            per_second = tenths(part.total.per_s(ok, result.duration_s))
            times = _row(label, part.total.timing(timing), _LABEL_WIDTH)
            lines.append(f"{times}{part.total.count(failures):>10,d}{per_second:>10}")
    return [*lines, ""]


__all__ = ["REPORTS", "STYLE_WORDS", "ReportHead", "styles_for"]

REPORTS: dict[str, Callable[[Measurement, ReportHead], str]] = {
    "ab": ab,
    "httperf": httperf,
    "jmeter": jmeter,
    "plain": plain,
    "wsperf": wsperf,
}
STYLE_WORDS = {
    "ab": "ab",
    "httperf": "httperf",
    "jmeter": "JMeter",
    "plain": "our own format",
    "wsperf": "wsperf",
}


def styles_for(plan: Plan) -> list[str]:
    """The styles that fit the plan, best first."""
    if plan.exchange is not None:
        return ["wsperf", "ab", "plain"]
    return ["ab", "httperf", "jmeter", "plain"]

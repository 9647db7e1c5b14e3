"""Text reports in the style of the classic tools and in our own, for the terminal, the run page and
download, all from the same measurement.

Figures that a tool defines incorrectly are left out or corrected, and the report says so.
"""

from collections.abc import Callable

from campaigns.domain.analysis.failures import cause_words, causes_of, failure_words
from campaigns.domain.analysis.thresholds import weigh
from campaigns.domain.metrics.failures import DROPPED
from campaigns.domain.metrics.figures import figures_of
from campaigns.domain.metrics.injector_end import totals_by_peer
from campaigns.domain.metrics.measurement import Measurement, parts_of
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
from campaigns.domain.other_tools.jmeter import jmeter
from campaigns.domain.other_tools.report_words import (
    DASH,
    ReportHead,
    closing_lines,
    intended_start,
    load_lines,
    low_lines,
    merged,
    ms,
    per_s,
    quantile,
    tenths,
)
from campaigns.domain.other_tools.wsperf import wsperf
from campaigns.domain.percentiles import P50, P90, P95, P99
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.plan_words import replay_words
from campaigns.domain.presentation.remedies import no_answer_words
from campaigns.domain.presentation.report_tables import handshake_lines, hop_words, redirects_words
from campaigns.domain.presentation.threshold_tables import broken_words
from campaigns.domain.units import counted, rate, said_of

_NAME_WIDTH, _LABEL_WIDTH = 15, 24
_COLUMNS = ("mean", "min", "p50", "p90", "p95", "p99", "max")


def plain(result: Measurement, head: ReportHead) -> str:
    """Response times are of ok requests; failed ones have their row, and one with both."""
    total, duration_s = result.total, result.duration_s
    n_ok, n_failed = total.count("ok"), total.count("failed")
    dropped = f", {total.count('dropped'):,} dropped" if total.count("dropped") else ""
    n_replayed = total.count("replayed")
    replayed = f", {n_replayed:,} {replay_words(result.plan)[0]}" if n_replayed else ""
    n_sent, received = total.count("messages_sent"), total.count("messages_received")
    rates = f"{per_s(result, 'messages_sent')} and {per_s(result, 'messages_received')} messages/s"
    messages = f"{counted(n_sent, 'messages')} sent, {received:,} received: {rates}"
    undelayed = "; undelayed is response without what the injector added"
    # Most frequent first, those of all steps together.
    error_lines = [
        f"{row.count:>10,d}  {row.kind}: {cause_words(row)}"
        for row in causes_of(result.failures)
        if row.kind != DROPPED
    ]
    lines = [
        *_first_words(result, head),
        f"{counted(n_ok + n_failed, result.plan.nouns)} in {duration_s:.2f} s: {n_ok:,} ok, "
        f"{n_failed:,} failed{dropped}{replayed}",
        f"{per_s(result, 'ok')} ok/s",
        *([messages] if n_sent + received else []),
        *filter(None, [redirects_words(total)]),
        *_session_lines(result),
        *load_lines(result),
        *handshake_lines(result.ends),
        f"Clocks: response counts from {intended_start(result.plan)},"
        f" service from the actual start{undelayed if total.timing('undelayed').n else ''}.",
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
    judged, nouns = head.judged, result.plan.nouns
    if judged and not judged.is_usable:
        return [f"{no_answer_words([judged], 1)}. Do not quote the figures below."]
    failed = failure_words(result.failures, result.figures.attempts, nouns)
    verdicts = weigh(result.thresholds, judged.measurement.state if judged else None)
    broken = said_of(nouns, broken_words([verdicts]))
    return [f"{words}." for words in (broken, failed) if words]


def _session_lines(result: Measurement) -> list[str]:
    """How the arrived sessions ended; nothing if none arrived."""
    figures = session_figures(result.total, result.duration_s)
    if figures is None:
        return []
    skipped = (
        f"; {counted(figures.calls_skipped, 'calls')} not made" if figures.calls_skipped else ""
    )
    skipped += (
        f"; {counted(figures.calls_retried, 'calls')} made again" if figures.calls_retried else ""
    )
    each = DASH if figures.connections_each is None else f"{figures.connections_each:.2f}"
    return [
        f"{counted(figures.started, 'sessions')}: {figures.ok:,} ok, {figures.failed:,} failed, "
        f"{figures.dropped:,} dropped{skipped}",
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
        rows.append(("attempts", merged(total.timing("response"), total.timing("failed"))))
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
        for label, timing, ok, failed in rows:
            per_second = tenths(part.total.per_s(ok, result.duration_s))
            times = _row(label, part.total.timing(timing), _LABEL_WIDTH)
            lines.append(f"{times}{part.total.count(failed):>10,d}{per_second:>10}")
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

"""The tables of one run: steps, response time parts, the injectors' vitals, its phases, and, where
whole sessions came, how long they took and how far they got. And what its TLS was: chosen, agreed
on, and carried."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes, tls_libraries_of
from campaigns.domain.metrics.kept_requests import Phase
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import (
    HOPS,
    PARTS,
    SESSIONS,
    SessionFigures,
    Total,
    hop,
    length_name,
    session_figures,
)
from campaigns.domain.percentiles import P50, P90, P95, P99, name
from campaigns.domain.plan.target import Origin
from campaigns.domain.presentation.exchange_tables import time_figures, timed_columns
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Cell,
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    text_cell,
)
from campaigns.domain.units import count, counted, decimals_for_parts, figure, in_ms, percent

_SHOWN_PARTS = ("lateness", *PARTS, "response", "service", "undelayed")
_VITALS = (
    ("cpu_share", "CPU of the process", "% of a core", 100),
    ("other_cpu_share", "CPU of other programs", "% of the machine", 100),
    ("steal_share", "CPU stolen", "% of the machine", 100),
    ("run_delay_share", "waiting for a CPU", "%", 100),
    ("hub_lag_max_us", "longest event-loop stall", "ms", 1e-3),
    ("gc_pause_max_us", "longest garbage collection", "ms", 1e-3),
    ("lateness_p99_us", "lateness p99", "ms", 1e-3),
    ("own_delay_p99_us", "own delay p99", "ms", 1e-3),
    ("open_connections", "open connections", "", 1),
    ("open_files_share", "open files", "% of the limit", 100),
    ("ports_share", "local ports in use by all programs", "%", 100),
    ("link_share", "network link", "% of its speed", 100),
    ("packets_lost_share", "packets lost by the machine", "%", 100),
    ("swapped_pages", "memory swapped", "pages", 1),
    ("clock_step_us", "step of the wall clock", "ms", 1e-3),
    ("rss_bytes", "memory", "MB", 1e-6),
)


def parts_table(total: Total) -> Table:
    """Where the response time goes; a part that did not happen is absent, not 0."""
    timings = [(part, total.timing(part)) for part in _SHOWN_PARTS]
    present = [(part, timing) for part, timing in timings if timing.n]
    figures = time_figures([timing for _, timing in present], (P50, P95))
    decimals = decimals_for_parts(each.value for column in figures for each in column)
    columns = [column_cells(column, decimals=decimals) for column in figures]
    columns.append([count_cell(timing.n) for _, timing in present])
    parts = [part for part, _ in present if part in PARTS]
    whole = f"response = {' + '.join(['lateness', *parts])}"
    is_of_all = {total.timing(part).n for part in parts} <= {total.timing("response").n}
    where = "" if is_of_all else " of all requests, where a part that one did not have counts as 0"
    return Table(
        "parts",
        "Where the time goes",
        tuple(METRICS[key].column() for key in ("mean", name(P50), name(P95), "max", "n")),
        tuple(
            Row(METRICS[part].title, tuple(column[index] for column in columns), part)
            for index, (part, _) in enumerate(present)
        ),
        label_title="part",
        note=f"{whole}, for the average{where}; percentiles do not add up.",
    )


def vitals_table(vitals: Sequence[dict[str, Any]], *, shows_hosts: bool = True) -> Table:
    """A row per vital, a column per shard: the worst second of each."""
    columns = [
        Column(
            f"shard-{each['shard']}",
            f"process {each['shard'] + 1}",
            each.get("host", "") if shows_hosts else "",
        )
        for each in vitals
    ]
    rows = []
    for key, title, unit, scale in _VITALS:
        values = [each["worst"].get(key) for each in vitals]
        figures = [Figure(None if each is None else each * scale, _NO_VITAL) for each in values]
        if any(figure.value is not None for figure in figures):
            label = f"{title}, {unit}" if unit else title
            cells = column_cells(figures, decimals=0 if key == "open_connections" else None)
            rows.append(Row(label, tuple(cells), key))
    note = "Each figure is the worst second of that process."
    return Table("vitals", "Injector processes", tuple(columns), tuple(rows), "vital", note)


_NO_VITAL = "This injector process did not report this value."
_FIGURES = ("interval", "mean", "min", "max", "rate")
_PHASE_COLUMNS = ("begins", "duration", "n", *_FIGURES, "shares")
_MOST_SHARES = 6
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_NO_SECOND = "This phase contains no complete second of any injector process."
_WHOLE = "Response times come from seconds entirely within a phase."
_EXACT = "A request counts in the phase in which it ended."
_SHARED_OUT = "A second cut by a boundary is split in proportion to time."


def phases_table(phases: Sequence[Phase], *, is_exact: bool = False) -> Table:
    """A row for each phase and one of the whole run; no rows where there are no two phases.
    `is_exact`: every request is known."""
    parts = [part for phase in phases for part in phase.whole]
    lasted_s, n = sum(each.duration_s for each in phases), sum(each.n for each in phases)
    whole = Phase((), 0.0, lasted_s, n, whole=parts)
    for phase in phases:
        for injector, n_here in phase.by_injector.items():
            whole.by_injector[injector] = whole.by_injector.get(injector, 0) + n_here
    entries = [*phases, whole] if len(phases) > 1 else []
    rows = [_figures_of_phase(each) for each in entries]
    begins = column_cells([Figure(each.start_s) for each in entries], decimals=2)
    times = column_cells([row["duration"] for row in rows], decimals=2)
    counts = [count_cell(each.n) for each in entries]
    counts = [
        Cell(cell.value, f"≈ {cell.text}", why=_SHARED_OUT) if each.is_shared_out else cell
        for cell, each in zip(counts, entries, strict=True)
    ]
    columns = [
        column_cells([row[key] for row in rows], decimals=1 if key == "rate" else None)
        for key in _FIGURES
    ]
    shares = [text_cell(_shares(phase)) for phase in entries]
    cells = zip(begins, times, counts, *columns, shares, strict=True)
    return Table(
        "phases",
        "Phases",
        tuple(METRICS[key].column() for key in _PHASE_COLUMNS),
        tuple(
            Row(_phase_label(index, phase), each, "phase" if phase.injectors else "total")
            for index, (each, phase) in enumerate(zip(cells, entries, strict=True))
        ),
        label_title="processes at work",
        note=f"{_EXACT if is_exact else _WHOLE} The rate of a phase is not that of the run.",
    )


def _shares(phase: Phase) -> str:
    """What part of a phase's requests each process had; of many the least and the most."""
    shares = [(count / phase.n, number) for number, count in sorted(phase.by_injector.items())]
    if len(shares) > _MOST_SHARES:
        shares = [min(shares), max(shares)]
    return ", ".join(f"{number + 1}: {percent(share)}" for share, number in shares)


def _phase_label(index: int, phase: Phase) -> str:
    if not phase.injectors:
        return "All phases"
    roman = _ROMAN[index] if index < len(_ROMAN) else str(index + 1)
    return f"{roman}: {' + '.join(str(number + 1) for number in phase.injectors)}"


def _figures_of_phase(phase: Phase) -> dict[str, Figure]:
    n, duration_s, parts = phase.n, phase.duration_s, phase.whole
    n_timed = sum(part.n for part in parts)
    times_us = {
        "mean": sum(part.sum_us for part in parts) / n_timed if n_timed else None,
        "min": min((part.min_us for part in parts), default=0) if n_timed else None,
        "max": max((part.max_us for part in parts), default=0) if n_timed else None,
    }
    return {
        "duration": Figure(duration_s),
        "rate": Figure(n / duration_s),
        "interval": Figure(1000 * duration_s / n if n else None, "Nothing ended in this phase."),
        **{key: Figure(in_ms(value), _NO_SECOND) for key, value in times_us.items()},
    }


_HOP_PERCENTILES = (P50, P90, P95, P99)


def hop_words(nth: int) -> str:
    """What the row of one request of those that were redirected is called."""
    return f"redirect {nth}" if nth else "as planned"


def redirects_words(total: Total) -> str:
    """How many there were, of all ok requests; "" for none."""
    n_redirects = sum(total.timing(name).n for name in HOPS[1:])
    if not n_redirects:
        return ""
    n_ok = total.timing("response").n
    n_redirected = total.timing(HOPS[0]).n
    return (
        f"{n_redirects / n_ok:.2f} redirects on average; {n_redirected:,} of {n_ok:,} ok had any."
    )


def redirects_table(total: Total) -> Table:
    """A row for each request of those that were redirected; no rows where none was."""
    hops = [(nth, total.timing(hop(nth))) for nth in range(len(HOPS))]
    timings = [timing for _, timing in hops if timing.n]
    figures = time_figures(timings, _HOP_PERCENTILES)
    columns = [*map(column_cells, figures), [count_cell(timing.n) for timing in timings]]
    keys = ("mean", *(name(q) for q in _HOP_PERCENTILES), "max", "n")
    return Table(
        "redirects",
        "Redirects",
        tuple(METRICS[key].column() for key in keys),
        tuple(
            Row(hop_words(nth), cells, hop(nth))
            for nth, cells in enumerate(zip(*columns, strict=True))
        ),
        label_title="request",
        note=f"{redirects_words(total)} A request is counted once, and its response time has all "
        "of its redirects."
        if timings
        else "",
    )


_SESSION_PERCENTILES = (P50, P90, P95, P99)
# The most frequent lengths; the others have a row together.
_MOST_LENGTHS = 20


def session_tables(run: Measurement) -> tuple[Table, ...]:
    """Durations and lengths; none where no session arrived."""
    sessions = session_figures(run.total, run.duration_s)
    if sessions is None:
        return ()
    counts = sessions.lengths
    frequent = sorted(counts, key=lambda length: -counts[length])[:_MOST_LENGTHS]
    rows = [(length_name(length), counts[length]) for length in sorted(frequent)]
    n_all = sum(counts.values())
    if n_others := n_all - sum(count for _, count in rows):
        rows.append(("other lengths", n_others))
    shares = column_cells([Figure(100 * count / n_all) for _, count in rows], decimals=2)
    lengths = Table(
        "session_lengths",
        "Session lengths",
        tuple(METRICS[key].column() for key in ("count", "share_of_sessions")),
        tuple(
            Row(label, (count_cell(count), share), "length")
            for (label, count), share in zip(rows, shares, strict=True)
        ),
        label_title="ok requests",
        note="For sessions that ended, ok or failed: how many of their requests were ok.",
    )
    tables = _durations(run, sessions), lengths
    return tuple(table for table in tables if table.rows)


def _durations(run: Measurement, sessions: SessionFigures) -> Table:
    """Of all sessions, then of each flow's."""
    flows = run.plan.flows
    totals = [
        ("", run.total),
        *((f"{each.name}: ", own) for each, own in zip(flows, run.flows, strict=True)),
    ]
    parts = [
        (title, total, part) for title, total in totals for part in SESSIONS if total.timing(part).n
    ]
    columns = timed_columns(
        [(total, part, run.duration_s) for _, total, part in parts], _SESSION_PERCENTILES
    )
    keys = ("per_second", "mean", *(name(q) for q in _SESSION_PERCENTILES), "max", "n")
    return Table(
        "sessions",
        "Sessions",
        tuple(METRICS[key].column() for key in keys),
        tuple(
            Row(f"{flow}{METRICS[part].title}", cells, part)
            for (flow, _, part), cells in zip(parts, zip(*columns, strict=True), strict=True)
        ),
        label_title="session",
        note=_sessions_text(sessions),
    )


def _sessions_text(sessions: SessionFigures) -> str:
    texts = [f"{sessions.started:,} due, {sessions.ok:,} ok, {sessions.failed:,} failed"]
    if sessions.dropped:
        texts.append(f"{sessions.dropped:,} dropped before they started")
    if sessions.open_at_end:
        texts.append(f"{sessions.open_at_end:,} not finished")
    if sessions.connections_each is not None:
        texts.append(f"{sessions.connections_each:.2f} connections each")
    if sessions.calls_retried:
        texts.append(f"{counted(sessions.calls_retried, 'requests')} retried after a failure")
    if sessions.calls_skipped:
        texts.append(
            f"{counted(sessions.calls_skipped, 'requests')} not sent after a failure or a drop"
        )
    return "; ".join(texts) + "."


_KINDS = (("full", False), ("resumed", True))


def tls_facts(endpoint: Origin, ends: Sequence[InjectorEnd]) -> list[list[str]]:
    """[[name, value], …]; [] for an endpoint without TLS."""
    if not endpoint.is_tls:
        return []
    handshakes = [each for end in ends for each in end.tls]
    return [
        ["Certificate verified", "yes" if endpoint.verify_tls else "no"],
        *(["Chosen", words] for words in endpoint.tls.words()),
        *([name, count(number)] for name, number in sorted(_agreements(handshakes).items())),
        *(["Certificate", words] for words in certificates_of(ends)),
        *_bytes(handshakes),
        ["Early data", "never sent"],
        *(["Library", name] for name in tls_libraries_of(ends)),
    ]


def certificates_of(ends: Iterable[InjectorEnd]) -> list[str]:
    """The servers' keys with the size of their chains, each once: ECDSA secp256r1, 1,204 B sent."""
    return sorted(
        {
            f"{each.certificate or 'unknown key'}, {count(each.chain_bytes)} B sent"
            for end in ends
            for each in end.tls
            if each.chain_bytes
        }
    )


def handshake_lines(ends: Iterable[InjectorEnd]) -> list[str]:
    """For a terminal: what was agreed on how often, then the bytes of a handshake."""
    handshakes = [each for end in ends for each in end.tls]
    lines = [f"TLS: {name}: {count(n)}" for name, n in sorted(_agreements(handshakes).items())]
    return [*lines, *(f"{name}: {words}" for name, words in _bytes(handshakes))]


def _agreements(handshakes: Iterable[TlsHandshakes]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in handshakes:
        kind = "resumed" if each.resumed else "full"
        counts[f"{each.agreed}, {each.bits} bits, {kind}"] += each.count
    return counts


def _bytes(handshakes: Sequence[TlsHandshakes]) -> Iterator[list[str]]:
    for kind, is_resumed in _KINDS:
        rows = [each for each in handshakes if each.resumed == is_resumed]
        if not rows or any(each.bytes_received is None for each in rows):
            continue
        n = sum(each.count for each in rows)
        bytes_out = figure(sum(each.bytes_sent for each in rows) / n)
        bytes_in = figure(sum(each.bytes_received for each in rows) / n)
        yield [f"Bytes of a {kind} handshake, mean", f"{bytes_out} B sent, {bytes_in} B received"]

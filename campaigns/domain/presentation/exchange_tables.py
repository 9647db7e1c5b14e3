"""The tables of WebSocket measurements: handshakes and messages, and the codes of close frames."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.metrics.figures import percentiles_us
from campaigns.domain.metrics.snapshot import Timing, Total, late
from campaigns.domain.percentiles import P50, P90, P95, P99, P999, Shown, name, shown, why_not_shown
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
from campaigns.domain.units import counted

EXCHANGE_TIMINGS = ("handshake", "message", "close")
EXCHANGE_PERCENTILES = (P50, P90, P95, P99, P999)
_KEYS = ("per_second", "mean", *(name(q) for q in EXCHANGE_PERCENTILES), "max", "n")
_CODE = "close_code_"
_CODE_WORDS = {
    1000: "normal closure",
    1001: "the server is going away",
    1002: "the server saw a protocol error",
    1003: "the server does not accept this type of data",
    1005: "a close frame without a code",
    1006: "no close frame",
    1007: "the server got data that did not match its type",
    1008: "against the server's policy",
    1009: "a message too big for the server",
    1010: "the server requires an extension",
    1011: "the server had an internal error",
    1012: "the server is restarting",
    1013: "the server asked to try again later",
    1014: "a gateway got an invalid response",
}


def exchange_table(total: Total, duration_s: float) -> Table:
    """Handshakes and messages of a WebSocket run; no rows for another."""
    return exchanges_table("exchange", [("", total, duration_s)])


def exchanges_table(key: str, runs: Sequence[tuple[str, Total, float]]) -> Table:
    """A row for each timing of each (label, total, seconds); those without handshakes have none."""
    parts = [
        (label, part, total, duration_s)
        for label, total, duration_s in runs
        for part in EXCHANGE_TIMINGS
        if total.timing("handshake").n and total.timing(part).n
    ]
    columns = timed_columns(
        [(total, part, duration_s) for _, part, total, duration_s in parts], EXCHANGE_PERCENTILES
    )
    rows = (
        Row(f"{label}: {METRICS[part].title}" if label else METRICS[part].title, cells, part)
        for (label, part, *_), cells in zip(parts, zip(*columns, strict=True), strict=True)
    )
    n_sent, n_received = (
        sum(total.count(name) for _, total, _ in runs)
        for name in ("messages_sent", "messages_received")
    )
    others = sum(total.count("messages_other") for _, total, _ in runs)
    no_replies = f", {others:,} of them no replies" if others else ""
    note = f"{counted(n_sent, 'messages')} sent, {n_received:,} received{no_replies}."
    if not n_sent and not n_received:
        note = "No messages: connections were opened and closed."
    return Table(
        key,
        "Handshakes and messages",
        tuple(METRICS[each].column() for each in _KEYS),
        tuple(rows),
        label_title="part",
        note=note if parts else "",
    )


def timed_columns(
    rows: Sequence[tuple[Total, str, float]], percentiles: Sequence[int]
) -> list[list[Cell]]:
    """Of each (total, timing, seconds): how many a second, the mean, these percentiles and the
    maximum in ms, and how many there are."""
    timings = [total.timing(part) for total, part, _ in rows]
    # How many ended in the measured time, per second of it.
    rates_per_s = [
        (total.timing(part).n - total.count(late(_COUNTERS.get(part, "ok")))) / duration_s
        if duration_s
        else None
        for total, part, duration_s in rows
    ]
    figures = [[Figure(each) for each in rates_per_s], *time_figures(timings, percentiles)]
    return [*map(column_cells, figures), [count_cell(timing.n) for timing in timings]]


def time_figures(timings: Sequence[Timing], percentiles: Sequence[int]) -> list[list[Figure]]:
    """All means, then all of each percentile, then all maxima, in ms."""
    return [
        [Figure(timing.mean_us / 1000) for timing in timings],
        *([percentile_figure(timing, q) for timing in timings] for q in percentiles),
        [Figure(timing.max_us / 1000) for timing in timings],
    ]


# What counts the ends of a timing, where it is not of ok requests.
_COUNTERS = {
    "message": "messages_received", "session": "sessions_ok", "session_failed": "sessions_failed",
}  # fmt: skip


def percentile_figure(timing: Timing, q: int) -> Figure:
    """A percentile in ms, or why it may not be shown: a request may have none of these times, as a
    connect, or many, as messages."""
    verdict = shown(timing.n, q)
    why = why_not_shown(timing.n, q, "values")
    if verdict is Shown.NO:
        return Figure(None, why)
    return Figure(percentiles_us(timing, (q,))[q] / 1000, why, weak=verdict is Shown.WEAK)


def close_codes(total: Total) -> dict[int, int]:
    """How the opened connections ended, by the code of the server's close frame."""
    return {
        int(key.removeprefix(_CODE)): number
        for key, number in sorted(total.counters.items())
        if key.startswith(_CODE) and number
    }


def close_words(code: int) -> str:
    if 3000 <= code <= 3999:
        return "a registered code of a protocol"
    return _CODE_WORDS.get(code, "the application's own code")


def closes_table(total: Total) -> Table:
    """A row for each close code; no rows where no WebSocket was opened."""
    codes = close_codes(total)
    n_opened = sum(codes.values())
    shares = column_cells(
        [Figure(100 * number / n_opened) for number in codes.values()], decimals=2
    )
    columns = tuple(METRICS[key].column() for key in ("words", "count", "share_of_opened"))
    rows = tuple(
        Row(str(code), (text_cell(close_words(code)), count_cell(number), share), "code")
        for (code, number), share in zip(codes.items(), shares, strict=True)
    )
    note = "Code of the server's close frame; every opened connection has one." if codes else ""
    return Table("closes", "Close codes", columns, rows, "code", note)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What the counted runs of a WebSocket test measured. `most_open`: connections at once."""

    label: str
    total: Total
    duration_s: float
    most_open: int | None


def campaign_exchange_tables(tests: Sequence[Exchanged]) -> tuple[Table, ...]:
    """Timings and counts of each WebSocket test; none without such tests."""
    timings = exchanges_table(
        "exchanges", [(each.label, each.total, each.duration_s) for each in tests]
    )
    return (timings, _connections_table(tests)) if timings.rows else ()


def _connections_table(tests: Sequence[Exchanged]) -> Table:
    """A row for each test: connections, messages, and a column for each close code that came."""
    codes = [close_codes(each.total) for each in tests]
    columns = {
        "opened": [count_cell(sum(each.values())) for each in codes],
        "most_open": [
            count_cell(each.most_open or None, "No connection was open at the end of a second.")
            for each in tests
        ],
        "messages_per_s": column_cells([_messages_per_s(each) for each in tests]),
    }
    came = sorted({code for each in codes for code in each})
    by_code = [[count_cell(each.get(code, 0)) for each in codes] for code in came]
    cells = zip(*columns.values(), *by_code, strict=True)
    return Table(
        "connections",
        "Connections and close codes",
        (
            *(METRICS[key].column() for key in columns),
            *(Column(f"close_{code}", f"closed {code}", help=close_words(code)) for code in came),
        ),
        tuple(Row(each.label, row, "test") for each, row in zip(tests, cells, strict=True)),
        label_title="test",
        note="From the same runs as mean and pooled. Every opened connection has one close code.",
    )


def _messages_per_s(each: Exchanged) -> Figure:
    number = max(each.total.in_time(name) for name in ("messages_sent", "messages_received"))
    return Figure(number / each.duration_s if each.duration_s else None, "Nothing was measured.")


_NO_EXCHANGE = "Not a WebSocket run."


def exchange_columns(runs: Sequence[tuple[Total, float] | None]) -> list[list[Cell]]:
    """Handshake p50, p99 and messages/s of each (total, seconds), for lists of runs of any kind."""
    by_name = [exchange_figures(*each) if each else {} for each in runs]
    columns = []
    for key in ("handshake p50, ms", "handshake p99, ms", "messages/s"):
        none = Figure(None, f"No {key}: connections were opened and closed.")
        figures = [each.get(key, none) if each else Figure(None, _NO_EXCHANGE) for each in by_name]
        columns.append(column_cells(figures))
    return columns


def exchange_figures(total: Total | None, duration_s: float) -> dict[str, Figure]:
    """What two runs are compared by, in words: handshake p95, ms; messages/s."""
    if total is None or not total.timing("handshake").n:
        return {}
    figures = {
        f"{part} {name(q)}, ms": percentile_figure(total.timing(part), q)
        for part in EXCHANGE_TIMINGS
        if total.timing(part).n
        for q in (P50, P95, P99)
    }
    if total.timing("message").n:
        figures["messages/s"] = _messages_per_s(Exchanged("", total, duration_s, None))
    return figures

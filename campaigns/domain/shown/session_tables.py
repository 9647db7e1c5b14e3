"""The tables of a run to which whole sessions came: how long they took, and how far they got."""

from collections.abc import Mapping

from campaigns.domain.measured.sessions import SessionFigures, length_name, session_figures
from campaigns.domain.measured.snapshot import SESSIONS, Total
from campaigns.domain.percentiles import P50, P90, P95, P99, name
from campaigns.domain.shown.cells import Figure, column_cells, count_cell
from campaigns.domain.shown.exchange_tables import percentile_figure
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Row, Table
from campaigns.domain.units import counted

_PERCENTILES = (P50, P90, P95, P99)
# The most frequent lengths; the others have a row together.
_MOST_LENGTHS = 20


def session_tables(total: Total, duration_s: float) -> tuple[Table, ...]:
    """Durations and lengths; none where no session arrived."""
    seen = session_figures(total, duration_s)
    if seen is None:
        return ()
    tables = _durations(total, duration_s, seen), _lengths(seen.lengths)
    return tuple(table for table in tables if table.rows)


def _durations(total: Total, duration_s: float, seen: SessionFigures) -> Table:
    parts = [part for part in SESSIONS if total.timing(part).n]
    timings = [total.timing(part) for part in parts]
    figures = [
        [Figure(timing.n / duration_s if duration_s else None) for timing in timings],
        [Figure(timing.mean_us / 1000) for timing in timings],
        *([percentile_figure(timing, q) for timing in timings] for q in _PERCENTILES),
        [Figure(timing.max_us / 1000) for timing in timings],
    ]
    columns = [column_cells(column) for column in figures]
    columns.append([count_cell(timing.n) for timing in timings])
    keys = ("per_second", "mean", *(name(q) for q in _PERCENTILES), "max", "n")
    return Table(
        "sessions",
        "Sessions",
        tuple(METRICS[key].column() for key in keys),
        tuple(
            Row(METRICS[part].title, cells, part)
            for part, cells in zip(parts, zip(*columns, strict=True), strict=True)
        ),
        label_title="session",
        note=_said(seen),
    )


def _said(seen: SessionFigures) -> str:
    said = [f"{seen.started:,} due, {seen.ok:,} ok, {seen.failed:,} failed"]
    if seen.dropped:
        said.append(f"{seen.dropped:,} dropped before they started")
    if seen.open_at_end:
        said.append(f"{seen.open_at_end:,} not finished")
    if seen.connections_each is not None:
        said.append(f"{seen.connections_each:.2f} connections each")
    if seen.calls_retried:
        said.append(f"{counted(seen.calls_retried, 'requests')} retried after a failure")
    if seen.calls_skipped:
        said.append(f"{counted(seen.calls_skipped, 'requests')} not sent after a failure or a drop")
    return "; ".join(said) + "."


def _lengths(lengths: Mapping[int, int]) -> Table:
    frequent = sorted(lengths, key=lambda length: -lengths[length])[:_MOST_LENGTHS]
    rows = [(length_name(length), lengths[length]) for length in sorted(frequent)]
    n_all = sum(lengths.values())
    if n_others := n_all - sum(count for _, count in rows):
        rows.append(("other lengths", n_others))
    shares = column_cells([Figure(100 * count / n_all) for _, count in rows], decimals=2)
    return Table(
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

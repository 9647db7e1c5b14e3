"""The slowest requests of a run: a table, remarks as people make them of single ones, and lines for
a terminal. And its errors, or a campaign's: a row for each kind, status and step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.metrics.kept_requests import (
    COLUMNS,
    N_SLOWEST,
    PART_COLUMNS,
    KeptRequest,
    KeptRequests,
)
from campaigns.domain.metrics.outcomes import (
    CLIENT_KINDS,
    FailureRow,
    Kind,
    kind_words,
    row_words,
    status_words,
)
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.percentiles import P50, P95
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Cell,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    empty,
    text_cell,
)
from campaigns.domain.presentation.what_to_do import remedy
from campaigns.domain.units import counted, decimals_for_parts, duration, figure, in_ms

_NO_PART = "It did not have this part."
# An outlier took longer than the next round time above this many times the p95; of few requests,
# where it may be the p95 itself, the p50, and long enough for people to notice.
_FAR = 10
_FEW, _NOTICED_US = 100, 100_000
_ROUND_STEPS = (1, 2, 5)
_MOST_NAMED = 3
_MOST_LINES = 3


def slowest_table(requests: KeptRequests, plan: Plan) -> Table:
    """No rows where nothing was kept."""
    slowest = requests.slowest()
    parts = [
        name for name in PART_COLUMNS if any(getattr(row, name) is not None for row in slowest)
    ]
    has_steps = len(plan.labels) > 1
    times = [[in_ms(getattr(row, name)) for row in slowest] for name in ("response_us", *parts)]
    decimals = decimals_for_parts(value for column in times for value in column)
    figures = [[Figure(value, _NO_PART) for value in column] for column in times]
    columns = [
        *([[text_cell(_label_of(plan, row)) for row in slowest]] if has_steps else []),
        column_cells([Figure(row.start_us / 1e6) for row in slowest], decimals=3),
        *(column_cells(column, decimals=decimals) for column in figures),
        [text_cell(_ending(row)) for row in slowest],
    ]
    keys = [*(["step"] if has_steps else []), "begins", "response"]
    keys += [*(name.removesuffix("_us") for name in parts), "status"]
    return Table(
        "slowest",
        f"Slowest {plan.nouns}",
        tuple(METRICS[key].column() for key in keys),
        tuple(
            Row(_number(row, requests), cells, "request")
            for row, cells in zip(slowest, zip(*columns, strict=True), strict=True)
        ),
        label_title="request",
        note="The number counts those that the injector process began. Failed ones are included.",
    ).said_of(plan.nouns)


def outlier_words(requests: KeptRequests, response: Timing, plan: Plan) -> str:
    """Which few took far longer than the others; "" where none did, or where these are many."""
    are_few = response.n < _FEW
    typical_us = response.percentile_us(P50 if are_few else P95)
    if not typical_us:
        return ""
    limit_us = _round_above(max(_FAR * typical_us, _NOTICED_US if are_few else 0))
    slow = [row for row in requests.slowest() if row.response_us > limit_us]
    if not 0 < len(slow) < (min(N_SLOWEST, response.n / 4) if are_few else N_SLOWEST):
        return ""
    texts = [_words(row, plan, requests) for row in slow[:_MOST_NAMED]]
    if n_more := len(slow) - len(texts):
        texts.append(f"and {n_more} more")
    limit = duration(limit_us / 1e6) if limit_us >= 1e6 else f"{figure(limit_us / 1000)} ms"
    return f"{counted(len(slow), plan.nouns)} took longer than {limit}: {'; '.join(texts)}."


def slowest_lines(requests: KeptRequests, plan: Plan) -> list[str]:
    """The first few, for a terminal; [] where nothing was kept."""
    slowest = requests.slowest(_MOST_LINES)
    lines = [
        f"{figure(row.response_us / 1000):>10} ms  {_words(row, plan, requests)}" for row in slowest
    ]
    return [f"Slowest {plan.nouns}:", *lines] if lines else []


_MARKS = {True: "ok", False: "failed"}


def drawn_columns(requests: KeptRequests, plan: Plan) -> dict[str, list[Any]]:
    """What a chart of all requests draws and says, {} where they are too many: numbers by `s` and
    `ms`, the `mark` of each, and the texts of its row under `head`."""
    if not requests.is_drawn:
        return {}
    columns: dict[str, list[Any]] = {name: [] for name in ("s", "ms", "mark", "texts")}
    for row in requests.rows:
        is_warm_up = row.number is None
        name = "warm-up" if is_warm_up else _number(row, requests)
        response, end = figure(row.response_us / 1000), _ending(row) or "ok"
        columns["s"].append(row.start_us / 1e6)
        columns["ms"].append(row.response_us / 1000)
        columns["mark"].append("warm-up" if is_warm_up else _MARKS[not row.kind])
        at = f"{row.start_us / 1e6:.3f}".replace("-", "\u2212")
        columns["texts"].append([name, at, _label_of(plan, row), response, end])
    return columns | {"head": ["", "begins, s", "step", "response, ms", "status"]}


def csv_rows(requests: KeptRequests) -> Iterator[list[Any]]:
    """The head, then a row for each request. Processes and steps count from 1, times are µs."""
    yield ["process", *COLUMNS]
    for row in requests.rows:
        values = {name: getattr(row, name) for name in COLUMNS} | {"step": row.step + 1}
        yield [row.injector + 1, *values.values()]


def _words(row: KeptRequest, plan: Plan, requests: KeptRequests) -> str:
    step = f"step {row.step + 1}" if len(plan.labels) > 1 else ""
    start_s = row.start_us / 1e6
    at = f"at {start_s:,.1f} s" if start_s >= 1 else f"at {figure(start_s)} s"
    end = _ending(row) if row.kind else ""
    return ", ".join(filter(None, (_number(row, requests), step, at, end)))


def _ending(row: KeptRequest) -> str:
    """503, or what failed; "" of a message that was answered."""
    if row.kind in {"", Kind.STATUS_UNEXPECTED}:
        return str(row.status or "")
    return kind_words(row.kind)


def _number(row: KeptRequest, requests: KeptRequests) -> str:
    whose = f" of process {row.injector + 1}" if requests.has_several_injectors else ""
    return f"no. {row.number:,}{whose}"


def _label_of(plan: Plan, row: KeptRequest) -> str:
    labels: Sequence[str] = plan.full_labels
    return labels[row.step] if 0 <= row.step < len(labels) else ""


def _round_above(value: float) -> float:
    power = 1.0
    while power * _ROUND_STEPS[-1] < value:
        power *= 10
    return next(step * power for step in _ROUND_STEPS if step * power >= value)


@dataclass(frozen=True, slots=True)
class Errors:
    """`rows` are those behind the table's, in its order; `length_s`: the run's measured seconds.

    `is_everything`: not one attempt was ok.
    """

    table: Table
    rows: tuple[FailureRow, ...]
    length_s: float
    is_everything: bool
    n_attempts: int


_KEYS = ("status", "step", "count", "share_of_requests", "first", "last", "reply_p50")
MOST_ROWS = 12
_SHOWN_OF_MORE = 10
_NO_SECOND = "Not known second by second."
_NO_REPLY = "No reply came back whole."


def errors_of(
    rows: Sequence[FailureRow],
    labels: Sequence[str],
    steps: Sequence[Total],
    attempts: int,
    length_s: float,
) -> Errors:
    """The most frequent first; over MOST_ROWS the first ten and the sum of the others.

    `steps` are the totals behind `labels`, for the times of failed replies.
    """
    n_shown = len(rows) if len(rows) <= MOST_ROWS else _SHOWN_OF_MORE
    first, others = rows[:n_shown], rows[n_shown:]
    rest = FailureRow(-1, "", 0)
    for row in others:
        rest.merge(row)
    table_rows = (*first, *([rest] if others else []))
    shares = column_cells(
        [Figure(100 * row.count / attempts if attempts else None) for row in table_rows], decimals=2
    )
    times = column_cells([_reply_p50(row, rows, steps) for row in table_rows])
    cells = [
        _row(row, labels, share, time)
        for row, share, time in zip(table_rows, shares, times, strict=True)
    ]
    if others:
        label = f"{len(others)} other kinds"
        cells[-1] = Row(label, (text_cell(""), text_cell(""), *cells[-1].cells[2:]), "others")
    n_failed = sum(row.count for row in rows)
    columns = tuple(METRICS[key].column() for key in _KEYS)
    note = f"by kind, status and step; {n_failed:,} of {attempts:,}, most frequent first"
    table = Table("errors", "Errors", columns, tuple(cells), "kind", note)
    return Errors(table, table_rows, length_s, 0 < attempts <= n_failed, attempts)


def _row(row: FailureRow, labels: Sequence[str], share: Cell, time: Cell) -> Row:
    label = labels[row.step] if 0 <= row.step < len(labels) else ""
    tone = "warn" if row.kind in CLIENT_KINDS else "bad"
    cells = (
        text_cell(status_words(row.status)) if row.status else empty(_NO_REPLY),
        text_cell(label),
        count_cell(row.count, tone=tone),
        share,
        count_cell(row.first, _NO_SECOND),
        count_cell(row.last, _NO_SECOND),
        time,
    )
    link = {"step": row.step, "error": row.kind, "status": row.status}
    return Row(row_words(row), cells, "error", remedy(row.kind, row.status, row.details), link)


def _reply_p50(row: FailureRow, rows: Sequence[FailureRow], steps: Sequence[Total]) -> Figure:
    """In ms; of a step whose failed replies all have one status."""
    if not row.status or not 0 <= row.step < len(steps):
        return Figure(None, _NO_REPLY)
    statuses = {each.status for each in rows if each.step == row.step and each.status}
    timing = steps[row.step].timing("failed_reply")
    p50_us = timing.percentile_us(P50)
    if p50_us is None:
        return Figure(None, "The injector did not time failed replies.")
    if len(statuses) > 1:
        return Figure(None, f"With the step's other statuses together: {p50_us / 1000:.3g} ms.")
    return Figure(p50_us / 1000)

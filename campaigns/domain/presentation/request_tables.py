"""The slowest requests of a run: a table, remarks as people make them of single ones, and lines for
a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from campaigns.domain.metrics.kept_requests import (
    COLUMNS,
    N_SLOWEST,
    PART_COLUMNS,
    KeptRequest,
    KeptRequests,
)
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import P50, P95
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import Figure, Row, Table, column_cells, text_cell
from campaigns.domain.units import counted, decimals_for_parts, duration, figure, in_ms

_NO_PART = "It did not have this part."
# An outlier took longer than the next round time above this many times the p95; of few requests,
# where it may be the p95 itself, the p50, and long enough for people to notice.
_FAR = 10
_FEW, _NOTICED_US = 100, 100_000
_ROUND_STEPS = (1, 2, 5)
_MOST_NAMED = 3
_MOST_LINES = 3


def slowest_table(kept: KeptRequests, plan: Plan) -> Table:
    """No rows where nothing was kept."""
    slowest = kept.slowest()
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
        [text_cell(row.kind or str(row.status or "")) for row in slowest],
    ]
    keys = [*(["step"] if has_steps else []), "begins", "response"]
    keys += [*(name.removesuffix("_us") for name in parts), "status"]
    return Table(
        "slowest",
        f"Slowest {plan.nouns}",
        tuple(METRICS[key].column() for key in keys),
        tuple(
            Row(_number(row, kept), cells, "request")
            for row, cells in zip(slowest, zip(*columns, strict=True), strict=True)
        ),
        label_title="request",
        note="The number counts those that the injector process began. Failed ones are included.",
    ).said_of(plan.nouns)


def outlier_words(kept: KeptRequests, response: Timing, plan: Plan) -> str:
    """Which few took far longer than the others; "" where none did, or where these are many."""
    are_few = response.n < _FEW
    typical_us = response.percentile_us(P50 if are_few else P95)
    if not typical_us:
        return ""
    limit_us = _round_above(max(_FAR * typical_us, _NOTICED_US if are_few else 0))
    slow = [row for row in kept.slowest() if row.response_us > limit_us]
    if not 0 < len(slow) < (min(N_SLOWEST, response.n / 4) if are_few else N_SLOWEST):
        return ""
    named = [_words(row, plan, kept) for row in slow[:_MOST_NAMED]]
    if n_more := len(slow) - len(named):
        named.append(f"and {n_more} more")
    limit = duration(limit_us / 1e6) if limit_us >= 1e6 else f"{figure(limit_us / 1000)} ms"
    return f"{counted(len(slow), plan.nouns)} took longer than {limit}: {'; '.join(named)}."


def slowest_lines(kept: KeptRequests, plan: Plan) -> list[str]:
    """The first few, for a terminal; [] where nothing was kept."""
    slowest = kept.slowest(_MOST_LINES)
    lines = [
        f"{figure(row.response_us / 1000):>10} ms  {_words(row, plan, kept)}" for row in slowest
    ]
    return [f"Slowest {plan.nouns}:", *lines] if lines else []


_MARKS = {True: "ok", False: "failed"}


def drawn_columns(kept: KeptRequests, plan: Plan) -> dict[str, list[Any]]:
    """What a chart of all requests draws and says, {} where they are too many: numbers by `s` and
    `ms`, the `mark` of each, and the texts of its row under `head`."""
    if not kept.is_drawn:
        return {}
    columns: dict[str, list[Any]] = {name: [] for name in ("s", "ms", "mark", "texts")}
    for row in kept.rows:
        is_warm_up = row.number is None
        name = "warm-up" if is_warm_up else _number(row, kept)
        response, end = figure(row.response_us / 1000), row.kind or str(row.status or "ok")
        columns["s"].append(row.start_us / 1e6)
        columns["ms"].append(row.response_us / 1000)
        columns["mark"].append("warm-up" if is_warm_up else _MARKS[not row.kind])
        at = f"{row.start_us / 1e6:.3f}".replace("-", "\u2212")
        columns["texts"].append([name, at, _label_of(plan, row), response, end])
    return columns | {"head": ["", "begins, s", "step", "response, ms", "status"]}


def csv_rows(kept: KeptRequests) -> Iterator[list[Any]]:
    """The head, then a row for each request. Processes and steps count from 1, times are µs."""
    yield ["process", *COLUMNS]
    for row in kept.rows:
        values = {name: getattr(row, name) for name in COLUMNS} | {"step": row.step + 1}
        yield [row.injector + 1, *values.values()]


def _words(row: KeptRequest, plan: Plan, kept: KeptRequests) -> str:
    step = f"step {row.step + 1}" if len(plan.labels) > 1 else ""
    start_s = row.start_us / 1e6
    at = f"at {start_s:,.1f} s" if start_s >= 1 else f"at {figure(start_s)} s"
    return ", ".join(filter(None, (_number(row, kept), step, at, row.kind)))


def _number(row: KeptRequest, kept: KeptRequests) -> str:
    whose = f" of process {row.injector + 1}" if kept.has_several_injectors else ""
    return f"no. {row.number:,}{whose}"


def _label_of(plan: Plan, row: KeptRequest) -> str:
    labels: Sequence[str] = plan.full_labels
    return labels[row.step] if 0 <= row.step < len(labels) else ""


def _round_above(value: float) -> float:
    power = 1.0
    while power * _ROUND_STEPS[-1] < value:
        power *= 10
    return next(step * power for step in _ROUND_STEPS if step * power >= value)

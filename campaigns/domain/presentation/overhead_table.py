"""What one arm takes more than another: a table, a forest of ratios, and the mean by its parts.

By default HTTPS against HTTP, whose names stand for any two arms in what follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Column,
    Format,
    Row,
    Table,
    pair_figures,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.units import decimals_for, decimals_for_parts, rounded_to_sum


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """The mean response time by parts: [{"label", "scheme", "parts": {part: ms|None}, "total_ms"}].

    Parts are dns, connect, tls, send, wait, receive and lateness; rounded, they add up to the
    total. `is_typical`: of the quieter rounds, without what the injector added.
    """

    rows: list[dict[str, Any]]
    decimals: int
    is_typical: bool = False


@dataclass(frozen=True, slots=True)
class OverheadAnswer:
    """A test (the candidate) against another (the baseline), by default HTTPS against HTTP.

    `table`: rows metric; columns of both, difference, ratio, low, high, increase, share, word.
    `forest`: [{"metric", "ratio", "low", "high", "word", "primary"}] of the rows with an interval.
    `like_for_like`: {"same": [[k, v]], "equal": [[k, v]], "different": [[k, both]]}.
    `word` is "" before the third finished repeat; `word_reason` says why a word is missing or weak.
    `is_chosen`: by a user, among all tests. `more`: about how many more blocks would settle it,
    `more_s`: how many more seconds of turns; None where it is settled, or where more would not
    help. `confidence`: of its intervals.
    `narrowing`: how these narrowed over the rounds of arms that took turns, as rows of `forest`
    with `rounds` and `seconds`. `at_least`: the machine hid a part of the difference. `has_size`:
    else only its direction is known.
    """

    plan_label: str
    connection_mode: str
    baseline_test_id: int
    candidate_test_id: int
    table: Table
    forest: list[dict[str, Any]]
    split: SplitAnswer | None
    word: str
    word_reason: str
    like_for_like: dict[str, list[list[str]]]
    title: str
    names: tuple[str, str]
    is_chosen: bool
    n_usable: int
    more: int | None
    # For what else is compared of the two: {repeat: run} of those that count, and why no word may
    # be said of them whatever the figures are.
    counted: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    is_paired: bool = False
    blocker: str = ""
    confidence: float = 0.95
    narrowing: Sequence[dict[str, Any]] = ()
    at_least: bool = False
    has_size: bool = True
    more_s: float | None = None


HTTP_NAMES = ("HTTP", "HTTPS")
_TWINS = (HTTP_NAMES, ("WS", "WSS"))
_KEYS = ("http", "https", "difference", "ratio", "low", "high", "increase", "share")
_KEYS_OF_OTHERS = {"http": "baseline", "https": "candidate"}
_PERCENT_DECIMALS = 1
_NOTE = (
    "increase = ratio − 1, (HTTPS − HTTP) / HTTP; share = (HTTPS − HTTP) / HTTPS. Average and "
    "percentiles: mean over runs; the ratio, with its 95 % interval, is the typical one of the "
    "runs, so one outlier moves the means further than it. Min and max: over all requests."
)
_NOTE_OF_ROUNDS = (
    "increase = ratio − 1, (HTTPS − HTTP) / HTTP; share = (HTTPS − HTTP) / HTTPS. Times are of all "
    "requests; ratios, with their 99 % intervals, of rounds in which both took turns."
)
_NO_WORD = "The verdict is in the first row; this one shows whether bulk and tail agree."


def time_decimals(rows: Sequence[PairResult]) -> int:
    """The decimals of all times of the table, by its first row: three significant digits."""
    return decimals_for(
        [us / 1000 for row in rows[:1] for us in (row.baseline, row.candidate) if us]
    )


def difference_decimals(rows: Sequence[PairResult]) -> int:
    """The decimals of all differences: no more than the interval of the first row supports, down to
    half of its width, and no more than the times have."""
    most = time_decimals(rows)
    first = next((row for row in rows[:1] if row.interval), None)
    if first is None:
        return most
    width_ms = (first.interval.high - first.interval.low) * first.interval.baseline / 1000
    return next((places for places in range(most) if width_ms >= 2 * 10**-places), most)


def in_names(text: str, names: tuple[str, str]) -> str:
    """A text about HTTP and HTTPS, with the names of another pair such as WS and WSS."""
    plain, tls = names
    return text.replace("HTTPS", "\0").replace("HTTP", plain).replace("\0", tls)


def _column(key: str, names: tuple[str, str]) -> Column:
    column = METRICS[key].column()
    return replace(
        column,
        key=key if names in _TWINS else _KEYS_OF_OTHERS.get(key, key),
        title=in_names(column.title, names),
        unit=in_names(column.unit, names),
        help=in_names(column.help, names),
    )


def overhead_table(
    key: str,
    title: str,
    rows: Sequence[PairResult],
    word: str,
    word_why: str,
    names: tuple[str, str] = HTTP_NAMES,
    *,
    in_turns: bool = False,
) -> Table:
    """A row per metric; the verdict is in the first row, a flow's in its own. `in_turns`: ratios
    are of rounds.

    `names`: of the baseline and the candidate. Columns of TLS twins keep the keys of their schemes.
    """
    times, percents = Format(time_decimals(rows)), Format(_PERCENT_DECIMALS)
    difference = Format(difference_decimals(rows), signed=True)
    ratios = [Format(is_ratio=True)] * 3
    formats = (times, times, difference, *ratios, percents._replace(signed=True), percents)
    cells = rows_of_cells([[*pair_figures(row).values()] for row in rows], formats)
    of_others = ((str(row.word or ""), "" if row.word else _NO_WORD) for row in rows[1:])
    words = [(word, word_why), *of_others]
    return Table(
        key,
        title,
        tuple(_column(column, names) for column in (*_KEYS, "word")),
        tuple(
            Row(
                _title(row, rows[0]),
                (*of_row, text_cell(*words_of_row)),
                "flow" if row.flow else row.metric,
                row.note,
                {"flow": row.flow} if row.flow else {},
                decides=row is rows[0],
            )
            for row, of_row, words_of_row in zip(rows, cells, words, strict=False)
        ),
        label_title="metric",
        note=in_names(_NOTE_OF_ROUNDS if in_turns else _NOTE, names),
    )


def _title(row: PairResult, first: PairResult) -> str:
    """Beside the median that decides, the one with the injector's part is named apart."""
    is_second = row.metric == "p50" and first.metric == TYPICAL
    title = f"{'measured ' if is_second else ''}{METRICS[row.metric].title}"
    return f"{row.flow}, {title}" if row.flow else title


def forest(rows: Sequence[PairResult], word: str) -> list[dict[str, Any]]:
    """What the plot of ratios draws: the rows that have an interval; the first is primary."""
    return [
        {
            "metric": _title(row, rows[0]),
            "ratio": round(row.interval.ratio, 6),
            "low": round(row.interval.low, 6),
            "high": round(row.interval.high, 6),
            "word": word if row is rows[0] else "",
            "primary": row is rows[0],
        }
        for row in rows
        if row.interval
    ]


def split_answer(
    arms: Sequence[tuple[str, str, dict[str, float | None]]], *, is_typical: bool = False
) -> SplitAnswer | None:
    """The split of HTTP and HTTPS, each (label, scheme, {part: mean µs or None}), in this order.

    Parts are rounded so that they add up to their total. None where an arm has nothing measured.
    """
    if any(all(value is None for value in parts.values()) for _, _, parts in arms):
        return None
    return SplitAnswer(*split_rows(arms), is_typical=is_typical)


def split_rows(
    arms: Sequence[tuple[str, str, Mapping[str, float | None]]],
) -> tuple[list[dict[str, Any]], int]:
    """The rows of a SplitAnswer and their decimals, of any number of arms."""
    decimals = decimals_for_parts(
        value / 1000 for _, _, parts in arms for value in parts.values() if value
    )
    rows = []
    for label, scheme, parts in arms:
        present = {part: value / 1000 for part, value in parts.items() if value is not None}
        whole_parts, total = rounded_to_sum(present, decimals)
        values = {part: float(whole_parts[part]) if part in whole_parts else None for part in parts}
        rows.append({"label": label, "scheme": scheme, "parts": values, "total_ms": float(total)})
    return rows, decimals

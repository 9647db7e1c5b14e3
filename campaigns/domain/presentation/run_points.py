"""A run's points for pages: columns of numbers for the lines, and the formatted text of each
second. JavaScript draws the numbers and shows the text; it formats no figures. And how far a run
is.

Of a long run there are at most MOST_POINTS, with the extremes of all: a screen is some hundred
pixels wide, and a browser should not be sent half a day second by second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor
from typing import Any

from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import kind_words
from campaigns.domain.metrics.series import Point
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.units import clock, count, counted, figure, number, percent, second_text

MOST_POINTS = 1000
# The last five minutes can be looked at alone.
LAST_S = 300
Columns = dict[str, list[Any]]

# What is kept of each stretch of seconds: (column, whether its maximum).
EXTREMES = (
    ("ok", False),
    ("completed", True),
    ("failed", True),
    ("p50_ms", False),
    ("p99_ms", True),
    ("failed_p95_ms", True),
    ("open", True),
)


def thinned(columns: Columns, extremes: Sequence[tuple[str, bool]] = EXTREMES) -> Columns:
    """The columns with `gap`: whether a second is missing between a point and the one before it.
    Over MOST_POINTS, the last five minutes and the extremes of even stretches of the rest."""
    numbers = kept_numbers(columns, extremes=extremes)
    rest = {key: [values[index] for index in numbers] for key, values in columns.items()}
    return {**rest, "gap": list(gaps(columns["second"], numbers))}


def kept_numbers(
    columns: Columns, first: int = 0, extremes: Sequence[tuple[str, bool]] = EXTREMES
) -> list[int]:
    """The numbers of the points that `thinned` keeps; of columns, it needs those of `extremes`."""
    n_points = len(columns["second"])
    numbers = list(range(first, n_points))
    if len(numbers) > MOST_POINTS:
        numbers = sorted(
            {*_extreme_points(columns, extremes, first, n_points - LAST_S), *numbers[-LAST_S:]}
        )
    return numbers


def _extreme_points(
    columns: Columns, extremes: Sequence[tuple[str, bool]], first: int, end: int
) -> Iterator[int]:
    """The numbers of the points that are an extreme of their stretch."""
    n_stretches = (MOST_POINTS - LAST_S) // len(extremes)
    size = -(-(end - first) // n_stretches)
    for start in range(first, end, size):
        stretch = range(start, min(start + size, end))
        for key, is_maximum in extremes:
            indices = [index for index in stretch if columns[key][index] is not None]
            if indices:
                yield (max if is_maximum else min)(indices, key=columns[key].__getitem__)


def gaps(seconds: Sequence[int], numbers: Sequence[int]) -> Iterator[bool]:
    """Whether a second is missing between each kept point and the point before it."""
    before = None if not numbers or not numbers[0] else numbers[0] - 1
    for index in numbers:
        is_first = before is None
        yield not is_first and seconds[index] - seconds[before] != index - before
        before = index


SPARK_S = 120  # of the sparklines
_PERCENTILES = (P50, P95, P99)


def completed(point: Point) -> int:
    """Ok and failed requests that ended in this second; a dropped one was never sent."""
    return point["ok"] + point["failed"]


def point_columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    """{column: [a value for each point]}, as in `_column`."""
    return {key: [make(point) for point in points] for key, make in _COLUMNS.items()}


def thinned_columns(points: Sequence[Point], first: int = 0) -> dict[str, list[Any]]:
    """As `thinned` makes them of `point_columns`, but with texts only of the points it keeps; from
    point number `first` on."""
    before = min(first, 1)  # tells whether a second is missing
    points = points[first - before :]
    names = ["second", *(key for key, _ in EXTREMES)]
    values = {key: [_COLUMNS[key](point) for point in points] for key in names}
    numbers = kept_numbers(values, before)
    columns = point_columns([points[number] for number in numbers])
    return {**columns, "gap": list(gaps(values["second"], numbers))}


def noted_points(points: Sequence[Point]) -> list[Point]:
    """Those that a finished run's page looks at one by one, oldest first: the first point with each
    kind of error, and the last SPARK_S."""
    firsts: dict[str, Point] = {}
    for point in points[:-SPARK_S]:
        for kind in point["errors"]:
            firsts.setdefault(kind, point)
    by_second = {point["second"]: point for point in firsts.values()}
    return [*by_second.values(), *points[-SPARK_S:]]


def _requests_text(point: Point) -> str:
    parts = [f"ok {count(point['ok'])}"]
    if point["failed"]:
        parts.append(f"completed {count(completed(point))}")
    if point["dropped"]:
        parts.append(f"dropped {count(point['dropped'])}")
    return ", ".join(parts)


def percentile_text(point: Point, per_100k: int) -> str:
    """With ~ where fewer than ten requests of this second lie beyond it."""
    mark = "" if not point["ok"] or shown(point["ok"], per_100k) is Shown.OK else "~"
    return mark + figure(point[f"{name(per_100k)}_ms"])


def _response_text(point: Point) -> str:
    ok = "  ".join(f"{name(q)} {percentile_text(point, q)}" for q in _PERCENTILES)
    failed_ms = point.get("failed_p50_ms")
    if failed_ms is None:
        return ok
    replies = f"failed replies p50 {figure(failed_ms)}"
    return f"{ok}  {replies}" if point["ok"] else replies


def _injector_cpu(point: Point) -> float | None:
    """Of the busiest injector process, in % of a core; None where it was not told."""
    share = point.get("cpu_share")
    return None if share is None else round(100 * share, 2)


# The numbers of the lines, then the text of each panel. `failed` includes dropped requests.
_COLUMNS = {
    "second": lambda point: point["second"],
    "ok": lambda point: point["ok"],
    "completed": completed,
    "failed": lambda point: point["failed"] + point["dropped"],
    "errors": lambda point: point["errors"],
    "p50_ms": lambda point: point["p50_ms"],
    "p95_ms": lambda point: point["p95_ms"],
    "p99_ms": lambda point: point["p99_ms"],
    # How many of p50, p95 and p99 have ten requests beyond them in this second.
    "sound": lambda point: sum(shown(point["ok"], q) is Shown.OK for q in _PERCENTILES),
    "failed_p50_ms": lambda point: point.get("failed_p50_ms"),
    "failed_p95_ms": lambda point: point.get("failed_p95_ms"),
    "open": lambda point: point.get("open_connections"),
    "messages": lambda point: point.get("messages", 0),
    "injector_cpu": _injector_cpu,
    "at": lambda point: second_text(point["second"]),
    "requests_text": _requests_text,
    "response_text": _response_text,
    "open_text": lambda point: count(point.get("open_connections")),
    "messages_text": lambda point: count(point.get("messages", 0)),
    "errors_text": lambda point: (
        ", ".join(f"{kind_words(kind)} {count(n)}" for kind, n in point["errors"].items()) or "none"
    ),
    "injector_text": lambda point: (
        "" if (cpu := _injector_cpu(point)) is None else f"injector {figure(cpu)} % of a core"
    ),
}


def now_texts(points: Sequence[Point]) -> dict[str, str]:
    """The last second in which something ended, as the line of a campaign shows it; {} before."""
    point = next((each for each in reversed(points) if completed(each)), None)
    if point is None:
        return {}
    return {
        "rate": count(point["ok"]),
        **{name(q): percentile_text(point, q) for q in _PERCENTILES},
        "errors": counted(point["failed"], "errors") if point["failed"] else "",
    }


MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Progress:
    """`share` of what is planned, 0 where only the target decides how long it takes; `measured`:
    "24 s"; `left`: "37:38 left", "" where that is unknown."""

    share: float
    words: str
    measured: str
    left: str = ""

    @property
    def percent(self) -> str:
        return whole_percent(self.share)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def whole_percent(share: float) -> str:
    """The percent that are full, for a title; "" where nothing is known."""
    return percent(floor(round(share * 100, 2)) / 100, decimals=0) if share else ""


def progress_of(run: Measurement) -> Progress:
    planned_s, last = planned_duration_s(run.plan.load), run.last_second
    measured_s = max(0, last + 1) if last is not None else 0
    if last is not None and last < 0:
        return Progress(0.0, f"warming up, {-last} s left", "0 s")
    if planned_s:
        measured_s = min(measured_s, ceil(planned_s))
        share, left_s = round(min(1.0, measured_s / planned_s), 4), ceil(planned_s) - measured_s
        if planned_s < MINUTE_S:
            of = number(planned_s, 0 if planned_s == int(planned_s) else 1)
            words, left = f"{count(measured_s)} of {of} s measured", f"{left_s} s left"
        else:
            words = f"{clock(measured_s)} of {clock(ceil(planned_s))} measured"
            left = f"{clock(left_s)} left"
        return Progress(share, words, _length(measured_s), left)
    attempts, n_planned = run.figures.attempts, run.plan.planned_requests
    of = f", {count(attempts)} of {counted(n_planned, run.plan.nouns)}" if n_planned else ""
    share = round(min(1.0, attempts / n_planned), 4) if n_planned else 0.0
    return Progress(share, f"{_length(measured_s)} measured{of}", _length(measured_s))


def _length(seconds: int) -> str:
    return f"{seconds} s" if seconds < MINUTE_S else clock(seconds)

"""A run's points for pages: columns of numbers for the lines, and the formatted text of each
second. JavaScript draws the numbers and shows the text; it formats no figures.
"""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.judged.failures import kind_words
from campaigns.domain.measured.series import Point
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown
from campaigns.domain.shown.thinning import EXTREMES, gaps, kept_numbers
from campaigns.domain.units import count, counted, figure, second_text

SPARK_S = 120  # of the sparklines
_PERCENTILES = (P50, P95, P99)


def completed(point: Point) -> int:
    """Ok and failed requests that ended in this second; a dropped one was never sent."""
    return point["ok"] + point["failed"]


def point_columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    """{column: [a value for each point]}, as in `_column`."""
    return {key: [make(point) for point in points] for key, make in _COLUMNS.items()}


def thinned_columns(points: Sequence[Point]) -> dict[str, list[Any]]:
    """As `thinned` makes them of `point_columns`, but with texts only of the points it keeps."""
    needed = ["second", *(key for key, _ in EXTREMES)]
    numbers = {key: [_COLUMNS[key](point) for point in points] for key in needed}
    kept = kept_numbers(numbers)
    columns = point_columns([points[number] for number in kept])
    return {**columns, "gap": list(gaps(numbers["second"], kept))}


def noted_points(points: Sequence[Point]) -> list[Point]:
    """Those that a finished run's page looks at one by one, oldest first: the first point with each
    kind of error, and the last SPARK_S."""
    firsts: dict[str, Point] = {}
    for point in points[:-SPARK_S]:
        for kind in point["errors"]:
            firsts.setdefault(kind, point)
    by_second = {point["second"]: point for point in firsts.values()}
    return [*by_second.values(), *points[-SPARK_S:]]


def _sound(point: Point) -> int:
    """How many of p50, p95 and p99 have ten requests beyond them in this second."""
    return sum(shown(point["ok"], q) is Shown.OK for q in _PERCENTILES)


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
    failed = f"failed replies p50 {figure(failed_ms)}"
    return f"{ok}  {failed}" if point["ok"] else failed


def _errors_text(point: Point) -> str:
    kinds = point["errors"].items()
    return ", ".join(f"{kind_words(kind)} {count(n)}" for kind, n in kinds) or "none"


def _injector_cpu(point: Point) -> float | None:
    """Of the busiest injector process, in % of a core; None where it was not told."""
    share = point.get("cpu_share")
    return None if share is None else round(100 * share, 2)


def _injector_text(point: Point) -> str:
    cpu = _injector_cpu(point)
    return "" if cpu is None else f"injector {figure(cpu)} % of a core"


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
    "sound": _sound,
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
    "errors_text": _errors_text,
    "injector_text": _injector_text,
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

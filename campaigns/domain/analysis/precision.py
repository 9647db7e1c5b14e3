"""How precise are a run's percentiles? A fact about the number of response times, never a doubt.

A mean is as good with 300 requests as its interval over repeats; a p99 is not.
"""

from collections.abc import Mapping
from typing import Any

from campaigns.domain.analysis.criteria import JudgementReason, LimitsByCode
from campaigns.domain.lifecycle import Precision
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.percentiles import P50, P90, P95, P99, Shown, name, rank_interval
from campaigns.domain.percentiles import shown as how_shown
from campaigns.domain.units import counted, figure, with_unit


def precision_of(response: Timing, limits: LimitsByCode) -> JudgementReason:
    """The precision of one run: "300 requests: p95 between 29.1 and 31.4 ms, no p99"."""
    limit = limits["too_few_requests"].mild
    if not response.n:
        return precision_reason("no_requests", 0, None, {})
    code = "enough_requests" if limit is None or response.n >= limit else "too_few_requests"
    return precision_reason(code, response.n, limit, _spread(response))


STATES = {
    "no_requests": Precision.NONE,
    "too_few_requests": Precision.COARSE,
    "enough_requests": Precision.FINE,
}


def precision_reason(
    code: str, n: int, limit: float | None, spread: Mapping[str, Any]
) -> JudgementReason:
    """`spread`: {"per_100k", "low_us", "high_us"} of the highest percentile; {} without one."""
    text = _fact(n, spread) if n else "No response times: no request succeeded."
    return JudgementReason(code, STATES[code], text, n, limit, params=spread)


def _fact(n: int, spread: Mapping[str, Any]) -> str:
    highest = spread.get("per_100k")
    known = []
    if spread:
        low, high = (figure(spread[end] / 1000) for end in ("low_us", "high_us"))
        ms = with_unit(low if low == high else f"between {low} and {high}", "ms")
        known = [f"{name(highest)} {ms}"]
    missing = [] if highest == P99 else ["no p99" if highest else "no percentiles"]
    return f"{counted(n, 'requests')}: {', '.join(known + missing)}."


def _spread(response: Timing) -> dict[str, Any]:
    """The highest percentile that the requests support, with its 95 % interval."""
    highest = next(
        (
            q
            for q in (P99, P95, P90, P50)
            if (how_shown(response.n, q) is Shown.OK and None not in rank_interval(response.n, q))
        ),
        None,
    )
    if highest is None:
        return {}
    levels = response.histogram.levels_between(*rank_interval(response.n, highest))
    return {"per_100k": highest, "low_us": float(levels[0]), "high_us": float(levels[-1])}

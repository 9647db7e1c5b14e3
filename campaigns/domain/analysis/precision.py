"""How precise are a run's percentiles? A fact about the number of response times, never a doubt.

A mean is as good with 300 requests as its interval over repeats; a p99 is not.
"""

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
        return JudgementReason(
            "no_requests", Precision.NONE, "No response times: no request succeeded.", 0
        )
    if limit is not None and response.n < limit:
        return JudgementReason(
            "too_few_requests", Precision.COARSE, _fact(response), response.n, limit
        )
    return JudgementReason("enough_requests", Precision.FINE, _fact(response), response.n, limit)


def _fact(response: Timing) -> str:
    highest = next(
        (
            q
            for q in (P99, P95, P90, P50)
            if (how_shown(response.n, q) is Shown.OK and None not in rank_interval(response.n, q))
        ),
        None,
    )
    known = [] if highest is None else [_spread(response, highest)]
    missing = [] if highest == P99 else ["no p99" if highest else "no percentiles"]
    return f"{counted(response.n, 'requests')}: {', '.join(known + missing)}."


def _spread(response: Timing, q: int) -> str:
    """The percentile with its 95 % interval."""
    levels = response.histogram.levels_between(*rank_interval(response.n, q))
    low, high = (figure(level / 1000) for level in (levels[0], levels[-1]))
    return f"{name(q)} {with_unit(low if low == high else f'between {low} and {high}', 'ms')}"

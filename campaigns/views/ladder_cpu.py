"""What the rungs of a ladder cost the server in CPU time, as the campaign page draws it."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.judged.repeats import MIN_REPEATS, MeanInterval
from campaigns.domain.plan.rungs import Section
from campaigns.domain.shown.ladder import SECTION_TITLES, Ladder, LadderRung
from campaigns.domain.shown.target_cost_tables import ComparedCost
from campaigns.domain.units import column_decimals, number, percent
from campaigns.queries.target_costs import Costs
from campaigns.views.drawings import round_up


def drawn_cpu(ladder: Ladder | None, costs: Costs) -> dict[str, Any] | None:
    """{"note": what is counted, "sections": [{"title", "is_many", "against", "to", "rows"}]} of the
    rungs whose CPU seconds per 1,000 requests are known; None where none is. Bars of all sections
    have one scale, from 0 to `to`."""
    if ladder is None or not costs.by_test:
        return None
    known = [
        (key, [rung for rung in rungs if rung.test_id in costs.by_test])
        for key, rungs in ladder.sections
    ]
    longest = (
        round_up(max(max(each.mean, each.high or 0.0) for each in costs.by_test.values())) or 1.0
    )
    decimals = column_decimals([each.mean for each in costs.by_test.values()])
    sections = [_section(key, rungs, costs, longest, decimals) for key, rungs in known if rungs]
    return {"note": costs.note, "sections": sections} if sections else None


def _section(
    key: Section, rungs: Sequence[LadderRung], costs: Costs, longest: float, decimals: int
) -> dict[str, Any]:
    rows = [
        _row(rung, costs.by_test[rung.test_id], costs.of_rungs.get(rung.test_id), longest, decimals)
        for rung in rungs
    ]
    has_plain = any(rung.is_plain or rung.plain for rung in rungs)
    return {
        "title": SECTION_TITLES[key],
        "is_many": key == Section.MANY,
        "against": "plain HTTP" if has_plain else "the row before",
        "to": f"{longest:g}",
        "rows": rows,
    }


def _row(
    rung: LadderRung,
    cost: MeanInterval,
    compared: ComparedCost | None,
    longest: float,
    decimals: int,
) -> dict[str, Any]:
    """Widths and whisker in percent of the scale."""
    ends = (cost.low, cost.high) if cost.k >= MIN_REPEATS else None
    return {
        "rung": rung,
        "width": _share(cost.mean, longest),
        "whisker": ends and tuple(_share(each, longest) for each in ends),
        "cost": number(cost.mean, decimals),
        **_against(compared),
    }


def _share(amount: float, longest: float) -> float:
    return round(100 * min(1.0, max(0.0, amount / longest)), 2)


def _against(compared: ComparedCost | None) -> dict[str, str]:
    """The change in percent with its interval, its word, and why there is none."""
    if compared is None:
        return {}
    found = compared.difference
    said = {"word": found.word, "why": found.why, "names": " against ".join(compared.names[::-1])}
    if found.interval is None or found.interval.k < MIN_REPEATS:
        return said
    low, high = (
        percent(each - 1, signed=True) for each in (found.interval.low, found.interval.high)
    )
    change = percent(found.interval.ratio - 1, signed=True)
    return {**said, "change": change, "interval": f"{low} to {high}"}

"""Rules that were kept or broken, in words: "Broken: p95 < 200 ms (was 312 ms)"."""

from collections.abc import Sequence
from decimal import Decimal

from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.plan.threshold import RATES
from campaigns.domain.shown.cells import Figure, figure_cell
from campaigns.domain.shown.tables import Cell
from campaigns.domain.units import and_joined, counted, decimals_alone, decimals_beside

_MOST_NAMED = 2


def limit_cell(verdict: Verdict) -> Cell:
    """As exact as the rule says it, since every rule has its own unit: "200 ms", "1.25 %"."""
    limit = verdict.limit
    own = max(0, -Decimal(repr(limit)).normalize().as_tuple().exponent)
    return _cell(limit, max(own, decimals_alone(limit)), verdict.unit)


def measured_cell(value: float, verdict: Verdict) -> Cell:
    """A figure of the verdict's rule, on its own side of the limit: "200.4 ms", not "200 ms"."""
    decimals = decimals_beside(value, verdict.limit, decimals_alone(value))
    return _cell(value, decimals, verdict.unit)


def _cell(value: float, decimals: int, unit: str) -> Cell:
    cell = figure_cell(Figure(value), decimals)
    return Cell(cell.value, f"{cell.text} {unit}".strip())


def worst_of(verdicts: Sequence[Verdict]) -> float | None:
    """The worst figure of one rule in several runs; None if it had none in any."""
    measured = [each.measured for each in verdicts if each.measured is not None]
    return (min if verdicts[0].metric in RATES else max)(measured, default=None)


def broken_words(runs: Sequence[Sequence[Verdict]], *, is_over: bool = True) -> str:
    """What was broken, and what nobody told, from the verdicts of each run; "" if all was kept."""
    every = [each for verdicts in runs for each in verdicts if not each.passed]
    broken = [each for each in every if not each.lacks_agent]
    missing = dict.fromkeys(each.rule for each in every if each.lacks_agent) if is_over else {}
    unknown = f"Not measured, without an agent: {_listed(list(missing))}" if missing else ""
    if not broken:
        return unknown
    by_rule: dict[str, list[Verdict]] = {}
    for each in broken:
        by_rule.setdefault(each.rule, []).append(each)
    n_broken = sum(
        any(not each.passed and not each.lacks_agent for each in verdicts) for verdicts in runs
    )
    where = f" in {n_broken} of {counted(len(runs), 'runs')}" if len(runs) > 1 else ""
    verb = "at worst" if n_broken > 1 else ("was" if is_over else "is")
    rules = [f"{rule} ({_measured(some, verb)})" for rule, some in by_rule.items()]
    said = f"Broken{'' if is_over else ' so far'}{where}: {_listed(rules)}"
    return f"{said}. {unknown}" if unknown else said


def kept_words(runs: Sequence[Sequence[Verdict]]) -> str:
    """The rules, if there are any and all were kept; else ""."""
    verdicts = [each for some in runs for each in some]
    if not verdicts or not all(each.passed for each in verdicts):
        return ""
    return f"Kept: {_listed(list(dict.fromkeys(each.rule for each in verdicts)))}"


def _measured(verdicts: Sequence[Verdict], verb: str) -> str:
    worst = worst_of(verdicts)
    if worst is not None:
        return f"{verb} {measured_cell(worst, verdicts[0]).text}"
    return f"no {'session' if verdicts[0].metric.startswith('session') else 'request'} succeeded"


def _listed(rules: list[str]) -> str:
    if len(rules) > _MOST_NAMED + 1:
        rules = [*rules[:_MOST_NAMED], f"{len(rules) - _MOST_NAMED} more"]
    return and_joined(rules)

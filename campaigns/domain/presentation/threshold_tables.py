"""Thresholds: rules that were kept or broken, in words such as "Broken: p95 < 200 ms (was 312 ms)";
the tables of one run, and of a campaign's tests over their repeats; and lines in a run's charts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.plan.threshold import FIRST_BYTE_PREFIX, RATES, SESSION_PREFIX, Threshold
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Cell,
    Figure,
    Row,
    Table,
    count_cell,
    empty,
    figure_cell,
    text_cell,
)
from campaigns.domain.units import (
    TO,
    and_joined,
    are_apart,
    counted,
    decimals_alone,
    decimals_beside,
)

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


def ends_cell(verdict: Verdict) -> Cell:
    """Its figure with its lower end where they are apart: "17.9 to 503 ms"."""
    cell = measured_cell(verdict.measured, verdict)
    if not are_apart(verdict.at_least, verdict.measured):
        return cell
    low, _, _ = measured_cell(verdict.at_least, verdict).text.rpartition(" ")
    return replace(cell, text=f"{low}{TO}{cell.text}")


def _worst_of(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Of one rule in several runs that with the worst figure; None if it had none in any."""
    worst = min if verdicts[0].metric in RATES else max
    with_figure = (each for each in verdicts if each.measured is not None)
    return worst(with_figure, key=lambda each: each.measured, default=None)


def broken_words(runs: Sequence[Sequence[Verdict]], *, is_over: bool = True) -> str:
    """What was broken, and what nobody told, from the verdicts of each run; "" if all was kept."""
    every = [each for verdicts in runs for each in verdicts if each.is_broken]
    broken = [each for each in every if not each.lacks_agent]
    missing = dict.fromkeys(each.rule for each in every if each.lacks_agent) if is_over else {}
    unknown = f"Not measured, without an agent: {_list_words(list(missing))}" if missing else ""
    if not broken:
        return unknown
    by_rule: dict[str, list[Verdict]] = {}
    for each in broken:
        by_rule.setdefault(each.rule, []).append(each)
    n_broken = sum(
        any(each.is_broken and not each.lacks_agent for each in verdicts) for verdicts in runs
    )
    where = f" in {n_broken} of {counted(len(runs), 'runs')}" if len(runs) > 1 else ""
    verb = "at worst" if n_broken > 1 else ("was" if is_over else "is")
    rules = []
    for rule, some in by_rule.items():
        noun = "session" if some[0].metric.startswith("session") else "request"
        worst = _worst_of(some)
        words = f"{verb} {ends_cell(worst).text}" if worst else f"no {noun} succeeded"
        rules.append(f"{rule} ({words})")
    text = f"Broken{'' if is_over else ' so far'}{where}: {_list_words(rules)}"
    return f"{text}. {unknown}" if unknown else text


def kept_words(runs: Sequence[Sequence[Verdict]]) -> str:
    """The rules, if there are any and all were kept; else ""."""
    verdicts = [each for some in runs for each in some]
    if not verdicts or not all(each.passed and not each.is_open for each in verdicts):
        return ""
    return f"Kept: {_list_words(list(dict.fromkeys(each.rule for each in verdicts)))}"


def open_words(verdicts: Sequence[Verdict]) -> list[str]:
    """Why each rule that a busy machine may have broken is neither kept nor broken, of one run or
    of several."""
    broken = {each.rule for each in verdicts if each.is_broken}
    by_rule: dict[str, list[Verdict]] = {}
    for each in verdicts:
        if each.is_open and each.measured is not None and each.rule not in broken:
            by_rule.setdefault(each.rule, []).append(each)
    return [f"{rule} is open: {_why_open(_worst_of(some))}" for rule, some in by_rule.items()]


def _why_open(verdict: Verdict) -> str:
    is_long = verdict.at_least is not None and verdict.at_least >= verdict.limit
    if verdict.measured is None or verdict.passed or is_long:
        return "The measurement cannot tell whether the rule is kept."
    text = f"{measured_cell(verdict.measured, verdict).text} as measured"
    if verdict.at_least is None:
        return f"{text} on a busy machine, whose delay it may be."
    least = measured_cell(verdict.at_least, verdict).text
    return f"{text}, {least} without the injector's part."


def _list_words(rules: list[str]) -> str:
    if len(rules) > _MOST_NAMED + 1:
        rules = [*rules[:_MOST_NAMED], f"{len(rules) - _MOST_NAMED} more"]
    return and_joined(rules)


_NO_FIGURE = "No {} succeeded."
_NO_AGENT = "No agent or exporter reported anything about the target's machine."


def run_thresholds_table(verdicts: Sequence[Verdict]) -> Table:
    """A row per rule: measured, limit, result, since when."""
    columns = tuple(METRICS[key].column() for key in ("measured", "limit", "result", "since"))
    rows = tuple(Row(each.rule, _cells(each), "threshold") for each in verdicts)
    note = "Judged on everything measured so far. Since: the second from which the rule was broken."
    return Table("thresholds", "Thresholds", columns, rows, "rule", note)


def _cells(verdict: Verdict) -> tuple[Cell, ...]:
    if verdict.is_open:
        since = empty(_why_open(verdict))
    elif verdict.passed:
        since = empty("The rule is not broken.")
    else:
        since = count_cell(verdict.since, _NO_AGENT)
    return _figure_cell(verdict), limit_cell(verdict), _result([verdict]), since


def _figure_cell(verdict: Verdict) -> Cell:
    if verdict.measured is not None:
        return ends_cell(verdict)
    if verdict.lacks_agent:
        return empty(_NO_AGENT)
    is_of_sessions = verdict.metric.startswith("session")
    return empty(_NO_FIGURE.format("session" if is_of_sessions else "request"))


def _result(verdicts: Sequence[Verdict]) -> Cell:
    """Of one rule in a run, or in several."""
    if not any(each.is_broken for each in verdicts):
        why = next((_why_open(each) for each in verdicts if each.is_open), "")
        return text_cell("open", why) if why else text_cell("kept", tone="good")
    if all(each.lacks_agent for each in verdicts if each.is_broken):
        return text_cell("not measured", _NO_AGENT, tone="bad")
    return text_cell("broken", tone="bad")


def campaign_thresholds_table(tests: Iterable[tuple[str, Sequence[Sequence[Verdict]]]]) -> Table:
    """A row per test and rule, from (label of the test, the verdicts of each of its runs)."""
    rows = []
    for label, runs in tests:
        for verdicts in zip(*runs, strict=False):
            first, n_kept = verdicts[0], sum(each.passed and not each.is_open for each in verdicts)
            # Where nothing succeeded in some run, that is the worst.
            lacking = (
                each for each in verdicts if each.measured is None and not each.is_of_machine
            )
            worst = next(lacking, None) or _worst_of(verdicts) or first
            cells = (
                text_cell(f"{n_kept} of {counted(len(verdicts), 'runs')}"),
                _figure_cell(worst),
                limit_cell(first),
                _result(verdicts),
            )
            rows.append(Row(f"{label}: {first.rule}", cells, "threshold"))
    columns = tuple(METRICS[key].column() for key in ("kept", "worst", "limit", "result"))
    note = "A test keeps a rule if all its finished runs do whose measurements can be used."
    return Table("thresholds", "Thresholds", columns, tuple(rows), "test and rule", note)


_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def threshold_lines(
    thresholds: Sequence[Threshold], verdicts: Sequence[Verdict]
) -> list[dict[str, Any]]:
    """[{"panel", "label", "value", "isBroken"}] of the rules about something that is drawn.

    `value` is in ms, in requests/s, or, of errors, a share of the requests of each second.
    """
    broken = {_key(each) for each in verdicts if each.is_broken}
    return [
        {"panel": panel, "label": rule.rule, "value": value, "isBroken": _key(rule) in broken}
        for rule in thresholds
        for panel, value in _places(rule)
    ]


def _key(rule: Threshold | Verdict) -> tuple[str | float, ...]:
    """Not its words, which earlier releases wrote with six digits."""
    return rule.metric, rule.limit, rule.unit, rule.kind, rule.step, rule.flow


def _places(rule: Threshold) -> list[tuple[str, float]]:
    """Where the rule is drawn and at which height; sums, parts, sessions and machines have no
    line."""
    apart = (SESSION_PREFIX, FIRST_BYTE_PREFIX, "sessions_")
    if rule.is_of_machine or rule.kind or not rule.is_of_all or rule.metric.startswith(apart):
        return []
    if rule.metric == "rate":
        return [("requests", rule.limit)]
    if rule.metric == "errors":
        return [("errors", rule.limit / 100)] if rule.unit == "%" else []
    return [("response", rule.limit * _MS[rule.unit])]

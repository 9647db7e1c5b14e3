"""The tables of thresholds: of one run, and of a campaign's tests over their repeats."""

from collections.abc import Iterable, Sequence

from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.shown.cells import count_cell, empty, text_cell
from campaigns.domain.shown.metrics import METRICS
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.shown.threshold_words import limit_cell, measured_cell, worst_of
from campaigns.domain.units import counted

_NO_FIGURE = "No {} succeeded."
_NOT_USABLE = "The measurement cannot be used, so it neither keeps nor breaks the rule."
_NO_AGENT = "No agent or exporter reported anything about the target's machine."


def run_thresholds_table(verdicts: Sequence[Verdict], *, has_no_answer: bool = False) -> Table:
    """A row per rule: measured, limit, result, since when. `has_no_answer`: the measurement cannot
    be used, so no rule is kept or broken by it."""
    return Table(
        "thresholds",
        "Thresholds",
        tuple(METRICS[key].column() for key in ("measured", "limit", "result", "since")),
        tuple(
            Row(each.rule, _cells(each, has_no_answer=has_no_answer), "threshold")
            for each in verdicts
        ),
        label_title="rule",
        note="Judged on everything measured so far. Since: the second from which the rule was "
        "broken.",
    )


def _cells(verdict: Verdict, *, has_no_answer: bool) -> tuple[Cell, ...]:
    figures = _measured(verdict, verdict.measured), limit_cell(verdict)
    if has_no_answer:
        return (*figures, empty(_NOT_USABLE), empty(_NOT_USABLE))
    return (
        *figures,
        _result([verdict]),
        empty("The rule is not broken.")
        if verdict.passed
        else count_cell(verdict.since, _NO_AGENT),
    )


def _measured(verdict: Verdict, value: float | None) -> Cell:
    if value is not None:
        return measured_cell(value, verdict)
    if verdict.lacks_agent:
        return empty(_NO_AGENT)
    is_of_sessions = verdict.metric.startswith("session")
    return empty(_NO_FIGURE.format("session" if is_of_sessions else "request"))


def _result(verdicts: Sequence[Verdict]) -> Cell:
    """Of one rule in a run, or in several."""
    if all(each.passed for each in verdicts):
        return text_cell("kept", tone="good")
    if all(each.passed or each.lacks_agent for each in verdicts):
        return text_cell("not measured", _NO_AGENT, tone="bad")
    return text_cell("broken", tone="bad")


def campaign_thresholds_table(tests: Iterable[tuple[str, Sequence[Sequence[Verdict]]]]) -> Table:
    """A row per test and rule, from (label of the test, the verdicts of each of its runs)."""
    rows = []
    for label, runs in tests:
        for verdicts in zip(*runs, strict=False):
            rows.append(Row(f"{label}: {verdicts[0].rule}", _cells_of_runs(verdicts), "threshold"))
    return Table(
        "thresholds",
        "Thresholds",
        tuple(METRICS[key].column() for key in ("kept", "worst", "limit", "result")),
        tuple(rows),
        label_title="test and rule",
        note="A test keeps a rule if all its finished runs do whose measurements can be used.",
    )


def _cells_of_runs(verdicts: Sequence[Verdict]) -> tuple[Cell, ...]:
    first, n_kept = verdicts[0], sum(each.passed for each in verdicts)
    return (
        text_cell(f"{n_kept} of {counted(len(verdicts), 'runs')}"),
        _worst(verdicts),
        limit_cell(first),
        _result(verdicts),
    )


def _worst(verdicts: Sequence[Verdict]) -> Cell:
    """Where nothing succeeded in some run, that is the worst."""
    is_without = any(each.measured is None and not each.is_of_machine for each in verdicts)
    return _measured(verdicts[0], None if is_without else worst_of(verdicts))

"""The table of a search's trials: all of them, those near the answer, or those that failed."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any

from campaigns.domain.judged.capacity import TrialResult
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.shown.capacity_words import RESULT_WORDS
from campaigns.domain.shown.tables import Cell
from campaigns.domain.units import DASH, ms, number, percent, rate
from campaigns.models import Run
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial, SearchReport
from campaigns.views.search_marks import broken_by

_GLYPHS = {"passed": "good", "failed": "bad", "untrusted": "warn"}
_NEAR = 1.05  # the answer, as a factor


class TrialsShown(StrEnum):
    ALL = "all"
    NEAR = "near"
    FAILED = "failed"


_WORDS = {TrialsShown.ALL: "all", TrialsShown.NEAR: "near the answer", TrialsShown.FAILED: "failed"}


def shown_of(asked: str, report: SearchReport) -> TrialsShown:
    """What is asked for, by default those near the answer of a search that has ended; all where
    there is no answer to be near to."""
    usual = TrialsShown.ALL if report.ending is None else TrialsShown.NEAR
    shown = TrialsShown(asked) if asked in list(TrialsShown) else usual
    is_near = shown is TrialsShown.NEAR
    return TrialsShown.ALL if is_near and not report.capacity else shown


def switches(chosen: TrialsShown, report: SearchReport) -> list[tuple[str, str, bool]]:
    """(word, query, whether it is chosen)"""
    return [
        (_WORDS[each], f"trials={each}", each is chosen)
        for each in TrialsShown
        if each is not TrialsShown.NEAR or report.capacity
    ]


def trial_rows(report: SearchReport, chosen: TrialsShown, busy: BusyByRun) -> list[dict[str, Any]]:
    """Newest first; those near the answer by their rate."""
    made = report.made[::-1]
    if chosen is TrialsShown.FAILED:
        made = [each for each in made if each.trial.result == TrialResult.FAILED]
    if chosen is TrialsShown.NEAR:
        answer = report.capacity.rate_per_s
        near = [e for e in made if answer / _NEAR <= e.trial.rate_per_s <= answer * _NEAR]
        made = sorted(near, key=lambda each: -each.trial.rate_per_s)
    rows = [trial_row(each, busy) for each in made]
    return _with_line(rows, report) if chosen is TrialsShown.NEAR else rows


def _with_line(rows: list[dict[str, Any]], report: SearchReport) -> list[dict[str, Any]]:
    """The first row whose rate is below the answer says so."""
    answer = report.capacity.rate_per_s
    below = next((row for row in rows if row["rate_per_s"] < answer), None)
    return [row | {"is_below": row is below and row is not rows[0]} for row in rows]


def trial_row(made: MadeTrial, busy: BusyByRun) -> dict[str, Any]:
    run, trial = made.run, made.trial
    attempts, broken = (run.n or 0) + (run.errors or 0), broken_by(made)
    return {
        "run": run,
        "search": DASH if made.search is None else made.search or "first",
        "rate": rate(trial.rate_per_s),
        "rate_per_s": trial.rate_per_s,
        **{name(q): _percentile(run, q, broken) for q in (P50, P95, P99)},
        "errors": percent((run.errors or 0) / attempts if attempts else None),
        "target_cpu": _whole_percent(busy[run.pk].target_cpu),
        "injector_cpu": _whole_percent(busy[run.pk].injector_cpu),
        "broken": broken,
        "glyph": _GLYPHS[trial.result],
        "result": RESULT_WORDS[trial.result],
        "reason": trial.reason,
    }


def _percentile(run: Run, q: int, broken: Collection[str]) -> Cell:
    """Weak as on the run's own page."""
    n, value = run.n or 0, getattr(run, f"{name(q)}_us")
    is_weak = value is not None and shown(n, q) is Shown.WEAK
    tone = "bad" if name(q) in broken else ""
    return Cell(value, ms(value), is_weak, why_not_shown(n, q), tone)


def _whole_percent(share: float | None) -> str:
    return number(None if share is None else 100 * share)

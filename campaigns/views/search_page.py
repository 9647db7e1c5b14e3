"""The context of a search's page: its sentence, every trial drawn and in a table, live."""

from collections import Counter
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from campaigns.domain.judged.capacity import MOST_SEARCHES, NARROW, Ending, TrialResult
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.plan.search_start import USUAL_TRIALS
from campaigns.domain.shown.capacity_limiter import Limiter
from campaigns.domain.shown.capacity_words import RESULT_WORDS, objective_words
from campaigns.domain.shown.tables import Cell
from campaigns.domain.units import DASH, duration, ms, number, percent, rate
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.models import Run, Search, Test
from campaigns.permissions import Actor
from campaigns.queries.arms import stop_reason_of
from campaigns.queries.baselines import newest_baseline, own_baselines, search_against
from campaigns.queries.campaigns import current_run_of
from campaigns.queries.engine import waiting_reason
from campaigns.queries.first_requests import first_requests_of
from campaigns.queries.search_busy import BusyByRun, busy_by_run
from campaigns.queries.search_limiter import busy_near, limiter_beside
from campaigns.queries.searches import MadeTrial, SearchReport, report_of_search
from campaigns.views.campaign_page import badge_of
from campaigns.views.search_drawing import search_drawing
from campaigns.views.search_marks import SHAPE_WORDS, broken_by
from campaigns.views.search_next import OpenQuestion, open_questions, steps_to_come
from campaigns.views.search_tiles import overlap_of, search_tiles

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


def search_context(search: Search, actor: Actor, trials: str = "") -> dict[str, Any]:
    """Without the project's navigation and the user's rights. `trials`: which are in the table."""
    campaign, report = search.campaign, report_of_search(search)
    with_machines = actor.sees_machines
    busy = busy_by_run(report.made, with_machines=with_machines)
    near = busy_near(report, busy)
    limiter = limiter_beside(report, near, with_machines=with_machines)
    report = report if with_machines else report.without_machine()
    current, shown = current_run_of(campaign), shown_of(trials, report)
    now_per_s = current.frozen.plan.load.rate_per_s if current else None
    drawing = search_drawing(report, busy, now_per_s)
    tests = list(campaign.tests.select_related("endpoint__target", "plan_version__plan"))
    is_live = campaign.state in {"running", "stopping"}
    return {
        "campaign": campaign,
        "stopped_because": stop_reason_of(campaign, shows_machines=with_machines),
        "search": search,
        "report": report,
        "badge": badge_of(campaign, report),
        "is_live": is_live,
        "current": current,
        "rate_now": rate(now_per_s) if now_per_s else "",
        "waiting": waiting_reason(campaign, actor) if is_live and not current else "",
        "first_responses": first_requests_of(campaign, actor),
        "cursor": Cursor(event=FEED.campaign(campaign.pk).look().event),
        "drawing": drawing,
        "shapes": [(shape, SHAPE_WORDS[shape]) for shape in drawing.shapes] if drawing else [],
        "rules": search_rules(report, tests[0].plan_version.value().warm_up_s),
        "tiles": search_tiles(report, limiter, near, now_per_s),
        "overlap": overlap_of(report),
        "limiter": limiter,
        "open_questions": _open_questions(report, tests[0], limiter, busy),
        "steps_to_come": steps_to_come(report) if is_live else [],
        "usual_trials": max(USUAL_TRIALS, len(report.made) + 1),
        "trials": trial_rows(report, shown, busy),
        "tells_target_cpu": _knows_machine(busy),
        "trials_by_rate": shown is TrialsShown.NEAR,
        "switches": switches(shown, report),
        "against": search_against(search),
        "own_baselines": own_baselines(campaign),
        "seen_baseline": newest_baseline(actor, campaign.project_id),
        "may_be_baseline": bool(found := report.capacity) and found.low is not None,
        "stop_words": {"n_done": len(report.made)},
        "tests": tests,
    }


def _open_questions(
    report: SearchReport, test: Test, limiter: Limiter, busy: BusyByRun
) -> list[OpenQuestion]:
    if report.ending is None:
        return []
    return open_questions(report, test, limiter, knows_machine=_knows_machine(busy))


def _knows_machine(busy: BusyByRun) -> bool:
    return any(each.target_cpu is not None for each in busy.values())


def search_rules(report: SearchReport, warm_up_s: float) -> list[tuple[str, str]]:
    """[(what, words)]"""
    search = report.search
    measured = f"{duration(search.trial_s)} measured"
    return [
        ("Objective", objective_words(report.rules)),
        ("One trial", f"{duration(warm_up_s)} warm-up, {measured}" if warm_up_s else measured),
        ("After a failed trial", "waits until the first request is answered again"),
        ("Trials", _trials(report)),
        ("Starts at", f"{rate(search.start_per_s)} requests/s"),
        ("Never above", f"{rate(search.limit_per_s)} requests/s"),
        ("Ends", _end(report)),
    ]


def _trials(report: SearchReport) -> str:
    n = Counter(each.trial.result for each in report.made)
    doubtful = n[TrialResult.UNTRUSTED]
    left = f", {doubtful} not counted" if doubtful else ""
    return f"{n[TrialResult.PASSED]} passed, {n[TrialResult.FAILED]} failed{left}"


def _end(report: SearchReport) -> str:
    found, asked = report.answer.capacity, percent(NARROW, decimals=0)
    if report.ending == Ending.FOUND and found and found.low is not None:
        return f"interval {percent(found.width)} wide, asked for {asked}"
    latest = f"{report.search.deadline:%H:%M} UTC"
    if report.ending is None:
        return f"interval at most {asked} wide, {MOST_SEARCHES} searches, or {latest}"
    return f"at the latest {latest}"

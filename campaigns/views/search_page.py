"""The context of a search's page: its sentence, every trial drawn and in a table, live."""

from collections import Counter
from typing import Any

from campaigns.domain.judged.capacity import MOST_SEARCHES, NARROW, Ending, TrialResult
from campaigns.domain.plan.search_start import USUAL_TRIALS
from campaigns.domain.shown.capacity_limiter import Limiter
from campaigns.domain.shown.capacity_words import objective_words
from campaigns.domain.units import duration, percent, rate
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.models import Search, Test
from campaigns.permissions import Actor
from campaigns.queries.arms import stop_reason_of
from campaigns.queries.baselines import newest_baseline, own_baselines, search_against
from campaigns.queries.campaigns import current_run_of
from campaigns.queries.engine import waiting_reason
from campaigns.queries.first_requests import first_requests_of
from campaigns.queries.search_busy import BusyByRun, busy_by_run
from campaigns.queries.search_limiter import busy_near, limiter_beside
from campaigns.queries.searches import SearchReport, report_of_search
from campaigns.views.campaign_page import badge_of
from campaigns.views.search_drawing import search_drawing
from campaigns.views.search_marks import SHAPE_WORDS
from campaigns.views.search_next import OpenQuestion, open_questions, steps_to_come
from campaigns.views.search_tiles import overlap_of, search_tiles
from campaigns.views.search_trials import TrialsShown, shown_of, switches, trial_rows


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

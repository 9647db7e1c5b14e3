"""The context of a search's page: its sentence, every trial drawn and in a table, live."""

from typing import Any

from campaigns.domain.shown.badges import Answers, campaign_badge, on_hold_badge
from campaigns.domain.shown.capacity_words import RESULT_WORDS
from campaigns.domain.units import ms, percent, rate
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.models import Search
from campaigns.permissions import Actor
from campaigns.queries.campaigns import current_run_of
from campaigns.queries.engine import waiting_reason
from campaigns.queries.first_requests import first_requests_of
from campaigns.queries.searches import MadeTrial, report_of_search
from campaigns.views.search_drawing import search_drawing

_GLYPHS = {"passed": "good", "failed": "bad", "untrusted": "warn"}


def search_context(search: Search, actor: Actor) -> dict[str, Any]:
    """Without the project's navigation and the user's rights."""
    campaign, report = search.campaign, report_of_search(search)
    current = current_run_of(campaign)
    is_live = campaign.state in {"running", "stopping"}
    is_stopped = campaign.stop_requested_at is not None
    badge = campaign_badge(campaign.state, Answers(), is_stopped=is_stopped)
    return {
        "campaign": campaign,
        "search": search,
        "report": report,
        "badge": on_hold_badge() if campaign.is_held else badge,
        "is_live": is_live,
        "current": current,
        "rate_now": rate(current.frozen.plan.load.rate_per_s) if current else "",
        "waiting": waiting_reason(campaign, actor) if is_live and not current else "",
        "came_back": first_requests_of(campaign, actor),
        "cursor": Cursor(event=FEED.campaign(campaign.pk).event),
        "drawing": search_drawing(report),
        "trials": [_row(each) for each in reversed(report.made)],
        "stop_words": {"n_done": len(report.made)},
        "limits": (rate(search.start_per_s), rate(search.limit_per_s)),
        "tests": list(campaign.tests.select_related("endpoint__target", "plan_version__plan")),
    }


def _row(made: MadeTrial) -> dict[str, Any]:
    run, trial = made.run, made.trial
    attempts = (run.n or 0) + (run.errors or 0)
    return {
        "run": run,
        "search": made.search or "first",
        "rate": rate(trial.rate_per_s),
        "p50": ms(run.p50_us),
        "p95": ms(run.p95_us),
        "p99": ms(run.p99_us),
        "errors": percent((run.errors or 0) / attempts if attempts else None),
        "glyph": _GLYPHS[trial.result],
        "result": RESULT_WORDS[trial.result],
        "reason": trial.reason,
    }

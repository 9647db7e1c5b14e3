"""The context of the run page, for members and share link visitors."""

from typing import Any

from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.results import RunReport
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.live.memory import point_columns_of, report_of
from campaigns.models import Run
from campaigns.queries.engine import waiting_reason
from campaigns.queries.measurements import points_of
from campaigns.queries.runs import chart_plan, happenings, planned_end, planned_of
from campaigns.views.sparks import sparks_of


def run_context(run: Run) -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights."""
    # Read the cursor first: later changes may be sent twice, but are never missed.
    event = FEED.run(run.pk).event
    points = points_of(run) if run.is_done else FEED.points(run.pk)
    plan, planned = run.frozen.plan, planned_of(run)
    drawing = chart_plan(run)
    sparks = sparks_of(points, drawing["wholeSeconds"])
    report = report_of(run)
    return {
        "run": run,
        "report": report,
        "grounds": _grounds(report),
        "origin": str(run.frozen.endpoint),
        "n_steps": len(plan.labels),
        "load_words": plan_load_words(plan),
        "planned": planned,
        "nouns": plan.nouns,
        "planned_end": planned_end(run),
        "has_points": bool(points),
        # An active run's stream sends its points, all of them to a new viewer.
        "points": point_columns_of(run) if run.is_done else None,
        "tiles": [(tile, sparks.get(tile["key"])) for tile in report.tiles],
        "chart_plan": drawing,
        "happened": happenings(run, points),
        "waiting": waiting_reason(run.campaign) if run.state == "queued" else "",
        "cursor": Cursor(event),
    }


def _grounds(report: RunReport) -> list[str]:
    """The grounds without the validity reasons, which the page lists below with glyphs."""
    reasons = {reason["text"] for reason in report.reasons}
    return [ground for ground in report.grounds if ground not in reasons]

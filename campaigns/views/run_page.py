"""What the run's page shows, for its members and for the visitor of a share link alike."""

from math import ceil
from typing import Any

from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.results import RunReport
from campaigns.live.events import BEFORE_ALL, Cursor
from campaigns.live.feed import FEED
from campaigns.live.memory import report_of
from campaigns.models import Run
from campaigns.queries.engine import waiting_reason
from campaigns.queries.measurements import points_of
from campaigns.queries.runs import Planned, chart_plan, happenings, planned_end, planned_of


def run_context(run: Run) -> dict[str, Any]:
    """Everything of the page but the project's navigation and the person's rights."""
    # The cursor is read before the points: what comes in between is told twice, never left out.
    event = FEED.run(run.pk).event
    # What the feed remembers may lack the last second; a finished page has no stream to mend that.
    points = points_of(run) if run.is_done else FEED.points(run.pk)
    plan, planned = run.frozen.plan, planned_of(run)
    report = report_of(run)
    return {
        "run": run,
        "report": report,
        "grounds": _grounds(report),
        "origin": str(run.frozen.endpoint),
        "n_steps": len(plan.labels),
        "load_words": plan_load_words(plan),
        "planned": planned,
        "nouns": "connections" if plan.exchange else "requests",
        "planned_end": planned_end(run),
        "points": points,
        "points_id": f"points-{run.pk}",
        "measured": _measured(points, planned),
        "share_done": _share_done(points, planned),
        "chart_plan": chart_plan(run),
        "happened": happenings(run, points),
        "waiting": waiting_reason(run.campaign) if run.state == "queued" else "",
        "cursor": Cursor(event, run.pk, points[-1]["second"] if points else BEFORE_ALL),
    }


def _grounds(report: RunReport) -> list[str]:
    """The grounds without the reasons, which stand below them with their glyphs."""
    reasons = {reason["text"] for reason in report.reasons}
    return [ground for ground in report.grounds if ground not in reasons]


def _measured(points: list[dict], planned: Planned) -> int:
    seconds = max(0, points[-1]["second"] + 1) if points else 0
    return seconds if planned.seconds is None else min(seconds, ceil(planned.seconds))


def _share_done(points: list[dict], planned: Planned) -> float:
    if planned.seconds:
        return round(min(1.0, _measured(points, planned) / planned.seconds), 4)
    done = sum(point["ok"] + point["failed"] for point in points if point["second"] >= 0)
    return round(min(1.0, done / planned.requests), 4) if planned.requests else 0.0

"""The context of the run page, for members and share link visitors."""

from typing import Any

from django.urls import reverse

from campaigns.domain.lifecycle import RunState
from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.threshold_lines import threshold_lines
from campaigns.domain.units import counted
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.live.memory import noted_points_of, point_columns_of, report_of
from campaigns.models import Run
from campaigns.permissions import Actor
from campaigns.queries.engine import waiting_reason
from campaigns.queries.failures import examples_of
from campaigns.queries.machines import MOST_SHOWN, machine_report, outputs_of_run
from campaigns.queries.runs import chart_plan, happenings, planned_end, planned_of
from campaigns.views.drawings import parts_bar
from campaigns.views.error_rows import errors_section
from campaigns.views.remedies import remedies_context
from campaigns.views.sparks import sparks_of


def run_context(run: Run, actor: Actor) -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights."""
    run.shows_machine = actor.sees_machines
    # Read the cursor first: later changes may be sent twice, but are never missed.
    event = FEED.run(run.pk).look().event
    points = noted_points_of(run) if run.is_done else FEED.points(run.pk)
    plan, planned = run.frozen.plan, planned_of(run)
    report = report_of(run)
    verdicts = () if report.has_no_answer else report.verdicts
    drawing = chart_plan(run) | {"limits": threshold_lines(plan.thresholds, verdicts)}
    if run.is_done and actor.share is None:
        drawing["details"] = reverse("run-points", args=[run.pk])
    sparks = sparks_of(points, drawing["wholeSeconds"])
    waiting = _waiting(run, actor)
    return {
        "run": run,
        "report": report,
        "parts_bar": parts_bar(report.parts),
        "errors": errors_section(report.errors, examples_of(actor, run=run)),
        "is_live": not run.is_done,
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
        "machine": machine_report(run) if run.shows_machine else {},
        "outputs": outputs_of_run(run) if run.shows_machine else [],
        "most_shown": MOST_SHOWN,
        "happened": happenings(run, points, shows_machines=run.shows_machine),
        "under_way": waiting or ("" if run.is_done else _under_way(run)),
        "waiting": waiting,
        "cursor": Cursor(event),
        **remedies_context(report.remedies, run.test),
    }


def _waiting(run: Run, actor: Actor) -> str:
    """What a queued run waits for; names only what this actor may see."""
    if run.state != RunState.QUEUED:
        return ""
    return waiting_reason(run.campaign, actor) or "Waiting for earlier runs."


def _under_way(run: Run) -> str:
    """What an active run does now, for the line with its progress bar."""
    match run.state:
        case "preparing":
            return "Injector processes are starting, then resolve and check the address."
        case "armed":
            return f"All injector processes are ready; sending starts at {run.t0:%H:%M:%S}."
        case "finalizing":
            return "The load has ended. Computing the figures."
    planned, end = planned_of(run), planned_end(run)
    parts = [f"after {planned.warm_up_s} s of warm-up"] if planned.warm_up_s else []
    if end:
        parts.append(f"ends {end:%H:%M:%S}")
    elif planned.requests:
        parts.append(f"ends after {counted(planned.requests, run.frozen.plan.nouns)}")
    return " · ".join(parts)

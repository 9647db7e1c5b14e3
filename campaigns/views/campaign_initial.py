"""What the form of a new campaign starts with: a question, a plan, or campaigns that have run."""

from typing import Any

from django.http import Http404, HttpRequest

from campaigns.domain.plan.proposals import Proposal, proposal_for
from campaigns.domain.plan.sweep import Sweep, text_of_values
from campaigns.forms.campaigns import new_seed
from campaigns.models import Campaign, Project
from campaigns.permissions import Actor
from campaigns.queries.campaigns import Again, Grid, again_of, of_target, ticks_for, ticks_for_plan
from campaigns.queries.confirming import Confirmation, confirmation_of
from campaigns.queries.references import have_history, why_no_reference
from campaigns.views.access import actor_of, find

_QUESTION_DEFAULTS = {
    "https": {"name": "HTTPS overhead", "repeats": 5},
    "works": {"name": "Does it work", "repeats": 1},
}


def initial_of(
    request: HttpRequest,
    project: Project,
    grid: Grid,
    again: Again | None,
    confirm: Confirmation | None,
) -> dict[str, Any]:
    """The form's first values. If a target is requested, the ticks are on it."""
    found = _initial_of(request, project, grid, again, confirm)
    return {**found, "reference": _has_reference(request, found, grid, again, confirm)}


def _has_reference(
    request: HttpRequest,
    found: dict[str, Any],
    grid: Grid,
    again: Again | None,
    confirm: Confirmation | None,
) -> bool:
    """Whether the installation's own target is proposed: where there is something to compare with.
    To confirm, both sides run in turn, or the stored ones have theirs."""
    if confirm or why_no_reference():
        return False
    if again and (again.reference or "edit" in request.GET):
        return again.reference
    ticked = (grid.cells[key] for key in found.get("cells", ()) if key in grid.cells)
    return have_history((plan.version, arm.endpoint, arm.mode) for plan, arm in ticked)


def _initial_of(
    request: HttpRequest,
    project: Project,
    grid: Grid,
    again: Again | None,
    confirm: Confirmation | None,
) -> dict[str, Any]:
    if confirm:
        return {
            **_settings_of(confirm.campaign),
            "name": confirm.name,
            "cells": confirm.ticks,
            "repeats": confirm.repeats,
            "order": Campaign.Order.BLOCKS,
            "injectors": ", ".join(map(str, confirm.injectors)),
        }
    if again:
        if "edit" in request.GET:
            campaign = again.campaign
            return {**_initial_again(again), "name": campaign.name, "seed": campaign.seed}
        return _initial_again(again) | _asked_values(request.GET.get("values", ""), again)
    target = whole(request.GET.get("target", ""))
    return _asked_question(request, project, of_target(grid, target))


def asked_again(request: HttpRequest, project: Project, grid: Grid) -> Again | None:
    """The campaign of this project that the URL asks to run again, or the draft to edit."""
    number = request.GET.get("edit") or request.GET.get("again")
    if number is None:
        return None
    campaigns = Campaign.objects.filter(project=project)
    return again_of(find(campaigns, actor_of(request), pk=whole(number)), grid)


def asked_confirmation(request: HttpRequest, actor: Actor, project: Project) -> Confirmation | None:
    """The two sides that the URL asks to run in turn."""
    if "confirm" not in request.GET:
        return None
    found = confirmation_of(actor, project, request.GET["confirm"])
    if found is None:
        raise Http404
    return found


def _initial_again(again: Again) -> dict[str, Any]:
    return {
        **_settings_of(again.campaign),
        "name": again.name,
        "cells": again.ticks,
        "injectors": ", ".join(map(str, again.injectors)),
        **_initial_sweep(again.sweep),
    }


def _initial_sweep(sweep: Sweep | None) -> dict[str, str]:
    if sweep is None:
        return {}
    return {"sweep_field": sweep.field, "sweep_values": text_of_values(sweep.values)}


def _asked_values(values: str, again: Again) -> dict[str, str]:
    """Other values for the sweep that runs again, as somebody would type them."""
    if not values:
        return {}
    return {"sweep_values": values} if again.sweep else {"injectors": values}


def _settings_of(campaign: Campaign) -> dict[str, Any]:
    return {
        "seed": new_seed(),
        "repeats": campaign.repeats,
        "order": campaign.order,
        "pause_s": campaign.pause_s,
        "practical_threshold": round(campaign.practical_threshold * 100, 6),
        "keeps_going": campaign.keeps_going,
        "perf": campaign.perf,
    }


def asked_proposal(request: HttpRequest) -> Proposal | None:
    """The proposal of the preset that the URL's plan was created from."""
    return proposal_for(request.GET.get("preset", "")) if "plan" in request.GET else None


def whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _asked_question(request: HttpRequest, project: Project, grid: Grid) -> dict[str, Any]:
    proposal = asked_proposal(request)
    if proposal:
        plans = project.plans.filter(archived_at=None)
        plan = plans.filter(pk=whole(request.GET["plan"])).first()
        if plan is None:
            return {"seed": new_seed()}
        return {
            "seed": new_seed(),
            "name": plan.name,
            "cells": ticks_for_plan(grid, plan.pk, proposal.schemes),
            "repeats": proposal.repeats,
            "injectors": ", ".join(map(str, proposal.injectors)),
        }
    question = request.GET.get("question", "")
    return {
        "seed": new_seed(),
        "cells": ticks_for(question, grid),
        **_QUESTION_DEFAULTS.get(question, {}),
    }

"""The form of a protocol ladder: which rungs of which target, and its start."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.shown.first_steps import nothing_to_tick
from campaigns.domain.shown.results import Sentence
from campaigns.forms.ladders import LadderForm
from campaigns.models import Project
from campaigns.permissions import Action, require
from campaigns.queries.campaigns import Grid, grid_of
from campaigns.services.campaign_cells import CampaignCell
from campaigns.services.ladders import start_ladder
from campaigns.views.access import actor_of, find
from campaigns.views.campaign_initial import whole


@login_required
def ladder_new(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    require(actor, Action.EDIT, found)
    grid = grid_of(found)
    form = LadderForm(request.POST or None, grid=grid)
    form.initial = _initial_of(request, form)
    if request.method == "POST" and form.is_valid():
        try:
            campaign = start_ladder(by=actor, project=found, **form.service_values())
            return redirect("campaign-detail", campaign=campaign.pk)
        except InvalidFields as invalid:
            form.refuse(invalid)
        except Refused as refusal:
            form.add_error(None, str(refusal))
    context = {
        "project": found,
        "form": form,
        "target": whole(request.GET.get("target", "")),
        "grid": grid,
        "nothing_to_tick": _nothing_to_tick(grid),
    }
    return render(request, "campaigns/ladder_new.html", context, status=422 if form.errors else 200)


def _nothing_to_tick(grid: Grid) -> Sentence:
    """Why no ladder at all can be made; [] where only what it needs is missing."""
    has_arms, has_plans = bool(grid.arms), bool(grid.plans)
    return [] if has_arms and has_plans else nothing_to_tick(has_arms=has_arms, has_plans=has_plans)


def _initial_of(request: HttpRequest, form: LadderForm) -> dict[str, Any]:
    """The plan and the endpoint or target that the address asks for, else the first ones."""
    plans = {str(version.plan_id): pk for pk, version in form.versions.items()}
    endpoints = list(form.endpoints.values())
    asked, target = (whole(request.GET.get(name, "")) for name in ("endpoint", "target"))
    endpoints.sort(key=lambda each: (each.pk != asked, each.target_id != target))
    if not endpoints or not plans:
        return {}
    return {
        "name": f"What does each layer cost {endpoints[0].target.name}?"[:150],
        "plan": plans.get(request.GET.get("plan", ""), next(iter(plans.values()))),
        "endpoint": str(endpoints[0].pk),
    }


def address_of_ladder(cell: CampaignCell) -> str:
    """The form, filled in for this plan on this endpoint."""
    plan = cell.plan_version.plan
    query = urlencode({"plan": plan.pk, "endpoint": cell.endpoint.pk})
    return f"{reverse('ladder-new', args=[plan.project_id])}?{query}"

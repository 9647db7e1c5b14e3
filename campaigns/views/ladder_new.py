"""The form of a protocol ladder: which rungs of which target, and its start."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.plan.rungs import estimate_ladder
from campaigns.domain.shown.cost_words import cost_facts, cost_notes
from campaigns.domain.shown.next_steps import nothing_to_tick
from campaigns.forms.campaigns import LadderForm
from campaigns.models import Project
from campaigns.queries.campaigns import Grid, grid_of
from campaigns.queries.checks import checks_before_start, room_checks, room_of
from campaigns.queries.injector_hosts import hosts
from campaigns.services.blocks import CampaignCell
from campaigns.services.ladders import start_ladder
from campaigns.views.access import (
    actor_of,
    project_to_edit,
    signed_in_form,
    signed_in_post,
)
from campaigns.views.campaign_new import whole
from campaigns.views.saving import saved_by


@signed_in_form
def ladder_new(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = project_to_edit(actor, project)
    grid = grid_of(found)
    form = _form(request, found, grid)
    form.initial = _initial_of(request, form)
    if begun := saved_by(form, lambda given: start_ladder(by=actor, project=found, **given)):
        return redirect("campaign-detail", campaign=begun.pk)
    # Why no ladder at all can be made; [] where only what it needs is missing.
    has_arms, has_plans = bool(grid.arms), bool(grid.plans)
    context = {
        **_form_context(form, found),
        "target": whole(request.GET.get("target", "")),
        "grid": grid,
        "nothing_to_tick": []
        if has_arms and has_plans
        else nothing_to_tick(has_arms=has_arms, has_plans=has_plans),
    }
    return render(request, "campaigns/ladder_new.html", context, status=422 if form.errors else 200)


@signed_in_post
def ladder_estimate(request: HttpRequest, project: int) -> HttpResponse:
    """The form page's fragments for the current input."""
    found = project_to_edit(actor_of(request), project)
    form = _form(request, found, grid_of(found))
    return render(request, "campaigns/_ladder_estimate.html", _form_context(form, found))


def _form(request: HttpRequest, project: Project, grid: Grid) -> LadderForm:
    profiles = [each.value() for each in project.tls_profiles.all()]
    return LadderForm(request.POST or None, grid=grid, profiles=profiles)


def _form_context(form: LadderForm, project: Project) -> dict[str, Any]:
    """The form with what its ladder takes, once there is a plan and an endpoint."""
    context = {"project": project, "form": form}
    known = form.known()
    version, endpoint = known.pop("version"), known.pop("endpoint")
    if version is None or endpoint is None:
        return context
    estimate = estimate_ladder(version.value(), **known)
    room = room_of(hosts())
    return {
        **context,
        "estimate": estimate,
        "cost_facts": cost_facts(estimate, room.ports, room.open_files),
        "cost_notes": cost_notes(estimate),
        "checks": [*checks_before_start(project, [endpoint], 1), *room_checks(estimate, room)],
    }


def _initial_of(request: HttpRequest, form: LadderForm) -> dict[str, Any]:
    """The plan, the endpoint or target and the rungs that the address asks for, else the first
    plan and rungs, and the endpoint of the only target."""
    rungs = [key for key in request.GET.getlist("rungs") if key in form.offered]
    plans = {str(version.plan_id): pk for pk, version in form.versions.items()}
    endpoints = list(form.endpoints.values())
    asked, target = (whole(request.GET.get(name, "")) for name in ("endpoint", "target"))
    if not endpoints or not plans:
        return {}
    is_only = len({each.target_id for each in endpoints}) == 1
    endpoints.sort(key=lambda each: (each.pk != asked, each.target_id != target))
    first = endpoints[0]
    chosen = first if is_only or first.pk == asked or first.target_id == target else None
    return {
        "name": f"What does each layer cost{f' {chosen.target.name}' if chosen else ''}?"[:150],
        "plan": plans.get(request.GET.get("plan", ""), next(iter(plans.values()))),
        "endpoint": str(chosen.pk) if chosen else "",
        **({"rungs": rungs} if rungs else {}),
    }


def address_of_ladder(cell: CampaignCell) -> str:
    """The form, filled in for this plan on this endpoint."""
    plan = cell.plan_version.plan
    query = urlencode({"plan": plan.pk, "endpoint": cell.endpoint.pk})
    return f"{reverse('ladder-new', args=[plan.project_id])}?{query}"

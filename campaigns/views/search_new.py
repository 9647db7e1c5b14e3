"""The form of a search for a capacity: filled in, with what it will cost, and started."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.search_start import (
    USUAL_TRIALS,
    SearchCost,
    limit_for,
    objective_for,
    rules_of_text,
    start_for,
)
from campaigns.domain.shown.next_steps import nothing_to_tick
from campaigns.domain.units import counted, duration, number
from campaigns.forms.searches import SearchForm
from campaigns.models import Project, Search
from campaigns.queries.campaigns import Again, Grid, again_of, grid_of, of_target, ticks_for_plan
from campaigns.queries.caps import most_requests_per_s
from campaigns.queries.searches import (
    checks_of_search,
    cost_of_search,
    first_response_us,
    objective_of,
)
from campaigns.services.blocks import CampaignCell
from campaigns.services.searches import start_search
from campaigns.views.access import (
    actor_of,
    find,
    project_to_edit,
    signed_in_form,
    signed_in_post,
)
from campaigns.views.campaign_new import whole
from campaigns.views.saving import saved_by

_TRIAL_S, _LONGEST_S = 20.0, 3600.0


@signed_in_form
def search_new(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = project_to_edit(actor, project)
    grid = grid_of(found)
    again = _asked_again(request, found, grid)
    initial = _initial_again(again) if again else _initial_of(request, grid)
    form = SearchForm(request.POST or None, grid=grid, initial=initial)
    if begun := saved_by(form, lambda given: start_search(by=actor, project=found, **given)):
        return redirect("campaign-detail", campaign=begun.pk)
    context = {
        **_form_context(form, found),
        "again": again,
        "target": whole(request.GET.get("target", "")),
        "grid": grid,
        "nothing_to_tick": nothing_to_tick(has_arms=bool(grid.arms), has_plans=bool(grid.plans)),
    }
    return render(request, "campaigns/search_new.html", context, status=422 if form.errors else 200)


@signed_in_post
def search_estimate(request: HttpRequest, project: int) -> HttpResponse:
    """The form page's fragments for the current input."""
    found = project_to_edit(actor_of(request), project)
    form = SearchForm(request.POST, grid=grid_of(found))
    form.is_valid()
    return render(request, "campaigns/_search_estimate.html", _form_context(form, found))


def address_of_search(cell: CampaignCell) -> str:
    """The form, filled in for this plan on this arm."""
    plan = cell.plan_version.plan
    arm = f"{cell.endpoint.pk}.{cell.connection_mode}"
    query = urlencode({"plan": plan.pk, "arm": arm})
    return f"{reverse('search-new', args=[plan.project_id])}?{query}"


def usual_cost(plan: Plan) -> SearchCost:
    return cost_of_search(plan, trial_s=_TRIAL_S, longest_s=_LONGEST_S)


def search_words(cost: SearchCost) -> tuple[str, str]:
    """(how long, how much)"""
    return f"about {duration(cost.lasts_s)}", f"about {counted(cost.trials, 'trials')}"


def _form_context(form: SearchForm, project: Project) -> dict[str, Any]:
    context = {"project": project, "form": form}
    chosen = form.cell()
    if chosen is None:
        return context
    (row, arm), known = chosen, form.known()
    longest_s = known["longest_min"] * 60
    cost = cost_of_search(row.plan, trial_s=known["trial_s"], longest_s=longest_s)
    return {
        **context,
        "cost": cost,
        "most": number(known["limit_per_s"]),
        "usual_trials": USUAL_TRIALS,
        "checks": checks_of_search(
            project,
            row.plan,
            arm.endpoint,
            known["injectors"],
            cost,
            rules_of_text(known["objective"] or ""),
        ),
    }


def _initial_of(request: HttpRequest, grid: Grid) -> dict[str, Any]:
    """The plan and the arm that the address asks for, else a plan and where it last ran."""
    shown = of_target(grid, whole(request.GET.get("target", "")))
    wanted = whole(request.GET.get("plan", ""))
    rows = [row for row in grid.plans if any(row.fits(arm) for arm in grid.arms)]
    if not rows:
        return {}
    row = next((row for row in rows if row.version.plan_id == wanted), rows[0])
    asked = f"{row.version.pk}.{request.GET.get('arm', '')}"
    keys = [asked] if asked in grid.cells else ticks_for_plan(shown, row.version.plan_id)
    arm = grid.cells[keys[0]][1] if keys else None
    first_us = first_response_us(row.version, arm.endpoint) if arm else None
    return {
        "name": f"How much can {arm.endpoint.target.name if arm else 'it'} take?"[:150],
        "plan": str(row.version.pk),
        "arm": arm.key if arm else "",
        "objective": _rules_of(row.plan.thresholds) or objective_for(first_us),
        "start_per_s": start_for(first_us),
        "limit_per_s": limit_for(most_requests_per_s()),
    }


def _asked_again(request: HttpRequest, project: Project, grid: Grid) -> Again | None:
    """The search of this project that the address asks to run again."""
    if "again" not in request.GET:
        return None
    rows = Search.objects.filter(campaign__project=project).select_related("campaign__project")
    return again_of(find(rows, actor_of(request), pk=whole(request.GET["again"])).campaign, grid)


def _initial_again(again: Again) -> dict[str, Any]:
    """As it was, with the plan's latest version."""
    campaign, search = again.campaign, again.campaign.search
    version, _, arm = again.ticks[0].partition(".") if again.ticks else ("", "", "")
    longest_s = (search.deadline - campaign.started_at).total_seconds()
    return {
        "name": again.name,
        "plan": version,
        "arm": arm,
        "objective": _rules_of(objective_of(search)),
        "start_per_s": search.start_per_s,
        "limit_per_s": search.limit_per_s,
        "trial_s": search.trial_s,
        "longest_min": round(longest_s / 60) or 1,
        "injectors": again.injectors[0],
    }


def _rules_of(rules) -> str:
    return ", ".join(rule.rule for rule in rules)

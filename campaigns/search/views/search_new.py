"""The form of a search for a capacity: filled in, with what it will cost, and started. The form of
a protocol ladder: which rungs of which target, and its start."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from campaigns.campaigns.queries.campaign_grid import (
    Again,
    Grid,
    again_of,
    grid_of,
    picks_of,
    proposal,
)
from campaigns.campaigns.queries.checks import (
    checks_before_start,
    checks_of_search,
    cost_of_search,
    room_checks,
    room_of,
)
from campaigns.core.access import find, saved_by, signed_in_form, signed_in_post, whole
from campaigns.core.permissions import Action, Actor
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import (
    USUAL_TRIALS,
    SearchCost,
    limit_for,
    objective_for,
    rules_of_text,
    start_for,
)
from campaigns.domain.plan.rungs import estimate_ladder
from campaigns.domain.presentation.cost_words import cost_facts, cost_notes
from campaigns.domain.presentation.what_to_do import ASKED_QUESTIONS, nothing_to_tick
from campaigns.domain.units import counted, duration, number
from campaigns.engine.queries.injector_hosts import busy_host, hosts
from campaigns.ladder.services import start_ladder
from campaigns.models import Project, Search
from campaigns.operations.queries import most_requests_per_s
from campaigns.search import queries
from campaigns.search.forms import LadderForm, SearchForm
from campaigns.search.services import start_search

_TRIAL_S, _LONGEST_S = 20.0, 3600.0


@signed_in_form(Project, Action.EDIT)
def search_new(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    grid = grid_of(project)
    again = None
    if "again" in request.GET:
        rows = Search.objects.filter(campaign__project=project).select_related("campaign__project")
        again = again_of(find(rows, actor, pk=whole(request.GET["again"])).campaign, grid)
    initial = _initial_again(again, grid) if again else _initial_of(request, grid)
    form = SearchForm(request.POST or None, grid=grid, initial=initial)
    how = {"by": actor, "project": project, "when_quiet": request.POST.get("start") == "when_quiet"}
    search = _is_kept(request) and saved_by(form, start_search, **how)
    if search:
        return redirect("campaign-detail", campaign=search.pk)
    context = {
        **_form_context(form, project),
        "again": again,
        "nothing_to_tick": nothing_to_tick(has_arms=bool(grid.arms), has_plans=bool(grid.plans)),
    }
    status = 422 if _is_kept(request) and form.errors else 200
    return render(request, "search/new.html", context, status=status)


def _is_kept(request: HttpRequest) -> bool:
    """Whether it is more than a choice in a picker, where no script runs."""
    return "pick" not in request.POST


@signed_in_post(Project, Action.EDIT)
def search_estimate(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The form page's fragments for the current input."""
    form = SearchForm(request.POST, grid=grid_of(project))
    form.is_valid()
    return render(request, "search/_search_estimate.html", _form_context(form, project))


def usual_cost(plan: Plan) -> SearchCost:
    return cost_of_search(plan, trial_s=_TRIAL_S, longest_s=_LONGEST_S)


def search_words(cost: SearchCost) -> tuple[str, str]:
    """(how long, how much)"""
    return f"about {duration(cost.lasts_s)}", f"about {counted(cost.trials, 'trials')}"


def _page_of(project: Project, form: SearchForm | LadderForm) -> dict[str, Any]:
    return {
        "project": project,
        "form": form,
        "grid": form.grid,
        "busy_host": busy_host(),
        "questions": ASKED_QUESTIONS,
    }


def _form_context(form: SearchForm, project: Project) -> dict[str, Any]:
    context = _page_of(project, form)
    cell = form.cell()
    if cell is None:
        return context
    (row, arm), values = cell, form.known()
    longest_s = values["longest_min"] * 60
    cost = cost_of_search(row.plan, trial_s=values["trial_s"], longest_s=longest_s)
    return {
        **context,
        "cost": cost,
        "most": number(values["limit_per_s"]),
        "usual_trials": USUAL_TRIALS,
        "checks": checks_of_search(
            project,
            row.plan,
            arm.endpoint,
            values["injectors"],
            cost,
            rules_of_text(values["objective"] or ""),
        ),
    }


def _initial_of(request: HttpRequest, grid: Grid) -> dict[str, Any]:
    """The plan and the arm that the address asks for, else those used last."""
    numbers = {name: whole(request.GET.get(name, "")) for name in ("plan", "target")}
    picks = proposal(grid, **numbers)
    if not picks.plans:
        return {}
    row = next(each for each in grid.plans if str(each.version.pk) in picks.plans)
    cell = f"{row.version.pk}.{request.GET.get('arm', '')}"
    keys = [cell] if cell in grid.cells else grid.cells.combined(picks)
    arm = grid.cells[keys[0]][1] if keys else None
    first_us = queries.first_response_us(row.version, arm.endpoint) if arm else None
    return {
        **(picks_of(grid, keys[:1]) if arm else picks)._asdict(),
        "objective": _rules_of(row.plan.thresholds) or objective_for(first_us),
        "start_per_s": start_for(first_us),
        "limit_per_s": limit_for(most_requests_per_s()),
    }


def _initial_again(again: Again, grid: Grid) -> dict[str, Any]:
    """As it was, with the plan's latest version."""
    search = again.campaign.search
    return {
        **picks_of(grid, again.ticks[:1])._asdict(),
        "name": again.name,
        "objective": _rules_of(queries.objective_of(search)),
        "start_per_s": search.start_per_s,
        "limit_per_s": search.limit_per_s,
        "trial_s": search.trial_s,
        "longest_min": round(search.longest_s / 60) or 1,
        "injectors": again.injectors[0],
    }


def _rules_of(rules) -> str:
    return ", ".join(rule.rule for rule in rules)


@signed_in_form(Project, Action.EDIT)
def ladder_new(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    grid = grid_of(project)
    form = _form(request, project, grid)
    # What the address asks for, else what was used last, and the only target.
    rungs = [key for key in request.GET.getlist("rungs") if key in form.offered_rungs]
    numbers = {name: whole(request.GET.get(name, "")) for name in ("plan", "target", "endpoint")}
    number = numbers.pop("endpoint")
    endpoint = next((a.endpoint for a in form.grid.arms if a.endpoint.pk == number), None)
    if endpoint:
        numbers["target"] = endpoint.target_id
    picks = proposal(form.grid, **numbers)
    if endpoint:
        picks = picks._replace(endpoints=[str(endpoint.pk)])
    picks = picks._replace(endpoints=picks.endpoints[:1])
    form.initial = {**picks._asdict(), **({"rungs": rungs} if rungs else {})}
    how = {"by": actor, "project": project, "when_quiet": request.POST.get("start") == "when_quiet"}
    campaign = _is_kept(request) and saved_by(form, start_ladder, **how)
    if campaign:
        return redirect("campaign-detail", campaign=campaign.pk)
    # Why no ladder at all can be made; [] where only what it needs is missing.
    has_arms, has_plans = bool(grid.arms), bool(grid.plans)
    context = {
        **_ladder_context(form, project),
        "nothing_to_tick": []
        if has_arms and has_plans
        else nothing_to_tick(has_arms=has_arms, has_plans=has_plans),
    }
    status = 422 if _is_kept(request) and form.errors else 200
    return render(request, "ladder/new.html", context, status=status)


@signed_in_post(Project, Action.EDIT)
def ladder_estimate(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The form page's fragments for the current input."""
    form = _form(request, project, grid_of(project))
    return render(request, "ladder/_ladder_estimate.html", _ladder_context(form, project))


def _form(request: HttpRequest, project: Project, grid: Grid) -> LadderForm:
    profiles = [each.value() for each in project.tls_profiles.all()]
    return LadderForm(request.POST or None, grid=grid, profiles=profiles)


def _ladder_context(form: LadderForm, project: Project) -> dict[str, Any]:
    """The form with what its ladder takes, once there is a plan and an endpoint."""
    context = _page_of(project, form)
    values = form.known()
    version, endpoint = values.pop("version"), values.pop("endpoint")
    if version is None or endpoint is None:
        return context
    estimate = estimate_ladder(version.value(), **values)
    return {
        **context,
        "estimate": estimate,
        "cost_facts": cost_facts(estimate),
        "cost_notes": cost_notes(estimate),
        "checks": [
            *checks_before_start(project, [endpoint], 1),
            *room_checks(estimate, room_of(hosts())),
        ],
    }

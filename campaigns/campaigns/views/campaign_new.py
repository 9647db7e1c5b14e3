"""The page *New campaign*: what, where and how, what it would cost, and the draft. What its form
starts with: a question, a plan, or campaigns that have run."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.forms.campaigns import CampaignForm, new_seed
from campaigns.campaigns.queries.campaign_grid import (
    Again,
    Grid,
    Picks,
    again_of,
    grid_of,
    picks_of,
    proposal,
)
from campaigns.campaigns.queries.cells import CampaignCell, estimate_cells, why_in_blocks
from campaigns.campaigns.queries.checks import answer_checks, checks_of_campaign
from campaigns.campaigns.queries.references import (
    Confirmation,
    confirmation_of,
    have_history,
    sides_in,
    why_no_reference,
)
from campaigns.campaigns.services import campaigns as services
from campaigns.campaigns.services.campaigns import create_file_set_study, create_machine_study
from campaigns.core.access import (
    Edit,
    actor_of,
    find,
    labels_of,
    saved_by,
    signed_in_form,
    signed_in_post,
    whole,
)
from campaigns.core.permissions import Action, Actor
from campaigns.domain.errors import Refused
from campaigns.domain.metrics.profiles import perf_scope
from campaigns.domain.plan.plan import REFERENCE_PLAN
from campaigns.domain.plan.presets import Proposal, proposal_for
from campaigns.domain.plan.sweep import text_of_values
from campaigns.domain.plan.turns import USUAL_BLOCKS
from campaigns.domain.presentation.cost_words import cost_facts, cost_notes
from campaigns.domain.presentation.what_to_do import ASKED_QUESTIONS, nothing_to_tick
from campaigns.engine.queries.injector_hosts import busy_host
from campaigns.models import Campaign, Endpoint, PlanVersion, Project
from campaigns.probes.queries.first_requests import tried_lately
from campaigns.probes.services.probes import try_cells


def initial_of(
    request: HttpRequest, grid: Grid, again: Again | None, confirm: Confirmation | None
) -> dict[str, Any]:
    """The form's first values. The installation's own target is proposed where there is something
    to compare with. To confirm, both sides run in turn, or the stored ones have theirs."""
    if confirm:
        return {
            **_settings_of(confirm.campaign),
            **picks_of(grid, confirm.ticks)._asdict(),
            "name": confirm.name,
            "repeats": confirm.repeats,
            "order": Campaign.Order.BLOCKS,
            "injectors": ", ".join(map(str, confirm.injectors)),
            "reference": False,
        }
    is_edit = "edit" in request.GET
    if again:
        values = {
            **_settings_of(again.campaign),
            **picks_of(grid, again.ticks)._asdict(),
            "name": again.name,
            "injectors": ", ".join(map(str, again.injectors)),
        }
        if sweep := again.sweep:
            values |= {"sweep_field": sweep.field, "sweep_values": text_of_values(sweep.values)}
        if is_edit:
            values |= {"name": again.campaign.name, "seed": again.campaign.seed}
        elif text := request.GET.get("values"):
            values["sweep_values" if again.sweep else "injectors"] = text
        if only := request.GET.getlist("endpoint"):
            values["endpoints"] = [each for each in values["endpoints"] if each in only]
    else:
        values = _initial_new(request, grid)
    if why_no_reference():
        return {**values, "reference": False}
    if again and (again.reference or is_edit):
        return {**values, "reference": again.reference}
    keys = grid.cells.combined(Picks(*(values[name] for name in Picks._fields)))
    cells = [
        CampaignCell(plan.version, arm.endpoint, arm.mode)
        for plan, arm in map(grid.cells.get, keys)
    ]
    # Of one pass it would have one run, which tells nothing.
    in_blocks = values.get("order") or why_in_blocks(cells, None)
    has_history = have_history(
        (each.plan_version, each.endpoint, each.connection_mode) for each in cells
    )
    return {**values, "reference": bool(in_blocks) and has_history}


def _initial_new(request: HttpRequest, grid: Grid) -> dict[str, Any]:
    """Of no earlier campaign: for a question, a plan, a target, or the preset of a plan."""
    numbers = {name: whole(request.GET.get(name, "")) for name in ("plan", "target")}
    preset = asked_proposal(request)
    if preset:
        picks = proposal(grid, **numbers, schemes=preset.schemes)
        plan = next((row for row in grid.plans if str(row.version.pk) in picks.plans), None)
        return {
            **picks._asdict(),
            "seed": new_seed(),
            "name": plan.version.plan.name if plan else "",
            "repeats": preset.repeats,
            "order": Campaign.Order.BLOCKS,
            "injectors": ", ".join(map(str, preset.injectors)),
        }
    question = request.GET.get("question", "")
    picks = proposal(grid, question or "https", **numbers)
    schemes = {str(arm.endpoint.pk): arm.endpoint.scheme for arm in grid.arms}
    has_pair = {schemes[each] for each in picks.endpoints} == {"http", "https"}
    if not question and not has_pair:
        picks = proposal(grid, **numbers)
    elif not question:
        question = "https"
    if question == "steady":
        picks = picks._replace(endpoints=picks.endpoints[:1], modes=picks.modes[:1])
    return {**picks._asdict(), "seed": new_seed(), "question": question}


def _settings_of(campaign: Campaign) -> dict[str, Any]:
    return {
        "seed": new_seed(),
        "repeats": campaign.repeats,
        "order": "" if campaign.order == Campaign.Order.SIDE_BY_SIDE else campaign.order,
        "limit_s": campaign.limit_s,
        "until_settled": "on" if campaign.until_settled else "",
        "pause_s": campaign.pause_s,
        "practical_threshold": round(campaign.practical_threshold * 100, 6),
        "keeps_going": campaign.keeps_going,
        "perf": campaign.perf,
        "profile": campaign.profile,
    }


def asked_proposal(request: HttpRequest) -> Proposal | None:
    """The proposal of the preset that the URL's plan was created from."""
    return proposal_for(request.GET.get("preset", "")) if "plan" in request.GET else None


# What posts the form to its own page without saving it.
_TRY, _PICK = "try", "pick"


@signed_in_form(Project, Action.EDIT)
def campaign_new(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    if "study" in request.POST:
        return _study(request, project)
    if project.campaigns.filter(
        pk=whole(request.GET.get("again", "")), search__isnull=False
    ).exists():
        return redirect(f"{reverse('search-new', args=[project.pk])}?{request.GET.urlencode()}")
    confirm = again = edit = None
    if "confirm" in request.GET:  # two sides, to be run in turn
        confirm = confirmation_of(actor, project, request.GET["confirm"])
        if confirm is None:
            raise Http404
    grid = grid_of(project, confirm.versions if confirm else ())
    number = request.GET.get("edit") or request.GET.get("again")
    if number is not None:
        campaigns = Campaign.objects.filter(project=project)
        again = again_of(find(campaigns, actor, pk=whole(number)), grid)
    if again and "edit" in request.GET:
        labels = {**labels_of(CampaignForm), "tests": "What, where and how"}
        edit = Edit(request, lambda: services.content_of(again.campaign), labels)
    initial = initial_of(request, grid, again, confirm)
    is_kept = not {_TRY, _PICK} & request.POST.keys()
    form = CampaignForm(request.POST or None, grid=grid, initial=initial)
    not_tried = ""
    if _TRY in request.POST:
        try:
            try_cells(by=actor, cells=_plans_and_endpoints(form))
        except Refused as refusal:
            not_tried = str(refusal)
    if is_kept:
        campaign = saved_by(form, lambda **values: _save(request, values, project, edit, again))
        if campaign:
            page = reverse("campaign-detail", args=[campaign.pk])
            # With the two sides that are to be confirmed against each other.
            sides = sides_in(campaign, confirm) if confirm else None
            return redirect(f"{page}?compare={sides[1]}&with={sides[0]}" if sides else page)
    errors = form.errors if is_kept else {}
    status = edit.status(errors) if edit else 422 if errors else 200
    context = {
        **_form_context(form, project),
        "several": request.POST.get(_PICK, "")
        or (form["question"].value() == "faster" and "targets"),
        "proposal": asked_proposal(request),
        "nothing_to_tick": nothing_to_tick(has_arms=bool(grid.arms), has_plans=bool(grid.plans)),
        "again": again,
        "edit": edit,
        "confirm": confirm,
        "not_tried": not_tried,
    }
    return render(request, "campaigns/new.html", context, status=status)


def _study(request: HttpRequest, project: Project) -> HttpResponse:
    """A draft of the ticked targets at a study's file sets, filled in to be looked at."""
    page = reverse("campaign-new", args=[project.pk])
    try:
        who = {"by": actor_of(request), "project": project}
        pks = [whole(each) for each in request.POST.getlist("targets")]
        targets = list(project.targets.filter(pk__in=pks, archived_at=None).order_by("pk"))
        if request.POST["study"] != "machine":
            draft = create_file_set_study(**who, targets=targets)
        else:
            if len(targets) != 1:
                raise Refused("Choose one target.")
            draft = create_machine_study(**who, target=targets[0])
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(page)
    return redirect(f"{page}?edit={draft.pk}")


def _plans_and_endpoints(form: CampaignForm) -> list[tuple[PlanVersion, Endpoint]]:
    """Of the tests; connection modes make no difference to a single request."""
    cells = [form.grid.cells[key] for key in form.cells]
    return list(dict.fromkeys((plan.version, arm.endpoint) for plan, arm in cells))


def _save(
    request: HttpRequest,
    values: dict[str, Any],
    project: Project,
    edit: Edit | None,
    again: Again | None,
) -> Campaign | None:
    """The new campaign, or the draft as edited, started if requested; None where others changed the
    draft meanwhile."""
    actor = actor_of(request)
    with transaction.atomic():
        campaign = (
            edit.save(services.edit_draft, by=actor, campaign=again.campaign, **values)
            if edit and again
            else services.create_campaign(by=actor, project=project, **values)
        )
        if campaign and "start" in request.POST:
            when_quiet = request.POST["start"] == "when_quiet"
            services.start_campaign(by=actor, campaign=campaign, when_quiet=when_quiet)
    return campaign


@signed_in_post(Project, Action.EDIT)
def campaign_estimate(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The form page's fragments for the current input."""
    # A form that confirms has older versions of plans, too.
    grid = grid_of(project, set(map(whole, request.POST.getlist("plans"))))
    form = CampaignForm(request.POST, grid=grid)
    return render(request, "campaigns/_estimate.html", _form_context(form, project))


def _form_context(form: CampaignForm, project: Project) -> dict[str, Any]:
    values_so_far = form.known()
    cells = [form.grid.cells[key] for key in values_so_far["cells"]]
    has_reference = bool(values_so_far.get("reference"))
    tests = form.known_cells()
    why_blocks = why_in_blocks(tests, values_so_far["limit_s"])
    in_turns = bool(tests) and not (values_so_far["order"] or why_blocks)
    repeats = values_so_far["repeats"] or (1 if in_turns else USUAL_BLOCKS)
    values = {"repeats": repeats, "pause_s": values_so_far["pause_s"]}
    perf = perf_scope(values_so_far["perf"], is_profiled=bool(values_so_far["profile"]))
    estimate = estimate_cells(
        tests,
        in_turns=in_turns,
        limit_s=values_so_far["limit_s"],
        until_settled=values_so_far["until_settled"],
        perf=perf,
        has_reference=has_reference,
        **values,
    )
    requests = [(plan.plan, arm.endpoint) for plan, arm in cells]
    if has_reference:
        requests.append((REFERENCE_PLAN, Endpoint(**settings.REFERENCE_TARGET)))
    endpoints = [arm.endpoint for _, arm in cells]
    return {
        "project": project,
        "form": form,
        "grid": form.grid,
        "questions": ASKED_QUESTIONS,
        "several_rows": len(form.picks.plans) > 1 or len(form.picks.targets) > 1,
        "estimate": estimate,
        "cost_facts": cost_facts(estimate),
        "cost_notes": cost_notes(estimate),
        "in_turns": in_turns,
        "why_blocks": "" if values_so_far["order"] or not tests else why_blocks,
        "busy_host": busy_host(),
        "checks": [
            *answer_checks(endpoints, form.grid.answers, timezone.now()),
            *checks_of_campaign(
                project, requests, estimate, injectors=max(values_so_far["injectors"]), perf=perf
            ),
        ]
        if cells
        else [],
        "first_responses": tried_lately(_plans_and_endpoints(form)),
    }

"""Plans: the list, one plan with its versions, and the form."""

import json
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import GENERAL, PRESETS, STUDIES, Preset
from campaigns.domain.shown import plan_words
from campaigns.domain.shown.plan_words import session_facts
from campaigns.forms.plan_load import MODEL_WORDS, MODELS
from campaigns.forms.plan_steps import ORDER_WORDS
from campaigns.forms.plans import PlanForm
from campaigns.models import PlanVersion, Project, SavedPlan
from campaigns.permissions import Action, require
from campaigns.queries import plans as queries
from campaigns.services import plans as services
from campaigns.views.access import actor_of, find, project_to_edit, rights_in, takes_a_form
from campaigns.views.items import list_context
from campaigns.views.plan_preview import picture_of, preview_of_form
from campaigns.views.saving import Edit
from campaigns.views.transfer import takes_bytes

_LABELS = {"name": "Name"} | {path: row.label for path, row in all_fields(Plan).items()}


@require_safe
@login_required
def plan_list(request, project: int):
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    context = list_context(request, "plan", found)
    context |= {
        "plans": queries.with_newest(context["page"]),
        "presets": PRESETS.values(),
        "may": rights_in(found, actor),
    }
    return render(request, "plans/list.html", context)


@takes_a_form
@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@login_required
def plan_new(request, project: int):
    actor = actor_of(request)
    found = project_to_edit(actor, project)
    preset = PRESETS.get(request.GET.get("preset", ""))
    # The plan of the project that a new one begins with.
    number = request.GET.get("copy", "")
    plans = found.plans.filter(archived_at=None)
    copied = plans.filter(pk=number).first() if number.isdecimal() and len(number) < 10 else None
    form = PlanForm()
    if preset:
        form = PlanForm.of(preset.name, preset.spec)
    elif copied:
        form = PlanForm.of(f"{copied.name} copy"[:100], copied.latest.value().to_json())
    if request.method == "POST":
        form = PlanForm(request.POST, request.FILES)
        version = _saved(
            form, services.create_plan, preset and preset.spec, by=actor, project=found
        )
        if version:
            if request.POST.get("then") == "campaign":
                return redirect(campaign_address(version.plan, preset))
            messages.success(request, f"{version.plan.name} created. Next, use it in a campaign.")
            return redirect("plan-detail", plan=version.plan_id)
    return _form_page(request, found, form, preset=preset)


def campaign_address(plan: SavedPlan, preset: Preset | None) -> str:
    """The URL of a new campaign's form, prefilled for this plan from the preset."""
    query = {"plan": plan.pk, **({"preset": preset.key} if preset else {})}
    return f"{reverse('campaign-new', args=[plan.project_id])}?{urlencode(query)}"


def _preset_of(spec: dict[str, Any]) -> Preset | None:
    """The preset that equals this spec, if any."""
    return next((preset for preset in PRESETS.values() if preset.spec == spec), None)


@takes_a_form
@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@login_required
def plan_edit(request, plan: int):
    actor = actor_of(request)
    found = find(SavedPlan, actor, pk=plan)
    require(actor, Action.EDIT, found.project)
    edit = Edit(request, lambda: services.content_of(found), _LABELS)
    latest = found.latest
    spec = latest.value().to_json()
    form = PlanForm.of(found.name, spec)
    if request.method == "POST":
        form = PlanForm(request.POST, request.FILES)
        version = _saved(form, partial(edit.save, services.edit_plan), spec, by=actor, plan=found)
        if version:
            messages.success(request, _said(version, is_new=version.pk != latest.pk))
            return redirect("plan-detail", plan=found.pk)
    return _form_page(request, found.project, form, plan=find(SavedPlan, actor, pk=plan), edit=edit)


@require_safe
@login_required
def plan_detail(request, plan: int):
    actor = actor_of(request)
    found = find(SavedPlan.objects.select_related("project"), actor, pk=plan)
    versions = queries.versions_of(found)
    version = _chosen(versions, request.GET.get("version"))
    value = version.value()
    context = {
        "project": found.project,
        "plan": found,
        "version": version,
        "is_latest": version.pk == versions[0].pk,
        "versions": versions,
        "value": value,
        "model": dict(MODELS)[value.load.model],
        "load_words": plan_words.plan_load_words(value),
        "order_words": plan_words.order_words(value),
        "session_facts": session_facts(value, has_secret=hasattr(found, "secret")),
        "exchange_facts": plan_words.exchange_facts(value.exchange),
        "load_facts": plan_words.load_facts(value.load),
        "picture": picture_of(value),
        "n_requests": value.planned_requests,
        "duration_s": planned_duration_s(value.load),
        "equivalents": equivalents(value),
        "campaign_address": campaign_address(found, _preset_of(value.to_json())),
        "may": rights_in(found.project, actor),
    }
    return render(request, "plans/detail.html", context)


def _saved(form: PlanForm, service, base=None, **whose) -> PlanVersion | None:
    if not form.is_valid():
        return None
    try:
        return service(
            **whose, name=form.cleaned_data["name"], spec=form.spec(base), secret=form.new_secret()
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        form.add_error(None, str(refusal))
    return None


def _said(version: PlanVersion, is_new: bool) -> str:
    if is_new:
        return f"Version {version.number} created. Earlier results keep theirs."
    return f"Nothing changed in what is sent. Version {version.number} is still the latest."


def _chosen(versions: list[PlanVersion], number: str | None) -> PlanVersion:
    if not number:
        return versions[0]
    for version in versions:
        if str(version.number) == number:
            return version
    raise Http404


def _form_page(request, project: Project, form: PlanForm, plan=None, preset=None, edit=None):
    context = {
        "project": project,
        "form": form,
        "plan": plan,
        "edit": edit,
        "everyday": [each for each in PRESETS.values() if each.group == GENERAL],
        "studies": [each for each in PRESETS.values() if each.group == STUDIES],
        "own_plans": () if plan else project.plans.filter(archived_at=None).order_by("name"),
        "preset": preset,
        "base": json.dumps(form.base_of(preset.name, preset.spec)) if preset else "",
        "model_words": MODEL_WORDS,
        "order_words": ORDER_WORDS,
        "has_secret": plan is not None and hasattr(plan, "secret"),
        **preview_of_form(form),
    }
    errors = form.is_bound and form.errors
    status = edit.status(errors) if edit else 422 if errors else 200
    return render(request, "plans/form.html", context, status=status)

"""Targets: the list, one target with its endpoints and facts, and the form."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from campaigns.domain.errors import InvalidTarget, Refused
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import VERSIONS
from campaigns.domain.plan.tls_profiles import PROFILES
from campaigns.forms.requests import ProbeForm
from campaigns.forms.targets import FACT_LABELS, TargetForm
from campaigns.models import Project, Target
from campaigns.permissions import Action, require
from campaigns.queries import targets as queries
from campaigns.queries.ownership import hosts_of
from campaigns.services import targets as services
from campaigns.views.access import actor_of, find, project_to_edit, rights_in, takes_a_form
from campaigns.views.items import list_context
from campaigns.views.saving import Edit

_LABELS = {"name": "Name", "endpoints": "Endpoints", "environment": "Environment"}


@require_safe
@login_required
def target_list(request, project: int):
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    context = {**list_context(request, "target", found), "may": rights_in(found, actor)}
    return render(request, "targets/list.html", context)


@takes_a_form
@login_required
def target_new(request, project: int):
    actor = actor_of(request)
    found = project_to_edit(actor, project)
    form = TargetForm.demo() if request.GET.get("preset") == "demo" else TargetForm.blank()
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        target = _saved(form, services.create_target, by=actor, project=found)
        if target:
            messages.success(request, f"{target.name} created. Next, try one request.")
            return redirect("target-detail", target=target.pk)
    return _form_page(request, found, form)


@takes_a_form
@login_required
def target_edit(request, target: int):
    actor = actor_of(request)
    found = find(Target, actor, pk=target)
    require(actor, Action.EDIT, found.project)
    edit = Edit(request, lambda: services.content_of(found), _LABELS)
    form = TargetForm.of(found)
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        if _saved(form, partial(edit.save, services.edit_target), by=actor, target=found):
            messages.success(request, f"{found.name} saved.")
            return redirect("target-detail", target=found.pk)
    return _form_page(request, found.project, form, Target.objects.get(pk=found.pk), edit)


@require_safe
@login_required
def target_detail(request, target: int):
    return detail_page(request, find(Target, actor_of(request), pk=target), ProbeForm())


def detail_page(request, target: Target, form: ProbeForm, status: int = 200, start_agent: str = ""):
    """The target's page; also shown for an invalid "try one request", and with the line that
    starts a new agent."""
    endpoints = list(target.endpoints.filter(archived_at=None))
    is_websocket = {endpoint.scheme in WEBSOCKET_SCHEMES for endpoint in endpoints}
    may = rights_in(target.project, actor_of(request))
    context = {
        "project": target.project,
        "target": target,
        "endpoints": endpoints,
        "speaks_websocket": True in is_websocket,
        "speaks_http": False in is_websocket,
        "old_endpoints": queries.archived_endpoints(target),
        "probes": queries.recent_probes(target),
        "form": form,
        "may": may,
        "can_try": may["run"] and endpoints and not target.archived_at,
        "agents": queries.live_agents(target),
        "exporters": queries.exporters_of(target),
        "hosts": hosts_of(target),
        "start_agent": start_agent,
    }
    return render(request, "targets/detail.html", context, status=status)


def _saved(form: TargetForm, service, **whose) -> Target | None:
    try:
        return service(**whose, **form.fields())
    except InvalidTarget as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        form.take_errors({"refused": str(refusal)})
    return None


def _form_page(
    request,
    project: Project,
    form: TargetForm,
    target: Target | None = None,
    edit: Edit | None = None,
):
    context = {
        "project": project,
        "form": form,
        "target": target,
        "edit": edit,
        "labels": FACT_LABELS,
        "versions": VERSIONS,
        "profiles": PROFILES.values(),
        "own_profiles": [each.value() for each in project.tls_profiles.all()],
    }
    status = edit.status(form.errors) if edit else 422 if form.errors else 200
    return render(request, "targets/form.html", context, status=status)

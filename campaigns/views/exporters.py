"""Prometheus exporters of a target: set, check and remove them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from campaigns.forms.exporters import ExporterForm
from campaigns.models import Exporter, Target
from campaigns.permissions import Action, require
from campaigns.services import exporters as services
from campaigns.views.access import actor_of, answers_refusals, find, takes_a_form
from campaigns.views.saving import Edit, labels_of, saved_by

_ROWS = Exporter.objects.select_related("target__project")


def _of_target(target: int) -> str:
    return reverse("target-detail", args=[target]) + "#agents"


def _of_exporter(request: HttpRequest, exporter: int) -> str:
    return _of_target(find(_ROWS, actor_of(request), pk=exporter).target_id)


@takes_a_form
@login_required
def exporter_new(request: HttpRequest, target: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Target.objects.select_related("project"), actor, pk=target)
    require(actor, Action.EDIT, found.project)
    form = ExporterForm(request.POST) if request.method == "POST" else ExporterForm()
    saved = saved_by(form, lambda fields: services.add_exporter(by=actor, target=found, **fields))
    return _answer(request, found, form, saved)


@takes_a_form
@login_required
def exporter_edit(request: HttpRequest, exporter: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(_ROWS, actor, pk=exporter)
    require(actor, Action.EDIT, found.target.project)
    edit = Edit(request, lambda: services.content_of(found), labels_of(ExporterForm))
    form = ExporterForm.of(found)
    if request.method == "POST":
        form = ExporterForm(request.POST, has_token=found.has_token)
    saved = saved_by(
        form, lambda given: edit.save(services.change_exporter, by=actor, exporter=found, **given)
    )
    return _answer(request, found.target, form, saved, edit)


@login_required
@require_POST
@answers_refusals(_of_exporter)
def exporter_check(request: HttpRequest, exporter: int) -> HttpResponse:
    found = find(_ROWS, actor_of(request), pk=exporter)
    services.ask_check(by=actor_of(request), exporter=found)
    messages.success(request, f"A worker asks {found.name} now. Reload this page in a few seconds.")
    return redirect(_of_target(found.target_id))


@login_required
@require_POST
def exporter_remove(request: HttpRequest, exporter: int) -> HttpResponse:
    found = find(_ROWS, actor_of(request), pk=exporter)
    services.remove_exporter(by=actor_of(request), exporter=found)
    messages.success(request, f"{found.name} is no longer scraped. What it reported is kept.")
    return redirect(_of_target(found.target_id))


def _answer(
    request: HttpRequest,
    target: Target,
    form: ExporterForm,
    saved: Exporter | None,
    edit: Edit | None = None,
) -> HttpResponse:
    if saved:
        messages.success(request, f"{saved.name} is saved. A worker asks it now what it offers.")
        return redirect(_of_target(target.pk))
    context = {"project": target.project, "target": target, "form": form, "edit": edit}
    status = edit.status(form.errors) if edit else 422 if form.errors else 200
    return render(request, "targets/exporter.html", context, status=status)

"""What projects use of their caps: of one for its owners, of all for administrators."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from campaigns.domain.caps import PROJECT_CAPS, RATE
from campaigns.forms.projects import CapsForm
from campaigns.models import Project
from campaigns.permissions import Action, require
from campaigns.queries.caps import most_requests_per_s, use_of, uses_of
from campaigns.queries.storage import GROWTH_DAYS, growth, stored_of
from campaigns.services.caps import content_of, set_caps
from campaigns.views.access import actor_of, find, for_administrators, takes_a_form
from campaigns.views.saving import Edit


@login_required
@require_GET
def project_use(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    require(actor, Action.ADMINISTER, found)
    context = {
        "project": found,
        "uses": use_of(found),
        "most_per_s": _most_per_s(),
        "stored": stored_of(found),
        "growth": growth(found),
        "growth_days": GROWTH_DAYS,
    }
    return render(request, "caps/project.html", context)


@for_administrators
@require_GET
def caps(request: HttpRequest) -> HttpResponse:
    projects = list(Project.objects.order_by("name", "pk"))
    uses = uses_of(projects)
    context = {
        "caps": PROJECT_CAPS,
        "rows": [(project, uses[project.pk]) for project in projects],
        "most_per_s": _most_per_s(),
    }
    return render(request, "caps/list.html", context)


@takes_a_form
@for_administrators
def caps_edit(request: HttpRequest, project: int) -> HttpResponse:
    found, actor = get_object_or_404(Project, pk=project), actor_of(request)
    edit = Edit(request, lambda: content_of(found), {cap.name: cap.title for cap in PROJECT_CAPS})
    form = CapsForm(request.POST or None, project=found)
    saved = form.is_valid() and edit.save(set_caps, by=actor, project=found, caps=form.cleaned_data)
    if saved:
        messages.success(request, f"The caps of {found.name} are set.")
        return redirect("caps")
    # Not "project": the top bar would offer the places of one that the administrator may not see.
    context = {"capped": found, "form": form, "uses": use_of(found), "edit": edit}
    status = edit.status(form.errors)
    return render(request, "caps/edit.html", context, status=status)


def _most_per_s() -> str:
    most = most_requests_per_s()
    return "no cap" if most is None else RATE.words(most)

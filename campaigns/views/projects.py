"""Projects and their members. What projects use of their caps: of one for its owners, of all for
administrators."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from campaigns.domain.caps import PROJECT_CAPS, RATE
from campaigns.domain.errors import Refused
from campaigns.forms.projects import CapsForm, MemberForm, ProjectForm, RoleForm
from campaigns.models import Membership, Project
from campaigns.permissions import Action, Role, require
from campaigns.queries import projects as queries
from campaigns.queries.caps import (
    GROWTH_DAYS,
    growth,
    most_requests_per_s,
    stored_of,
    use_of,
    uses_of,
)
from campaigns.queries.items import ItemFilter
from campaigns.services import projects as services
from campaigns.services.caps import content_of, set_caps
from campaigns.views.access import (
    actor_of,
    answers_refusals,
    find,
    for_administrators,
    rights_in,
    signed_in_form,
    signed_in_get,
    signed_in_post,
    signed_in_safe,
    takes_a_form,
)
from campaigns.views.items import list_context
from campaigns.views.measure import field_page
from campaigns.views.saving import Edit


@signed_in_safe
def project_list(request):
    """Home: the only project opens by itself; without one the first use creates it."""
    context = list_context(request, "project")
    if not context["n_all"]:
        return field_page(request, None)
    if context["n_used"] == 1 and not request.GET:
        return redirect("campaign-list", project=context["page"].rows[0].pk)
    mine = queries.list_projects(actor_of(request), ItemFilter())
    context["editable"] = mine.filter(role__in=(Role.OWNER, Role.EDITOR))
    return render(request, "projects/list.html", context)


@signed_in_form
def project_new(request):
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        project = services.create_project(by=actor_of(request), **form.cleaned_data)
        messages.success(request, f"Project {project.name} created. Next, add a target.")
        return redirect("target-list", project=project.pk)
    return render(request, "projects/new.html", {"form": form})


@signed_in_safe
def project_detail(request, project: int):
    """What an address shortened to its project leads to."""
    found = find(Project, actor_of(request), pk=project)
    return redirect("campaign-list", project=found.pk)


@signed_in_form
def project_members(request, project: int):
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    require(actor, Action.VIEW, found)
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _added(form, actor, found):
        messages.success(request, f"{form.cleaned_data['username']} is now a member.")
        return redirect("project-members", project=found.pk)
    context = {
        "project": found,
        "members": queries.members_of(found),
        "form": form,
        "roles": queries.ROLES,
        "may": rights_in(found, actor),
    }
    return render(request, "projects/members.html", context)


def _added(form, actor, project) -> bool:
    """Whether the person was added; otherwise the form has the error at the name."""
    try:
        services.add_member(by=actor, project=project, **form.cleaned_data)
    except Refused as refusal:
        form.add_error("username", str(refusal))
        return False
    return True


def _to_members(request, membership: int) -> str:
    found = find(Membership, actor_of(request), pk=membership)
    return reverse("project-members", args=[found.project_id])


@signed_in_post
@answers_refusals(_to_members)
def membership_role(request, membership: int):
    actor = actor_of(request)
    found = find(Membership, actor, pk=membership)
    form = RoleForm(request.POST)
    if form.is_valid():
        services.change_role(by=actor, membership=found, role=form.cleaned_data["role"])
        messages.success(request, f"{found.user} is now {form.cleaned_data['role']}.")
    else:
        messages.error(request, "Choose one of the four roles.")
    return redirect("project-members", project=found.project_id)


@signed_in_post
@answers_refusals(_to_members)
def membership_remove(request, membership: int):
    actor = actor_of(request)
    found = find(Membership, actor, pk=membership)
    services.remove_member(by=actor, membership=found)
    messages.success(request, f"{found.user} is no longer a member.")
    return redirect("project-members", project=found.project_id)


@signed_in_get
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

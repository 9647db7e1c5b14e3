"""A project's TLS profiles: those that come with benchsite, and its own."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from campaigns.domain.plan.tls_profiles import PROFILES
from campaigns.forms.tls_profiles import TlsProfileForm
from campaigns.models import OwnTlsProfile, Project
from campaigns.permissions import Action, require
from campaigns.queries.targets import endpoints_by_profile, list_profiles
from campaigns.services import tls_profiles as services
from campaigns.views.access import (
    actor_of,
    answers_refusals,
    find,
    project_to_edit,
    rights_in,
    signed_in_form,
    signed_in_post,
    signed_in_safe,
)
from campaigns.views.saving import Edit, labels_of, saved_by

_ROWS = OwnTlsProfile.objects.select_related("project")


def _list_of(request: HttpRequest, profile: int) -> str:
    found = find(_ROWS, actor_of(request), pk=profile)
    return reverse("tls-profile-list", args=[found.project_id])


@signed_in_safe
def tls_profile_list(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    context = {
        "project": found,
        "own": list_profiles(actor, found),
        "ready": PROFILES.values(),
        "may": rights_in(found, actor),
    }
    return render(request, "tls_profiles/list.html", context)


@signed_in_form
def tls_profile_new(request: HttpRequest, project: int) -> HttpResponse:
    """`?from=KEY`: filled in with what a profile that comes with benchsite offers."""
    actor = actor_of(request)
    found = project_to_edit(actor, project)
    start = PROFILES.get(request.GET.get("from", ""))
    form = TlsProfileForm.starting_from(start) if start else TlsProfileForm()
    if request.method == "POST":
        form = TlsProfileForm(request.POST)
    saved = saved_by(form, lambda given: services.create_profile(by=actor, project=found, **given))
    if saved:
        messages.success(request, f"{saved.name} created. Endpoints of targets can name it now.")
        return redirect("tls-profile-list", project=found.pk)
    return _form_page(request, found, form)


@signed_in_form
def tls_profile_edit(request: HttpRequest, profile: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(_ROWS, actor, pk=profile)
    require(actor, Action.EDIT, found.project)
    edit = Edit(request, lambda: services.content_of(found), labels_of(TlsProfileForm))
    form = TlsProfileForm.starting_from(found.value(), found.name)
    if request.method == "POST":
        form = TlsProfileForm(request.POST)
    saved = saved_by(
        form, lambda given: edit.save(services.change_profile, by=actor, profile=found, **given)
    )
    if saved:
        messages.success(request, f"{saved.name} saved. Runs that were queued keep what they had.")
        return redirect("tls-profile-list", project=found.project_id)
    return _form_page(request, found.project, form, found, edit)


@signed_in_post
@answers_refusals(_list_of)
def tls_profile_delete(request: HttpRequest, profile: int) -> HttpResponse:
    found = find(_ROWS, actor_of(request), pk=profile)
    services.delete_profile(by=actor_of(request), profile=found)
    messages.success(request, f"{found.name} deleted. Results are kept as they are.")
    return redirect("tls-profile-list", project=found.project_id)


def _form_page(
    request: HttpRequest,
    project: Project,
    form: TlsProfileForm,
    profile: OwnTlsProfile | None = None,
    edit: Edit | None = None,
) -> HttpResponse:
    used = endpoints_by_profile(project).get(profile.name, ()) if profile else ()
    context = {
        "project": project,
        "profile": profile,
        "form": form,
        "endpoints": used,
        "edit": edit,
    }
    status = edit.status(form.errors) if edit else 422 if form.errors else 200
    return render(request, "tls_profiles/form.html", context, status=status)

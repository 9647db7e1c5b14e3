"""Save the list of campaigns as it is narrowed and sorted now, and delete such a view."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from campaigns.forms.filters import CampaignFilterForm
from campaigns.models import Project, SavedView
from campaigns.services import saved_views as services
from campaigns.views.access import actor_of, answers_refusals, find


def _list_as_it_was(request: HttpRequest, project: int) -> str:
    return f"{reverse('campaign-list', args=[project])}?{_form_of(request, project).query}"


def _form_of(request: HttpRequest, project: int) -> CampaignFilterForm:
    """The filters that were chosen, whatever else the posted query may contain."""
    found = find(Project, actor_of(request), pk=project)
    return CampaignFilterForm(QueryDict(request.POST.get("query", "")), project=found)


@login_required
@require_POST
@answers_refusals(_list_as_it_was)
def view_new(request: HttpRequest, project: int) -> HttpResponse:
    actor, query = actor_of(request), _form_of(request, project).query
    found = find(Project, actor, pk=project)
    name = request.POST.get("name", "")
    view = services.save_view(by=actor, project=found, name=name, query=query)
    messages.success(request, f"View {view.name} saved. Only you see it.")
    return redirect(_list_as_it_was(request, project))


@login_required
@require_POST
def view_delete(request: HttpRequest, view: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(SavedView.objects.filter(user=actor.user), actor, pk=view)
    services.delete_view(by=actor, view=found)
    messages.success(request, f"View {found.name} deleted. Its campaigns stay.")
    return redirect("campaign-list", project=found.project_id)

"""All load of the installation, for its administrators: see it, stop it, allow it again; its
injector hosts and storage. Of a project, for its owners: stop it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.units import counted
from campaigns.models import Project, Run
from campaigns.queries.caps import GROWTH_DAYS, growth, stored_kinds, stored_projects
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.load_control import active_runs, load_control, waiting_campaigns
from campaigns.services import load_control as services
from campaigns.services.campaigns import stop_all_of_project
from campaigns.services.runs import stop_any_run
from campaigns.views.access import (
    actor_of,
    answers_refusals,
    find,
    for_administrators,
    signed_in_post,
    signed_in_safe,
)


@signed_in_safe
def injector_host_list(request):
    """`?project=` only keeps the top bar's sections; hosts belong to the installation."""
    found = hosts()
    context = {
        "hosts": found,
        "n_alive": sum(host.is_alive for host in found),
        "n_slots": sum(host.slots for host in found if host.is_alive),
        "n_busy": sum(host.busy for host in found if host.is_alive),
        "project": _project_of(request),
    }
    return render(request, "injector_hosts/list.html", context)


def _project_of(request) -> Project | None:
    number = request.GET.get("project", "")
    if not number.isdecimal():
        return None
    return Project.objects.visible_to(actor_of(request)).filter(pk=int(number)).first()


@for_administrators
@require_GET
def storage(request: HttpRequest) -> HttpResponse:
    kinds = stored_kinds()
    context = {
        "kinds": kinds,
        "total_bytes": sum(kind.total_bytes for kind in kinds),
        "projects": stored_projects(),
        "growth": growth(),
        "growth_days": GROWTH_DAYS,
    }
    return render(request, "storage/page.html", context)


@for_administrators
@require_GET
def load_page(request: HttpRequest) -> HttpResponse:
    waiting = list(waiting_campaigns())
    context = {
        "control": load_control(),
        "runs": [(run, plan_load_words(run.frozen.plan)) for run in active_runs()],
        "waiting": waiting,
        "n_queued": sum(each.n_queued for each in waiting),
    }
    return render(request, "load_control/page.html", context)


@for_administrators
@require_POST
def load_stop(request: HttpRequest) -> HttpResponse:
    n_stopped = services.stop_all_load(by=actor_of(request))
    messages.success(request, f"Load is off. {counted(n_stopped, 'active runs')} told to stop.")
    return redirect("load")


@for_administrators
@require_POST
def load_allow(request: HttpRequest) -> HttpResponse:
    services.allow_load(by=actor_of(request))
    messages.success(request, "Load is on. Queued runs begin now.")
    return redirect("load")


@for_administrators
@require_POST
@answers_refusals(lambda request, **kwargs: "load")
def load_run_stop(request: HttpRequest, run: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("campaign"), pk=run)
    stop_any_run(by=actor_of(request), run=found)
    messages.success(request, f"Run {found.label} of {found.campaign.name} is told to stop.")
    return redirect("load")


@signed_in_post
def project_stop(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    n_stopped = stop_all_of_project(by=actor, project=found)
    messages.success(request, f"{counted(n_stopped, 'campaigns')} of {found.name} told to stop.")
    return redirect("project-use", project=found.pk)

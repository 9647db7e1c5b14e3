"""The injector hosts: the machines that send the load."""

from django.contrib.auth.decorators import login_required
from django.shortcuts import render
from django.views.decorators.http import require_safe

from campaigns.models import Project
from campaigns.queries.injector_hosts import hosts
from campaigns.views.access import actor_of


@require_safe
@login_required
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

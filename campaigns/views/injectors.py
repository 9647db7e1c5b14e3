"""The hosts that send the load."""

from django.contrib.auth.decorators import login_required
from django.shortcuts import render

from campaigns.models import Project
from campaigns.queries import injectors as queries
from campaigns.views.access import actor_of


@login_required
def injector_list(request):
    """`?project=` only keeps the top bar's places; injectors belong to the installation."""
    hosts = queries.hosts()
    context = {
        "hosts": hosts,
        "n_alive": sum(host.is_alive for host in hosts),
        "n_slots": sum(host.slots for host in hosts if host.is_alive),
        "n_busy": sum(host.busy for host in hosts if host.is_alive),
        "project": _project_of(request),
    }
    return render(request, "injectors/list.html", context)


def _project_of(request) -> Project | None:
    number = request.GET.get("project", "")
    if not number.isdecimal():
        return None
    return Project.objects.visible_to(actor_of(request)).filter(pk=int(number)).first()

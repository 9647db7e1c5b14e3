"""Reads of targets and endpoints."""

from django.db.models import Count, Prefetch, Q

from campaigns.models import Endpoint, Probe, Project, Target
from campaigns.permissions import Actor


def targets_of(project: Project, actor: Actor):
    """The project's targets with their endpoints and the number of their finished runs."""
    return (
        Target.objects.visible_to(actor)
        .filter(project=project, archived_at=None)
        .annotate(n_runs=Count("runs", filter=Q(runs__state="done"), distinct=True))
        .prefetch_related(Prefetch("endpoints", endpoints_in_use(), to_attr="used_endpoints"))
    )


def endpoints_in_use():
    return Endpoint.objects.filter(archived_at=None)


def recent_probes(target: Target, limit: int = 8):
    return (
        Probe.objects.filter(endpoint__target=target)
        .select_related("endpoint", "requested_by")
        .order_by("-pk")[:limit]
    )


def archived_endpoints(target: Target):
    return target.endpoints.exclude(archived_at=None)

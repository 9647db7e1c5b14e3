"""Large bodies of requests: stored once for a project, by digest; an order of an injector has their
bytes beside its plan."""

import base64
from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Sum, TextField
from django.db.models.functions import Cast, Length, Now

from campaigns.core.dbtime import db_now
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.plan.body import Blob, digests_in
from campaigns.domain.plan.step import Step
from campaigns.items.services import hold
from campaigns.models import PlanVersion, Probe, Project, StoredBody

MOST_BYTES = 512 * 1024 * 1024  # of a project
_UNUSED_KEPT_S = 86_400


def keep_bodies(project: Project, steps: Iterable[Step]) -> None:
    """Store the files of these steps that are not there yet. Raises Refused where the project has
    no room, and InvalidPlan for a digest of which the bytes were never stored in it."""
    for index, step in enumerate(steps):
        for blob in filter(lambda each: each.is_apart, step.files):
            if not keep_body(project, blob):
                fault = "This file is not stored here. Send its bytes as base64."
                raise InvalidPlan({f"steps.{index}.body": fault})


def keep_body(project: Project, blob: Blob) -> bool:
    """Store a file; whether it is stored now."""
    stored = StoredBody.objects.filter(project=project, sha256=blob.sha256)
    # Whoever removes what nobody uses leaves it then.
    if stored.update(used_at=Now()) or blob.data is None:
        return stored.exists()
    hold(project)  # so that two at once do not exceed the limit together
    sizes = StoredBody.objects.filter(project=project).aggregate(n_bytes=Sum(Length("data")))
    if (sizes["n_bytes"] or 0) + blob.size_bytes > MOST_BYTES:
        raise Refused(
            f"{project.name} has as many bytes of bodies as a project may have ({MOST_BYTES:,}). "
            "Delete plans that you no longer need."
        )
    StoredBody.objects.get_or_create(
        project=project, sha256=blob.sha256, defaults={"data": blob.data}
    )
    return True


def load_bodies(project_id: int, *plans: Any) -> dict[str, Any]:
    """{"bodies": {digest: base64}} of what the JSON of these plans or steps refers to; {} without
    any."""
    wanted = set(digests_in(plans))
    if not wanted:
        return {}
    stored = StoredBody.objects.filter(project=project_id, sha256__in=wanted)
    rows = stored.values_list("sha256", "data")
    return {"bodies": {digest: base64.b64encode(data).decode() for digest, data in rows}}


def forget_unused_bodies() -> int:
    """Remove what neither a plan nor a request has used for a day; returns how many."""
    versions = PlanVersion.objects.filter(plan__project=OuterRef("project"))
    probes = Probe.objects.filter(endpoint__target__project=OuterRef("project"))
    named_in = {"text__contains": OuterRef("sha256")}
    in_plan = versions.annotate(text=Cast("spec", TextField())).filter(**named_in)
    in_probe = probes.annotate(text=Cast("request", TextField())).filter(**named_in)
    old = StoredBody.objects.filter(used_at__lt=db_now(-_UNUSED_KEPT_S))
    n_removed, _ = old.exclude(Exists(in_plan)).exclude(Exists(in_probe)).delete()
    return n_removed

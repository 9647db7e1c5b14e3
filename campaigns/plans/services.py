"""Create and edit plans; an edit creates a version. Large bodies of requests are stored once for a
project, by digest; an order of an injector has their bytes beside its plan."""

import base64
from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Sum, TextField
from django.db.models.functions import Cast, Length, Now

from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.caps import PLANS
from campaigns.domain.errors import InvalidFields, InvalidPlan, Refused
from campaigns.domain.plan.body import Blob, digests_in
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import Step
from campaigns.domain.plan.threshold import never_kept
from campaigns.domain.typed_text import Content, check_unchanged, clean_name
from campaigns.items.services import clean_item_name, free_name, hold
from campaigns.models import PlanVersion, Probe, Project, SavedPlan, StoredBody
from campaigns.operations.services.caps import require_room
from campaigns.projects.services import keep_secret

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
    rows = StoredBody.objects.filter(project=project, sha256=blob.sha256)
    # Whoever removes what nobody uses leaves it then.
    if rows.update(used_at=Now()) or blob.data is None:
        return rows.exists()
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
    digests = set(digests_in(plans))
    if not digests:
        return {}
    bodies = StoredBody.objects.filter(project=project_id, sha256__in=digests)
    rows = bodies.values_list("sha256", "data")
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


def create_plan(
    *, by: Actor, project: Project, name: str, spec: dict[str, Any], secret: str | None = None
) -> PlanVersion:
    """Raises InvalidPlan for an invalid spec, InvalidFields for an invalid name or secret."""
    require(by, Action.EDIT, project)
    plan = SavedPlan(project=project)
    value = check(plan, name, spec)
    with transaction.atomic():
        require_room(project, {PLANS: 1})
        keep_bodies(project, value.steps)
        _save(plan, name)
        keep_secret(by=by, plan=plan, secret=secret)
        return plan.versions.create(number=1, spec=value.to_json(), created_by=by.user)


def plan_of_spec(by: Actor, project: Project, name: str, spec: dict[str, Any]) -> PlanVersion:
    """The project's plan of this name, or of one with a number, whose latest version is this spec;
    a new one if there is none yet."""
    name = clean_name(name)
    plans = project.plans.filter(archived_at=None, name__startswith=name).order_by("pk")
    for plan in plans:
        latest = plan.latest
        if latest.value().to_json() == spec:
            return latest
    free = free_name(name, project.plans.values_list("name", flat=True))
    return create_plan(by=by, project=project, name=free, spec=spec)


def content_of(plan: SavedPlan) -> Content:
    """What `edit_plan` replaces."""
    return {"name": plan.name, **plan.latest.value().to_json()}


def edit_plan(
    *,
    by: Actor,
    plan: SavedPlan,
    name: str,
    spec: dict[str, Any],
    secret: str | None = None,
    opened: str | None = None,
) -> PlanVersion:
    """The latest version afterwards; a new one only if the spec changed. `secret` None keeps the
    stored one, "" removes it; secrets are not versioned. `opened`: what the form was opened with.
    Raises ChangedMeanwhile."""
    require(by, Action.EDIT, plan.project)
    with transaction.atomic():
        hold(plan)
        if plan.archived_at:
            raise Refused(f"{plan.name} is archived. Create a new plan instead.")
        value = check(plan, name, spec)
        keep_bodies(plan.project, value.steps)
        clean = value.to_json()
        new_content = {"name": clean_item_name(plan, name), **clean}
        check_unchanged(opened, stored=content_of(plan), wanted=new_content)
        _save(plan, name)
        keep_secret(by=by, plan=plan, secret=secret)
        latest = plan.latest
        if latest.value().to_json() == clean:
            return latest
        return plan.versions.create(number=latest.number + 1, spec=clean, created_by=by.user)


def check(row: SavedPlan, name: str, spec: dict[str, Any]) -> Plan:
    """The spec's plan, to be stored in this one. Errors of name and spec are raised together."""
    errors: dict[str, str] = {}
    try:
        clean_item_name(row, name)
    except InvalidFields as fault:
        errors = fault.errors
    try:
        plan = Plan.from_json(spec)
        # What a plan of an earlier release has, it may keep.
        stored = row.latest.value().thresholds if row.pk else ()
        errors |= {
            f"thresholds.{index}.limit": f"{rule.rule} is {why}"
            for index, rule in enumerate(plan.thresholds)
            if rule not in stored and (why := never_kept(rule.metric, rule.limit))
        }
    except InvalidPlan as invalid:
        errors |= invalid.errors
    if errors:
        raise InvalidPlan(errors)
    return plan


def _save(plan: SavedPlan, name: str) -> None:
    plan.name = clean_item_name(plan, name)
    try:
        with transaction.atomic():
            plan.save()
    except IntegrityError:
        raise InvalidFields(
            {"name": "The project already has a plan with this name. Choose another."}
        ) from None

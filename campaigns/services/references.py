"""A project's reference: the installation's own target, measured in each block of a campaign."""

from collections.abc import Iterator
from itertools import count

from django.conf import settings
from django.db import transaction

from campaigns.domain.errors import Refused
from campaigns.domain.plan.reference import REFERENCE_MODE, REFERENCE_NAME, REFERENCE_PLAN
from campaigns.domain.tags import REFERENCE_TAG
from campaigns.models import Endpoint, PlanVersion, Project, SavedPlan, Target
from campaigns.permissions import Action, Actor, require
from campaigns.queries.references import reference_endpoint, reference_version, why_no_reference
from campaigns.services.campaign_cells import CampaignCell
from campaigns.services.plans import create_plan
from campaigns.services.targets import create_target


@transaction.atomic
def reference_cell(*, by: Actor, project: Project) -> CampaignCell:
    """What the project measures as its reference. Target and plan are made once; whoever comes at
    the same time waits and finds them. Raises Forbidden, or Refused with what to do."""
    require(by, Action.EDIT, project)
    if why := why_no_reference():
        raise Refused(why)
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    endpoint = reference_endpoint(project) or _new_endpoint(by, project)
    version = reference_version(project) or _new_version(by, project)
    return CampaignCell(version, endpoint, REFERENCE_MODE)


def _new_endpoint(by: Actor, project: Project) -> Endpoint:
    target = create_target(
        by=by,
        project=project,
        name=_free(project.targets.values_list("name", flat=True)),
        environment=[],
        endpoints=[settings.REFERENCE_TARGET],
    )
    Target.objects.filter(pk=target.pk).update(tags=[REFERENCE_TAG])
    return target.endpoints.select_related("target").get()


def _new_version(by: Actor, project: Project) -> PlanVersion:
    version = create_plan(
        by=by,
        project=project,
        name=_free(project.plans.values_list("name", flat=True)),
        spec=REFERENCE_PLAN.to_json(),
    )
    SavedPlan.objects.filter(pk=version.plan_id).update(tags=[REFERENCE_TAG])
    return version


def _free(taken) -> str:
    return next(name for name in _names() if name not in set(taken))


def _names() -> Iterator[str]:
    yield REFERENCE_NAME
    yield from (f"{REFERENCE_NAME} ({number})" for number in count(2))

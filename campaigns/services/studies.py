"""A whole study as a draft: the file sets of the Uniserve study on several targets, or on one with
what its machine does meanwhile."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction

from campaigns.domain.errors import Refused
from campaigns.domain.plan.file_sets import REPEATS, file_sets, is_local, lasting_file_sets
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.models import Campaign, Endpoint, Project, Target
from campaigns.permissions import Action, Actor, require
from campaigns.services.campaign_cells import CampaignCell
from campaigns.services.campaigns import create_campaign
from campaigns.services.plans import plan_of_spec

MOST_TARGETS = 8


@transaction.atomic
def create_file_set_study(*, by: Actor, project: Project, targets: Sequence[Target]) -> Campaign:
    """A draft of these targets: L1 to L3 on their HTTP endpoints on the injectors' own host, R1 to
    R3 on those elsewhere, each on new connections. Raises Forbidden or Refused."""
    require(by, Action.EDIT, project)
    if not 2 <= len(targets) <= MOST_TARGETS:
        raise Refused(f"Tick 2 to {MOST_TARGETS} targets to compare.")
    cells = [cell for target in targets for cell in _cells(by, project, target, file_sets)]
    names = ", ".join(target.name for target in targets)
    return _draft(by, project, f"File sets: {names}", cells)


@transaction.atomic
def create_machine_study(*, by: Actor, project: Project, target: Target) -> Campaign:
    """A draft of L1 to L3, or R1 to R3, on one target, for as long as they took in the study: an
    agent samples once a second. Raises Forbidden or Refused."""
    require(by, Action.EDIT, project)
    cells = _cells(by, project, target, lasting_file_sets)
    return _draft(by, project, f"File sets and machine: {target.name}", cells)


def _draft(by: Actor, project: Project, name: str, cells: Sequence[CampaignCell]) -> Campaign:
    return create_campaign(
        by=by,
        project=project,
        name=name[:150],
        cells=sorted(cells, key=lambda cell: cell.plan_version.plan.name),
        repeats=REPEATS,
        order=Campaign.Order.BLOCKS,
        pause_s=2,
    )


def _cells(
    by: Actor, project: Project, target: Target, sets: Callable[..., dict[str, dict[str, Any]]]
) -> list[CampaignCell]:
    endpoints = list(target.endpoints.filter(archived_at=None, scheme="http").order_by("pk"))
    if not endpoints:
        raise Refused(f"{target.name} has no HTTP endpoint. Add one, or untick it.")
    near = [each for each in endpoints if is_local(each.host)]
    far = [each for each in endpoints if not is_local(each.host)]
    found: list[tuple[bool, Endpoint]] = [*((True, each) for each in near[:1])]
    found += [(False, each) for each in far[:1]]
    return [
        CampaignCell(plan_of_spec(by, project, name, spec), endpoint, ConnectionMode.NEW)
        for local, endpoint in found
        for name, spec in sets(local=local).items()
    ]

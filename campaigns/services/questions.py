"""One click on a question: its plan, its campaign, started."""

from typing import Any

from django.db import transaction

from campaigns.domain.errors import Refused
from campaigns.domain.plan.questions import Question
from campaigns.domain.plan.session import AuthKind
from campaigns.models import Campaign, PlanVersion, Probe, Project
from campaigns.permissions import Action, Actor, require
from campaigns.services.campaigns import CampaignCell, create_campaign, start_campaign
from campaigns.services.plan_secrets import share_secret
from campaigns.services.plans import plan_of_spec
from campaigns.services.targets import keep_target


@transaction.atomic
def start_question(
    *, by: Actor, question: Question, step: dict[str, Any], probes: list[Probe]
) -> Campaign:
    """Measure what the question asks on the endpoints that these probes found answering.

    Raises Refused if too few answer.
    """
    cells = cells_of_question(by=by, question=question, step=step, probes=probes)
    target = cells[0].endpoint.target
    campaign = create_campaign(
        by=by,
        project=target.project,
        name=f"{question.title} {target.name}"[:150],
        cells=cells,
        repeats=question.repeats,
        order=Campaign.Order.BLOCKS,
        pause_s=question.pause_s,
    )
    start_campaign(by=by, campaign=campaign)
    return campaign


@transaction.atomic
def cells_of_question(
    *, by: Actor, question: Question, step: dict[str, Any], probes: list[Probe]
) -> list[CampaignCell]:
    """The question's plan, kept in the project, on the endpoints that answer. Raises Refused if too
    few do."""
    target = probes[0].endpoint.target if probes else None
    if target is None:
        raise Refused("Nothing answers yet. Try one request first.")
    require(by, Action.EDIT, target.project)
    keep_target(target)
    endpoints = {probe.endpoint.scheme: probe.endpoint for probe in reversed(probes)}
    arms = question.arms(list(endpoints))
    if not arms:
        raise Refused(
            f"{question.title} needs an HTTP and an HTTPS endpoint that both answer. Add the "
            "missing one to the target."
        )
    auth = probes[0].request.get("auth", {})
    version = plan_for(by, target.project, question, step, auth, probes[0].endpoint.host)
    if source := probes[0].request.get("plan"):
        share_secret(by=by, source=source, plan=version.plan)
    return [CampaignCell(version, endpoints[scheme], str(mode)) for scheme, mode in arms]


def plan_for(
    by: Actor,
    project: Project,
    question: Question,
    step: dict[str, Any],
    auth: dict[str, str],
    host: str,
) -> PlanVersion:
    """The project's plan that asks this with this request; a new one if there is none yet.

    A plan with credentials is of one host, because each host has its own secret.
    """
    spec = question.spec(step, auth)
    name = f"{question.plan_name}: {step['method']} {step['path']}"[:90]
    if spec["auth"]["kind"] != AuthKind.NONE:
        name = f"{name[:50]} on {host}"[:90]
    return plan_of_spec(by, project, name, spec)

"""The sample: HTTP against HTTPS with a SOAP request, on the bundled demo target. It is created
through the services, as a user would; existing rows are reused, so that a second sample is in the
same project as the first."""

from campaigns.campaigns.services.campaigns import CampaignCell, create_campaign
from campaigns.core.permissions import Actor
from campaigns.domain.plan.presets import PRESETS
from campaigns.items.queries.items import SAMPLE_CAMPAIGN, SAMPLE_PROJECT, samples
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, SavedPlan, Target
from campaigns.plans.services import create_plan, edit_plan
from campaigns.projects.services import create_project
from campaigns.targets.services import create_target, edit_target

TARGET_NAME = "demo"
PRESET = PRESETS["https"]
HOST = "127.0.0.1"
# HTTP has no session to resume.
MODES = {"http": ("new", "keep-alive"), "https": ("new", "resumed", "keep-alive")}


def make_sample(by: Actor, http_port: int, https_port: int) -> Campaign:
    """A draft of the sample campaign: new, resumed and kept connections side by side."""
    project = Project.objects.visible_to(by).filter(name=SAMPLE_PROJECT).first()
    project = project or create_project(by=by, name=SAMPLE_PROJECT)
    endpoints = _endpoints(by, project, {"http": http_port, "https": https_port})
    version = _plan(by, project)
    return create_campaign(
        by=by,
        project=project,
        name=SAMPLE_CAMPAIGN,
        cells=[
            CampaignCell(version, endpoint, mode)
            for endpoint in endpoints
            for mode in MODES[endpoint.scheme]
        ],
    )


def latest_sample(by: Actor) -> Campaign | None:
    """The sample that was started last, whether it has ended or not."""
    return samples(by).filter(started_at__isnull=False).first()


def _endpoints(by: Actor, project: Project, ports: dict[str, int]) -> list[Endpoint]:
    """HTTP first. The demo target signs its certificate itself, so nobody can verify it."""
    wanted = [
        {"scheme": scheme, "host": HOST, "port": port, "verify_tls": False}
        for scheme, port in ports.items()
    ]
    target = project.targets.filter(name=TARGET_NAME, archived_at=None).first()
    if target is None:
        target = create_target(
            by=by, project=project, name=TARGET_NAME, environment=[], endpoints=wanted
        )
    elif {(each.scheme, each.port) for each in _live(target)} != set(ports.items()):
        edit_target(
            by=by, target=target, name=target.name, environment=target.environment, endpoints=wanted
        )
    return sorted(_live(target), key=lambda endpoint: endpoint.scheme)


def _live(target: Target) -> list[Endpoint]:
    return list(target.endpoints.filter(archived_at=None))


def _plan(by: Actor, project: Project) -> PlanVersion:
    name = PRESET.name
    plan = SavedPlan.objects.filter(project=project, name=name, archived_at=None).first()
    if plan is None:
        return create_plan(by=by, project=project, name=name, spec=PRESET.spec)
    return edit_plan(by=by, plan=plan, name=name, spec=PRESET.spec)

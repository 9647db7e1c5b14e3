"""The sample study: HTTP against HTTPS with a SOAP request, on the bundled demo target.

It is created through the services, as a user would; existing rows are reused, so that a second
sample is in the same project as the first.
"""

from campaigns.models import Campaign, Endpoint, PlanVersion, Project, SavedPlan, Target
from campaigns.permissions import Actor
from campaigns.services.campaigns import CampaignCell, create_campaign
from campaigns.services.plans import create_plan, edit_plan
from campaigns.services.projects import create_project
from campaigns.services.targets import create_target, edit_target

PROJECT_NAME = "Sample"
TARGET_NAME = "demo"
CAMPAIGN_NAME = "HTTP against HTTPS"
REQUESTS = 100
OVER_S = (5, 1)
REPEATS = 3
PAUSE_S = 0.5
HOST = "127.0.0.1"
SOAP_BODY = """<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
    xmlns:man="http://example.org/namespaces/node/manager">
  <soapenv:Body>
    <man:addRItoScope>
      <man:scope>/testing/sample</man:scope>
      <man:serviceName>EchoService</man:serviceName>
      <man:serviceClass>Samples</man:serviceClass>
    </man:addRItoScope>
  </soapenv:Body>
</soapenv:Envelope>
"""


def make_sample(by: Actor, http_port: int, https_port: int) -> Campaign:
    """A draft of the sample campaign: two plans on two endpoints, three times."""
    project = Project.objects.visible_to(by).filter(name=PROJECT_NAME).first()
    project = project or create_project(by=by, name=PROJECT_NAME)
    endpoints = _endpoints(by, project, {"http": http_port, "https": https_port})
    versions = [_plan(by, project, over_s) for over_s in OVER_S]
    return create_campaign(
        by=by,
        project=project,
        name=CAMPAIGN_NAME,
        cells=[
            CampaignCell(version, endpoint, "new") for version in versions for endpoint in endpoints
        ],
        repeats=REPEATS,
        order=Campaign.Order.BLOCKS,
        pause_s=PAUSE_S,
    )


def latest_sample(by: Actor) -> Campaign | None:
    """The sample that was started last, whether it has ended or not."""
    return (
        Campaign.objects.visible_to(by)
        .filter(project__name=PROJECT_NAME, name=CAMPAIGN_NAME, started_at__isnull=False)
        .order_by("-pk")
        .first()
    )


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
            by=by,
            target=target,
            name=target.name,
            environment=target.environment,
            endpoints=wanted,
        )
    return sorted(_live(target), key=lambda endpoint: endpoint.scheme)


def _live(target: Target) -> list[Endpoint]:
    return list(target.endpoints.filter(archived_at=None))


def _plan(by: Actor, project: Project, over_s: int) -> PlanVersion:
    name = f"{REQUESTS} over {over_s} s"
    plan = SavedPlan.objects.filter(project=project, name=name, archived_at=None).first()
    if plan is None:
        return create_plan(by=by, project=project, name=name, spec=_spec(over_s))
    return edit_plan(by=by, plan=plan, name=name, spec=_spec(over_s))


def _spec(over_s: int) -> dict:
    return {
        "steps": [
            {
                "label": "addRItoScope",
                "method": "POST",
                "path": "/soap",
                "headers": [["Content-Type", "text/xml; charset=utf-8"], ["SOAPAction", '""']],
                "body": SOAP_BODY,
            }
        ],
        "load": {"model": "over", "requests": REQUESTS, "over_s": over_s},
        "connection_mode": "new",
    }

"""A limit on how many there are holds for those who come at the same time, too."""

import time
from collections.abc import Callable

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.domain.errors import Refused
from campaigns.models import Agent, Exporter, HostClaim, OwnTlsProfile, ToolOutput
from campaigns.services import agents, endings, ownership, targets
from tests.factories import make_endpoint, make_target
from tests.services.engine import at_once, owner_of

pytestmark = pytest.mark.django_db(transaction=True)


def first_and_second(act: Callable[[str], object]) -> list[str]:
    """What becomes of two that are asked for together; neither is stored at once."""

    def do(name: str) -> str:
        try:
            with transaction.atomic():
                act(name)
                time.sleep(0.4)
        except Refused:
            return "refused"
        return "made"

    return sorted(at_once(lambda: do("one"), lambda: do("two")))


def agent(by, project, name):
    agents.create_agent(by=by, target=project.targets.get())


def exporter(by, project, name):
    url = "127.0.0.1:9100"
    agents.add_exporter(by=by, target=project.targets.get(), url=url, name=name)


def tls_profile(by, project, name):
    targets.create_profile(by=by, project=project, name=name)


def token_for_a_host(by, project, name):
    ownership.claim_host(by=by, target=project.targets.get(), host=name)


@pytest.mark.parametrize(
    ("service", "most", "make", "model"),
    [
        (agents, "MOST_AGENTS", agent, Agent),
        (agents, "MOST_EXPORTERS", exporter, Exporter),
        (targets, "MOST_PROFILES", tls_profile, OwnTlsProfile),
        (ownership, "MOST_CLAIMS", token_for_a_host, HostClaim),
    ],
    ids=["agents", "exporters", "TLS profiles", "hosts"],
)
def test_of_two_only_the_last_that_there_may_be_is_made(
    project, monkeypatch, settings, service, most, make, model
):
    settings.PROOF_DAYS = 90
    monkeypatch.setattr(service, most, 1)
    target, by = make_target(project), owner_of(project)
    for name in ("one", "two"):
        make_endpoint(target, host=name)
    assert first_and_second(lambda name: make(by, project, name)) == ["made", "refused"]
    assert model.objects.count() == 1


def test_of_two_outputs_a_run_takes_the_last_it_may_have(project, run, monkeypatch):
    monkeypatch.setattr(endings, "MOST_OUTPUTS", 1)
    by = owner_of(project)
    acts = first_and_second(lambda _: endings.add_output(by=by, run=run, tool="vmstat", text="r b"))
    assert (acts, ToolOutput.objects.count()) == (["made", "refused"], 1)


def test_of_two_hosts_a_project_has_the_last_checked_that_it_may_in_a_minute(project, monkeypatch):
    monkeypatch.setattr(ownership, "MOST_CHECKS_PER_MIN", 1)
    by = owner_of(project)
    claims = {
        name: HostClaim.objects.create(project=project, host=name, token=name)
        for name in ("one", "two")
    }
    acts = first_and_second(lambda name: ownership.check_host(by=by, claim=claims[name]))
    n_asked = HostClaim.objects.filter(asked_at__lte=timezone.now()).count()
    assert (acts, n_asked) == (["made", "refused"], 1)

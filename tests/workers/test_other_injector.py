"""A campaign by an injector that is not ours: the contract is all that it shares with the site."""

import sys
from pathlib import Path

import pytest
from django.urls import reverse

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.models import RunSummary
from tests.engine.scenes import at_once, host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.injector.servers import OK_REPLY, always, scripted
from tests.values import plan_spec
from tests.workers.launching import done, when
from workers import launcher

OTHER = (sys.executable, str(Path(__file__).parent / "other_injector"))
CLOSED = {"model": "closed", "connections": 4, "requests": 41}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.INJECTOR_COMMAND = OTHER


def started_run(project, port, injectors=1, plan=None, **load):
    """The only run of a campaign, admitted; `plan` has what is not of its load."""
    host(slots=4)
    endpoint = make_endpoint(make_target(project), port=port)
    cell = CampaignCell(
        make_plan(project, spec=plan_spec(**load) | (plan or {})), endpoint, "keep-alive"
    )
    fields = {"name": "study", "repeats": 1, "order": "listed", "pause_s": 0}
    campaign = create_campaign(
        by=owner_of(project), project=project, cells=[cell], injectors=injectors, **fields
    )
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    run = campaign.runs.get()
    return when(run, lambda: run.state == "preparing")


@pytest.mark.parametrize("injectors", [1, 2])
def test_its_numbers_stand_on_the_run_s_page(project, dispatcher, client, bob, injectors):
    with scripted(always(OK_REPLY)) as server:
        run = started_run(project, server.port, injectors, **CLOSED)
        # With the command of the settings, as the hosts of an installation do.
        at_once(*[lambda: launcher.launch_one(worker="w", host="host 1")] * run.n_shards)
        done(run, 30)
    assert (run.outcome, run.reason) == ("complete", "")
    assert server.n_requests == 41
    total = RunSummary.objects.get(run=run).total
    assert (total.count("ok"), total.statuses, total.errors) == (41, {"200": 41}, {})
    assert total.timing("response").histogram.n == 41
    client.force_login(bob)
    page = client.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "no errors in 41 requests" in page
    table = client.get(reverse("run-csv", args=[run.pk])).content.decode()
    (line,) = [line for line in table.splitlines() if line.startswith("response,")]
    assert float(line.split(",")[1]) == pytest.approx(
        total.timing("response").mean_us / 1000, rel=0.01
    )
    assert line.endswith(",41")

"""While load is off nothing connects to a target, whatever asks for it."""

from collections.abc import Callable

import pytest

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.domain.errors import Refused
from campaigns.machines import services as machines
from campaigns.models import Exporter, HostClaim, LoadControl
from campaigns.operations.services.load_control import (
    allow_load_from_console,
    stop_all_load_from_console,
)
from campaigns.probes.services.probes import request_probe, try_cells
from campaigns.probes.services.typed_targets import try_typed
from campaigns.search.services import start_search
from campaigns.targets import services as targets
from tests.engine.scenes import draft, host, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.injector.servers import OK_REPLY, always, scripted
from tests.values import plan_spec, read_typed
from tests.waiting import eventually
from workers import launcher, single_requests
from workers.tasks import check_exporter, check_ownership

pytestmark = pytest.mark.django_db(transaction=True)
SAID = "Load is off. An administrator must allow it first."


@pytest.fixture
def server(settings, monkeypatch):
    """What listens on it counts all that connects."""
    settings.PROOF_DAYS = 90
    # Loopback plays a public address; the real rule is in the domain's tests.
    monkeypatch.setattr(single_requests, "why_not_checked", lambda address: None)
    with scripted(always(OK_REPLY)) as server:
        yield server


def two_turns_of_the_dispatcher() -> None:
    """It says that it works after each."""
    for _ in range(2):
        before = LoadControl.objects.get().dispatcher_seen_at
        eventually(
            lambda then=before: LoadControl.objects.get().dispatcher_seen_at != then, 20, "a turn"
        )


def refuses(ask: Callable[[], object]) -> None:
    with pytest.raises(Refused) as refusal:
        ask()
    assert str(refusal.value) == SAID


def test_nothing_connects_whatever_asks_for_it(project, server, dispatcher):
    host(slots=4)
    by, endpoint = owner_of(project), make_endpoint(make_target(project), port=server.port)
    version = make_plan(project)
    url = f"http://127.0.0.1:{server.port}"
    claim = targets.claim_host(by=by, target=endpoint.target, host=endpoint.host)
    stop_all_load_from_console()

    refuses(lambda: request_probe(by=by, endpoint=endpoint, request={"path": "/"}))
    refuses(lambda: try_typed(by=by, project=project, request=read_typed(url)))
    refuses(lambda: try_cells(by=by, cells=[(version, endpoint)]))
    refuses(lambda: targets.check_host(by=by, claim=claim))
    campaign = draft(project, endpoint=endpoint)
    start_campaign(by=by, campaign=campaign)
    start_campaign(by=by, campaign=draft(project, endpoint=endpoint), anyway=True)
    spec = plan_spec(model="open", rate_per_s=10, duration_s=30)
    start_search(
        by=by,
        project=project,
        name="How much can it take?",
        cell=CampaignCell(make_plan(project, spec=spec), endpoint, "new"),
        objective=["p95 < 1000 ms"],
        start_per_s=50,
        limit_per_s=100,
    )
    fields = {"name": "shop", "url": f"{url}/metrics", "is_server": False, "verify_tls": True}
    exporter = machines.add_exporter(by=by, target=endpoint.target, **fields)
    refuses(lambda: machines.ask_check(by=by, exporter=exporter))
    targets.ask_approval(by=by, claim=claim, reason="It is ours.")

    check_exporter(exporter.pk)
    check_ownership(claim.pk)
    two_turns_of_the_dispatcher()
    assert not launcher.launch_one(worker="w", host="host 1")
    assert server.n_connections == 0
    assert Exporter.objects.get().problem == SAID
    assert HostClaim.objects.get().faults == [SAID]

    allow_load_from_console()
    campaign.refresh_from_db()
    eventually(lambda: campaign.refresh_from_db() or campaign.opened_at, 20, "the campaign opens")

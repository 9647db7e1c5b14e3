"""Large bodies: stored once for a project, beside the plan in orders, removed when unused."""

import base64
import json
import time

import pytest

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.database import db_now
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.models import Probe, Run, StoredBody
from campaigns.plans import services as plans
from campaigns.plans.services import create_plan, edit_plan, forget_unused_bodies
from campaigns.probes.services.probes import order_of, request_probe
from tests.cast import token_client
from tests.engine.scenes import claim, create, dispatch, host
from tests.factories import make_endpoint, make_project, make_target
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
DATA = bytes(range(256)) * 1000
ENCODED = base64.b64encode(DATA).decode()
STEP = {"method": "PUT", "path": "/photo", "body_file": ENCODED}
PHOTO = {"name": "photo", "file": ENCODED, "filename": "p.jpg", "content_type": "image/jpeg"}


def spec_of(*steps):
    return {**plan_spec(), "steps": list(steps)}


@pytest.fixture
def version(project, as_bob):
    return create_plan(by=as_bob, project=project, name="photo", spec=spec_of(STEP))


def test_versions_runs_and_requests_keep_its_digest_and_the_order_has_its_bytes(
    project, as_bob, version
):
    spec = {**version.spec, "steps": [*version.spec["steps"], {"path": "/", "multipart": [PHOTO]}]}
    latest = edit_plan(by=as_bob, plan=version.plan, name="photo", spec=spec)
    assert latest.number == 2
    host(slots=8)
    cell = CampaignCell(latest, make_endpoint(make_target(project)), "new")
    campaign = create(as_bob, project, cells=[cell], repeats=2)
    start_campaign(by=as_bob, campaign=campaign)
    digest = latest.spec["steps"][0]["body_file"]["sha256"]
    first = order_of(campaign.first_requests.get())
    assert first["step"]["body_file"] == latest.spec["steps"][0]["body_file"]
    assert first["bodies"] == {digest: ENCODED}
    campaign.first_requests.update(campaign=None)
    campaign.opened_at = db_now()
    campaign.save()
    dispatch.admit_runs()
    (lease,) = claim(campaign.runs.get(state="preparing"))
    assert lease.order["bodies"] == {digest: ENCODED}
    text = json.dumps([*Run.objects.values_list("snapshot"), *Probe.objects.values_list("request")])
    assert len(text) < 20_000
    assert StoredBody.objects.count() == 1


def test_a_digest_is_known_only_in_the_project_that_stored_it(version, as_alice):
    other = make_project("other", owner=as_alice.user)
    steps = version.spec["steps"]
    with pytest.raises(InvalidPlan, match="not stored here"):
        create_plan(by=as_alice, project=other, name="photo", spec=spec_of(*steps))


def test_a_single_request_has_it_too(project, as_bob):
    endpoint = make_endpoint(make_target(project))
    probe = request_probe(by=as_bob, endpoint=endpoint, request=STEP)
    assert len(json.dumps(probe.request)) < 500
    assert list(order_of(probe)["bodies"].values()) == [ENCODED]


def test_a_project_has_room_for_so_many_bytes(project, as_bob, monkeypatch):
    monkeypatch.setattr(plans, "MOST_BYTES", len(DATA) + 10_000)
    for name, data in (("one", DATA), ("the same", DATA)):
        step = {**STEP, "body_file": base64.b64encode(data).decode()}
        create_plan(by=as_bob, project=project, name=name, spec=spec_of(step))
    more = {**STEP, "body_file": base64.b64encode(DATA[::-1]).decode()}
    with pytest.raises(Refused, match="as many bytes"):
        create_plan(by=as_bob, project=project, name="more", spec=spec_of(more))


def test_what_nobody_has_used_for_a_day_is_removed(project, version):
    plans.keep_body(project, plans.Blob.of(DATA[::-1]))
    assert forget_unused_bodies() == 0, "somebody may be about to use it"
    StoredBody.objects.update(used_at=db_now(-90_000))
    assert forget_unused_bodies() == 1
    assert bytes(StoredBody.objects.get().data) == DATA


def test_a_plan_of_8_mib_is_taken_over_rest_and_read_as_a_digest(project, alice):
    api = token_client(alice)
    data = base64.b64encode(bytes(8 * 1024 * 1024)).decode()
    spec = spec_of({**STEP, "body_file": data})
    began_s = time.thread_time()
    answer = api.post(
        "/api/v1/plans/", {"project": project.pk, "name": "big", "spec": spec}, format="json"
    )
    assert answer.status_code == 201, answer.content[:500]
    assert time.thread_time() - began_s < 5
    assert len(answer.content) < 10_000
    assert len(StoredBody.objects.get().data) == 8 * 1024 * 1024

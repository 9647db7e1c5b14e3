"""What came back of the first requests: on the campaign's page, and of what the form tries."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.accounts.tokens import create_share
from campaigns.engine.services.dispatch import admit_runs
from campaigns.models import Probe
from campaigns.operations.services.load_control import announce_host
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.campaigns.campaign_form import cells, fields, new_url, start_by_form
from tests.engine.scenes import owner_of
from tests.pages import text_of

pytestmark = pytest.mark.django_db
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
MISSING = {**OK, "status": 404, "reason": "Not Found"}
CERTIFICATE = {"subject": "CN=shop.test", "not_after": "2020-01-31T00:00:00+00:00"}
REFUSED = {**OK, "status": None, "reason": "", "error": "connect_refused"}
SILENT = {**OK, "status": None, "reason": "", "error": "first_byte_timeout", "response_us": 537}


@pytest.fixture
def campaign(as_editor, project, target, version):
    """With a plan on HTTP and on HTTPS, started."""
    return start_by_form(as_editor, project, target, version)


def answer(*results) -> None:
    for probe, result in zip(Probe.objects.order_by("pk"), results, strict=True):
        finish_probe(probe_id=probe.pk, result=result)
        if "certificates" in result:
            Probe.objects.filter(pk=probe.pk).update(result=result)
        if probe.campaign_id:
            settle_campaign(campaign_id=probe.campaign_id)


def page_of(client, campaign) -> str:
    return text_of(client.get(reverse("campaign-detail", args=[campaign.pk])))


def test_a_failure_comes_first_with_what_to_do_and_two_ways_on(as_editor, campaign):
    answer(OK, MISSING)
    page = page_of(as_editor, campaign)
    assert "<b>404 Not Found, but the plan expects 2xx or 3xx (POST / on https://127" in page
    assert reverse("plan-edit", args=[campaign.tests.first().plan_version.plan_id]) in page
    as_editor.post(reverse("campaign-try-again", args=[campaign.pk]))
    assert campaign.first_requests.filter(finished_at=None).count() == 1


def test_what_answered_can_be_measured_without_what_did_not(as_editor, campaign):
    answer(OK, REFUSED)
    link = re.search(r'href="([^"]+again=[^"]+)"', page_of(as_editor, campaign)).group(1)
    cells_again = as_editor.get(unescape(link)).context["form"].known()["cells"]
    both = [(test.endpoint.scheme, test.endpoint_id) for test in campaign.tests.all()]
    assert [f".{dict(both)['http']}." in cell for cell in cells_again] == [True]


def test_each_check_and_value_has_its_result(as_editor, campaign):
    value_rule = {"rule": "id = json: $.id", "holds": True, "came": "", "value": "12345"}
    failed = {"rule": "text: Welcome", "holds": False, "came": "the body is empty", "value": None}
    answer({**OK, "rules": [value_rule]}, {**OK, "rules": [value_rule, failed]})
    page = page_of(as_editor, campaign)
    assert "200 OK, but the plan expects text: Welcome (POST / on https" in page
    assert "id = json: $.id → 12345" in page
    assert "Response: the body is empty." in page
    probe = Probe.objects.latest("pk")
    assert "text: Welcome" in text_of(as_editor.get(reverse("probe-detail", args=[probe.pk])))


def test_start_anyway_starts_it_but_not_for_another_site_s_form(as_editor, bob, campaign):
    announce_host(name="host 1", slots=8, facts={})
    answer(OK, MISSING)
    address = reverse("campaign-start", args=[campaign.pk])
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(bob)
    assert strict.post(address, {"anyway": "1"}).status_code == 403
    assert admit_runs() == 0
    as_editor.post(address, {"anyway": "1"})
    assert admit_runs() == 1


def test_a_certificate_that_is_accepted_on_hold_is_tried_again_and_used_by_the_runs(
    as_editor, campaign
):
    certificate = {**CERTIFICATE, "sha256": "ab" * 32}
    answer(OK, {**SILENT, "error": "tls_self_signed", "certificates": [certificate]})
    probe = Probe.objects.latest("pk")
    accept = reverse("probe-accept", args=[probe.pk])
    response = as_editor.post(accept, {"fingerprint": "ab" * 32})
    assert response.url == reverse("campaign-detail", args=[campaign.pk])
    campaign.refresh_from_db()
    assert campaign.held_at is None
    runs = campaign.runs.filter(test__endpoint=probe.endpoint)
    assert {run.frozen.endpoint.tls.fingerprint for run in runs} == {"ab" * 32}


def test_a_share_link_does_not_show_them(client, project, campaign):
    answer(OK, MISSING)
    _, token = create_share(
        by=owner_of(project), project=project, days=1, note="", campaign=campaign
    )
    client.logout()
    assert "404" not in text_of(client.get(f"/s/{token}/", follow=True))


def test_the_form_tries_what_is_ticked_and_shows_what_came_back(
    as_editor, project, target, version
):
    ticks = cells(version, target, ("http", "new"), ("http", "keep-alive"), ("https", "new"))
    trial = as_editor.post(new_url(project), fields(ticks, **{"try": "1"}))
    assert trial.status_code == 200
    assert not project.campaigns.exists()
    assert "data-awaited" in text_of(trial)
    answer(OK, MISSING)
    estimate = as_editor.post(reverse("campaign-estimate", args=[project.pk]), fields(ticks))
    assert "404 Not Found" in text_of(estimate)
    assert "data-awaited" not in text_of(estimate)

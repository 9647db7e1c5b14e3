"""Pages while other programs use the injector host: before a start, waiting for it, and live."""

import pytest
from django.urls import reverse

from campaigns.accounts.tokens import create_share
from campaigns.models import Campaign, Probe
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.campaigns.campaign_form import cells, fields, new_url
from tests.engine.scenes import draft, host, others_use, owner_of, started
from tests.pages import text_of

pytestmark = pytest.mark.django_db
SAID = "<b>python3 report.py uses 90 % of this machine&#x27;s CPU.</b> Medians stay reliable"
WITHOUT_NAMES = "Other programs use 90 % of this machine&#x27;s CPU."
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}


@pytest.fixture(autouse=True)
def _busy():
    host(slots=8, use=others_use(0.9))


def page_of(client, campaign) -> str:
    return text_of(client.get(reverse("campaign-detail", args=[campaign.pk])))


def test_a_draft_says_who_and_offers_to_wait(as_editor, project):
    campaign = draft(project)
    page = page_of(as_editor, campaign)
    assert SAID in page
    assert "Start when it’s quiet" in page
    assert "Start now" in page
    assert "Start campaign" not in page
    host(slots=8, use=others_use(0.2))
    page = page_of(as_editor, campaign)
    assert "report.py" not in page
    assert "Start campaign" in page


def test_a_draft_that_waits_says_so_until_when_and_can_be_started_or_stopped(as_editor, project):
    campaign = draft(project)
    address = reverse("campaign-start", args=[campaign.pk])
    as_editor.post(address, {"when_quiet": "1"})
    probe = Probe.objects.get()
    finish_probe(probe_id=probe.pk, result=OK)
    settle_campaign(campaign_id=campaign.pk)
    page = page_of(as_editor, campaign)
    campaign.refresh_from_db()
    assert "<b>Waiting until the machine is quiet.</b> The first run starts by itself, at " in page
    assert f"{campaign.quiet_by:%H:%M} at the latest." in page
    assert "Stop campaign" in page
    assert "Start anyway" in page
    as_editor.post(address, {"anyway": "1"})
    campaign.refresh_from_db()
    assert campaign.opened_at


def test_a_campaign_runs_again_as_soon_as_the_machine_is_quiet(as_editor, project):
    old = started(project)
    as_editor.post(reverse("campaign-repeat", args=[old.pk]), {"when_quiet": "1"})
    again = Campaign.objects.latest("pk")
    assert again != old
    assert again.waits_for_quiet
    assert as_cells(again) == as_cells(old)


def as_cells(campaign: Campaign) -> list[tuple]:
    columns = ("plan_version", "endpoint", "connection_mode", "injectors")
    return list(campaign.tests.values_list(*columns).order_by("position"))


def test_the_form_of_a_new_campaign_offers_to_wait(as_editor, project, target, version):
    ticks = cells(version, target, ("http", "new"))
    estimate = reverse("campaign-estimate", args=[project.pk])
    text = text_of(as_editor.post(estimate, fields(ticks)))
    assert "python3 report.py uses 90" in text
    assert "Start when it’s quiet" in text
    as_editor.post(new_url(project), fields(ticks, start="when_quiet"))
    assert Campaign.objects.latest("pk").waits_for_quiet


def test_a_live_page_says_it_at_once_and_no_more_when_the_machine_is_quiet(as_editor, project):
    campaign = started(project)
    assert page_of(as_editor, campaign).count("report.py") == 1
    host(slots=8, use=others_use(0.2))
    assert "report.py" not in page_of(as_editor, campaign)


def test_names_are_for_those_who_may_start_it(client, vera, project):
    campaign = started(project)
    client.force_login(vera)
    page = page_of(client, campaign)
    assert WITHOUT_NAMES in page
    assert "report.py" not in page


def test_a_share_link_tells_nothing_of_it(client, project):
    campaign = started(project)
    _, token = create_share(
        by=owner_of(project), project=project, days=1, note="", campaign=campaign
    )
    page = text_of(client.get(reverse("share-view", args=[token])))
    assert campaign.name in page
    assert "report.py" not in page
    assert "Other programs" not in page

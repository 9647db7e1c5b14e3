"""Pages show times in the zone of their reader, and forms take them in it. Pages that are kept for
several readers mix no zones. What programs read stays in UTC."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.queries.campaigns import runs_of
from campaigns.models import Campaign, Run, TimeMark
from tests.factories import make_campaign, make_run, make_test
from tests.kept_rows import undone
from tests.measured import measure
from tests.pages import text_of

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 8, 12, 30, tzinfo=UTC)
# Chatham is 13:45 h before UTC in summer.
CLOCKS = {
    "": "12:30",
    "America/New_York": "07:30",
    "Pacific/Chatham": "02:15",
    "Mars/Base": "12:30",
}


def reader(user=None, zone: str = "") -> Client:
    client = Client()
    if user:
        client.force_login(user)
    if zone:
        client.cookies["zone"] = zone
    return client


@pytest.fixture
def night(project):
    """A campaign with one run, both begun at AT."""
    campaign = make_campaign(project, "night", started_at=AT, finished_at=AT)
    measure(make_run(make_test(campaign)), 10_000, n=200)
    Run.objects.update(t0=AT, ended_at=AT)
    return campaign


def test_a_page_has_the_readers_clock(alice, night):
    for zone, clock in CLOCKS.items():
        for kind in ["auto:{}", "{}"]:
            page = text_of(
                reader(alice, kind.format(zone)).get(f"/projects/{night.project_id}/runs/")
            )
            assert clock in page
            assert sum(each in page for each in {*CLOCKS.values()}) == 1


@pytest.mark.long
def test_readers_of_one_page_have_each_their_own(alice, bob, night):
    for noun in ["campaign", "run"]:
        for state in ["ended", "going"]:
            for is_again in [False, True]:
                with undone():
                    if state == "going":
                        Campaign.objects.update(finished_at=None, opened_at=AT)
                    row = night if noun == "campaign" else runs_of(night).get()
                    address = reverse(f"{noun}-detail", args=[row.pk])
                    headers = {"X-Requested-With": "XMLHttpRequest"} if is_again else {}
                    for _ in range(2):
                        for user in (alice, bob):
                            for zone, clock in {"": "12:30", "Pacific/Chatham": "02:15"}.items():
                                page = text_of(reader(user, zone).get(address, headers=headers))
                                assert clock in page, (user, zone)


def test_visitors_of_a_share_link_have_theirs(project, night, as_alice):
    _, token = create_share(by=as_alice, project=project, campaign=night, days=1)
    for zone, clock in CLOCKS.items():
        assert clock in text_of(reader(zone=zone).get(f"/s/{token}/"))


def test_programs_read_utc(alice, night):
    away = reader(alice, "America/New_York")
    run = runs_of(night).get()
    for address in (
        f"/api/v1/campaigns/{night.pk}/",
        f"/api/v1/runs/{run.pk}/",
        f"/projects/{night.project_id}/runs.csv",
    ):
        assert "2026-11-08T12:30:00" in b"".join(away.get(address)).decode(), address


def test_forms_take_times_in_the_readers_zone(alice, project):
    address = reverse("mark-list", args=[project.pk])
    for zone, hour in (("America/New_York", 17), ("Asia/Tokyo", 3)):
        reader(alice, zone).post(address, {"text": f"deploy {zone}", "at": "2026-11-08T12:00"})
        mark = TimeMark.objects.get(text__endswith=zone)
        assert mark.at == datetime(2026, 11, 8, hour, tzinfo=UTC)
    # In that night the clocks of New York skip an hour.
    gap = {"text": "deploy", "at": "2026-03-08T02:30"}
    assert reader(alice, "America/New_York").post(address, gap).status_code == 422


def test_a_zone_is_chosen_and_the_browsers_is_taken_again():
    client, address = Client(), reverse("time-zone")
    client.post(address, {"zone": "Pacific/Chatham"})
    assert client.cookies["zone"].value == "Pacific/Chatham"
    assert "Times are Pacific/Chatham" in text_of(client.get(address))
    client.post(address, {"zone": ""})
    assert client.cookies["zone"].value == ""
    assert "Times are UTC" in text_of(client.get(address))

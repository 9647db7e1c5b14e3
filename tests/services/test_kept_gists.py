"""What lists say of a campaign is kept when it ends, and is what its page says."""

import pytest

from campaigns.live import memory
from campaigns.live.memory import answer_of, gist_of
from campaigns.models import Campaign, Run
from campaigns.queries import campaign_keys
from campaigns.services import dispatch, endings
from campaigns.services.kept_pages import keep_gist, keep_missing_gists
from campaigns.services.shards import mark_done, record_seconds
from tests.queries.measured import https_campaign, run_in_blocks
from tests.services.engine import end, expire, running, second, settled

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def read(monkeypatch) -> list[int]:
    """The campaigns whose results were read for a list, in a process that has just started."""
    campaigns, answers = [], memory.campaign_answers

    def counted(batch):
        campaigns.extend(each.pk for each in batch)
        return answers(batch)

    monkeypatch.setattr(memory, "_GISTS", memory.Memory(500))
    monkeypatch.setattr(memory, "campaign_answers", counted)
    return campaigns


def finished(project) -> Campaign:
    """HTTPS against HTTP, as it was before anything was kept."""
    campaign, tests = https_campaign(project, finished_at="2026-11-21T12:00Z")
    run_in_blocks(tests, [[10_000] * 3, [13_000] * 3])
    return campaign


def test_a_campaign_that_ends_keeps_what_its_page_says(project, read):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    settled(run)
    assert dispatch.finish_campaigns() == 1
    campaign = Campaign.objects.get(pk=run.campaign_id)
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == []


def test_every_answer_comes_back_from_the_database_as_it_was(project, read):
    campaign = finished(project)
    said = answer_of(campaign).gist
    keep_gist(campaign.pk)
    campaign.refresh_from_db()
    assert gist_of(campaign) == said
    assert said.found.trust
    assert read == []


def test_late_seconds_keep_it_anew(project, read):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    expire(run)
    settled(run)
    assert dispatch.finish_campaigns() == 1
    before = Campaign.objects.get().gist
    record_seconds(lease=lease, seconds=[second(0), second(1)])
    endings.summarise_late_runs()
    campaign = Campaign.objects.get()
    assert campaign.gist["key"] != before["key"]
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == []


@pytest.mark.parametrize("renamed", ["plan", "target"])
def test_a_new_name_is_said_at_once(project, read, renamed):
    campaign = finished(project)
    keep_gist(campaign.pk)
    test = campaign.tests.first()
    row = test.plan_version.plan if renamed == "plan" else test.endpoint.target
    row.name = "Renamed"
    row.save()
    campaign.refresh_from_db()
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == [campaign.pk]


def test_of_a_campaign_that_goes_on_nothing_is_kept(project):
    campaign = finished(project)
    Campaign.objects.update(finished_at=None)
    keep_gist(campaign.pk)
    assert Campaign.objects.get().gist is None


def test_what_an_earlier_release_kept_is_made_again_the_newest_first(project, monkeypatch):
    older, newer = finished(project), finished(project)
    keep_gist(older.pk)
    monkeypatch.setattr(campaign_keys, "release", lambda: "the next one")
    looks = iter([False, True])
    assert keep_missing_gists(is_over=lambda: next(looks)) == 1
    kept = dict(Campaign.objects.values_list("pk", "gist__release"))
    assert kept[newer.pk] == "the next one"
    assert kept[older.pk] != "the next one"
    assert keep_missing_gists(is_over=bool) == 1
    assert keep_missing_gists(is_over=bool) == 0


def test_a_campaign_whose_answer_fails_has_ended_all_the_same(project, monkeypatch, caplog):
    campaign = finished(project)
    monkeypatch.setattr("campaigns.services.kept_pages.campaign_answer", lambda _: 1 / 0)
    keep_gist(campaign.pk)
    assert "Lists read the results" in caplog.text
    assert Run.objects.filter(state="done").count() == 6

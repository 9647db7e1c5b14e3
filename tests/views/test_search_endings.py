"""How a search for a capacity ends: its bounds on the page and over REST; nothing is sent after."""

from collections.abc import Callable

import pytest
from django.urls import reverse

from campaigns.domain.analysis.capacity import Ending
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import Campaign, Probe, Run, Search
from campaigns.models.dbtime import db_now
from campaigns.services import dispatch
from campaigns.services.campaigns import stop_campaign
from campaigns.services.searches import SILENT_AFTER_S, advance_searches, ask_silent_targets
from tests.searches import REFUSED, answered, end_trial, judged, limit_of, search_through, searching
from tests.services.engine import owner_of

pytestmark = pytest.mark.django_db


def is_found(project) -> Campaign:
    campaign = searching(project)
    search_through(campaign, limit_of(1850))
    return campaign


def meets_its_limit(project) -> Campaign:
    campaign = searching(project, limit=900)
    search_through(campaign, limit_of(5000))
    return campaign


def begins_too_high(project) -> Campaign:
    campaign = searching(project)
    search_through(campaign, limit_of(50))
    return campaign


def busies_the_injector(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    for _ in range(2):
        end_trial(campaign, 20, judged(Trust.DOUBTFUL, "The injector was busy."))
    return campaign


def busies_the_injector_at_once(project) -> Campaign:
    campaign = searching(project)
    for _ in range(2):
        end_trial(campaign, 20, judged(Trust.DOUBTFUL, "The injector was busy."))
    return campaign


def is_stopped_by_hand(project) -> Campaign:
    campaign = searching(project)
    for _ in range(3):
        end_trial(campaign, 20)
    stop_campaign(by=owner_of(project), campaign=campaign)
    advance_searches()
    return campaign


def loses_its_target(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    failed = judged(target="Nothing answers.").to_json()
    ended = {"state": "done", "outcome": "complete", "judgement": failed}
    campaign.runs.filter(repeat=2).update(**ended, ended_at=db_now())
    advance_searches()
    answered(campaign, REFUSED)
    Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
    ask_silent_targets()
    return campaign


def runs_out_of_time(project) -> Campaign:
    campaign = searching(project)
    end_trial(campaign, 20)
    Search.objects.update(deadline=db_now(5))
    search_through(campaign, limit_of(1850))
    return campaign


@pytest.mark.parametrize(
    ("ends", "ending", "least", "below", "capacity", "word"),
    [
        (is_found, Ending.FOUND, ..., ..., "1,8", "target side"),
        (meets_its_limit, Ending.LIMIT, 900, None, "at least 900", "cap"),
        (begins_too_high, Ending.BELOW, None, 100, "below 100", "target side"),
        (busies_the_injector, Ending.INJECTOR, 100, None, "at least 100", "injectors"),
        (busies_the_injector_at_once, Ending.INJECTOR, None, None, "–", "injectors"),
        (is_stopped_by_hand, Ending.STOPPED, 400, None, "at least 400", "stopped"),
        (loses_its_target, Ending.SILENT, 100, 200, "between 100 and 200", "no reply"),
        (runs_out_of_time, Ending.DEADLINE, 200, None, "at least 200", "time"),
    ],
)
def test_each_ending_has_its_bounds_on_the_page_and_over_rest(
    client, alice, project, ends: Callable, ending, least, below, capacity, word
):
    campaign = ends(project)
    # Whatever the dispatcher does: no other trial, and no request to a target that may be dead.
    dispatch.move_runs()
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    assert campaign.state == "done"
    n_runs, n_requests = campaign.runs.count(), Probe.objects.count()
    assert advance_searches() == ask_silent_targets() == dispatch.admit_runs() == 0
    assert (campaign.runs.count(), Probe.objects.count()) == (n_runs, n_requests)
    assert not campaign.runs.exclude(state="done").exists()
    client.force_login(alice)
    answer = client.get(f"/api/v1/campaigns/{campaign.pk}/search/").json()
    assert answer["ending"] == ending
    bounds = [(least, answer["at_least_per_s"]), (below, answer["below_per_s"])]
    assert all(expected in (..., value) for expected, value in bounds)
    assert answer["limited_by"]["word"] == word
    page = client.get(reverse("campaign-detail", args=[campaign.pk]))
    assert plain_text(page.context["report"].sentence) == answer["sentence"]
    assert page.context["tiles"][-1].value == word
    assert_its_history_has(client, campaign, capacity)
    address = f"/api/v1/tests/{campaign.tests.get().pk}/history/"
    (told,) = client.get(address).json()["capacities"]
    for bound in ("at_least_per_s", "below_per_s"):
        assert told[bound] == answer[bound]


def assert_its_history_has(client, campaign: Campaign, capacity: str) -> None:
    """Without a capacity the bounds that its own page says."""
    page = client.get(reverse("history-test", args=[campaign.tests.get().pk]))
    (row,) = page.context["capacities"]
    assert row.capacity.replace("\u202f", " ").startswith(capacity)

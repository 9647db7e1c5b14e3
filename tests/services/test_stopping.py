"""A campaign stops after a run in which everything failed, unless it was told to go on."""

import pytest

from campaigns.models import Campaign
from campaigns.queries.answers import campaign_answer
from campaigns.services.dispatch import finish_campaigns
from campaigns.services.stopping import stop_if_everything_failed
from campaigns.services.summaries import summarise_run
from tests.factories import store_second
from tests.services.engine import started
from tests.values import make_second

pytestmark = pytest.mark.django_db
WHY = "Stopped after run 1: 404 Not Found to all 100 requests."


def first_run_of(campaign, n_ok: int = 0):
    run = campaign.runs.get(position=1)
    counters, errors = {"failed": 100}, {"status_unexpected": 100}
    told = make_second(0, [1_000] * n_ok, counters=counters, errors=errors)
    told.statuses = {"200": n_ok, "404": 100} if n_ok else {"404": 100}
    store_second(run, told)
    campaign.runs.filter(pk=run.pk).update(state="done", outcome="complete")
    run.refresh_from_db()
    summarise_run(run)
    return run


def states_of(campaign) -> list[tuple[str, str]]:
    return list(campaign.runs.order_by("position").values_list("state", "reason"))


def test_the_other_runs_are_left_out_and_the_first_line_says_why(project):
    campaign = started(project, repeats=3)
    assert stop_if_everything_failed(first_run_of(campaign))
    assert states_of(campaign)[1:] == [("done", WHY)] * 2
    finish_campaigns()
    campaign = Campaign.objects.get(pk=campaign.pk)
    assert (campaign.state, campaign.stop_requested_by) == ("done", None)
    assert campaign_answer(campaign).sentence == [(WHY, True)]


def test_a_campaign_that_was_told_so_goes_on(project):
    campaign = started(project, repeats=3, keeps_going=True)
    assert not stop_if_everything_failed(first_run_of(campaign))
    assert states_of(campaign)[1:] == [("queued", "")] * 2


def test_one_reply_that_is_right_is_reason_enough_to_go_on(project):
    campaign = started(project, repeats=3)
    assert not stop_if_everything_failed(first_run_of(campaign, n_ok=1))


def test_a_campaign_of_one_run_has_nothing_to_stop(project):
    campaign = started(project)
    assert not stop_if_everything_failed(first_run_of(campaign))
    assert Campaign.objects.get(pk=campaign.pk).stop_reason == ""

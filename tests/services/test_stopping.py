"""A campaign stops after a run in which everything failed, unless it was told to go on."""

import time
from functools import partial

import pytest

from campaigns.domain.measured.snapshot import Second
from campaigns.models import Campaign
from campaigns.queries.answers import campaign_answer
from campaigns.services import dispatch, endings
from campaigns.services.campaigns import stop_campaign
from campaigns.services.dispatch import finish_campaigns
from campaigns.services.endings import stop_by_itself, stop_if_everything_failed
from campaigns.services.shards import mark_done, mark_ready, mark_running, record_seconds
from campaigns.services.summaries import summarise_run
from tests.factories import store_second
from tests.services.engine import at_once, claim, end, host, owner_of, started
from tests.values import make_second

pytestmark = pytest.mark.django_db
WHY = "Stopped after run 1: 404 Not Found to all 100 requests."


def all_failed(n_ok: int = 0) -> Second:
    counters, errors = {"failed": 100}, {"status_unexpected": 100}
    told = make_second(0, [1_000] * n_ok, counters=counters, errors=errors)
    told.statuses = {"200": n_ok, "404": 100} if n_ok else {"404": 100}
    return told


def first_run_of(campaign, n_ok: int = 0):
    run = campaign.runs.get(position=1)
    store_second(run, all_failed(n_ok))
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


def test_the_next_run_does_not_begin_before_the_campaign_is_stopped(project, monkeypatch):
    host(slots=4)
    campaign = started(project, repeats=2)
    dispatch.admit_runs()
    (lease,) = claim(campaign.runs.get(position=1))
    assert mark_ready(lease=lease)
    dispatch.move_runs()
    assert mark_running(lease=lease)
    record_seconds(lease=lease, seconds=[all_failed().to_json()])
    mark_done(lease=lease, end=end())
    dispatch.move_runs()
    dispatch.move_runs()
    end_run = endings._end

    def end_and_admit(*given) -> bool:
        has_ended = end_run(*given)
        dispatch.admit_runs()
        return has_ended

    monkeypatch.setattr(endings, "_end", end_and_admit)
    assert endings.finalise_runs() == 1
    assert states_of(campaign) == [("done", ""), ("done", WHY)]


def test_one_reply_that_is_right_is_reason_enough_to_go_on(project):
    campaign = started(project, repeats=3)
    assert not stop_if_everything_failed(first_run_of(campaign, n_ok=1))


@pytest.mark.django_db(transaction=True)
def test_somebody_who_stops_it_in_the_same_moment_and_it_wait_for_each_other_in_one_order(
    project, monkeypatch
):
    """Otherwise PostgreSQL ends one of them, such as the click on Stop, with an error."""
    campaign = started(project, repeats=3)
    lock_runs = endings.lock_runs

    def lock_slowly(runs) -> None:
        lock_runs(runs)
        time.sleep(0.5)

    def click() -> str:
        time.sleep(0.2)
        stop_campaign(by=owner_of(project), campaign=Campaign.objects.get(pk=campaign.pk))
        return "stopped"

    monkeypatch.setattr(endings, "lock_runs", lock_slowly)
    assert at_once(partial(stop_by_itself, campaign, WHY), click) == [True, "stopped"]
    assert Campaign.objects.get(pk=campaign.pk).stop_reason == WHY
    assert {state for state, _ in states_of(campaign)} == {"done"}

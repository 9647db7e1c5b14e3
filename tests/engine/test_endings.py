"""How runs and campaigns end: outcome, reason, summary, and who or what stops them."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.services.campaigns import stop_campaign
from campaigns.core.database import db_now
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.domain.metrics.snapshot import Second
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.engine.services.endings import stop_by_itself, stop_if_everything_failed, stop_run
from campaigns.engine.services.shards import (
    heartbeat,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_seconds,
)
from campaigns.models import Campaign, Run, RunEvent, RunSummary
from campaigns.runs.services import summarise_run
from tests.engine.scenes import (
    age,
    armed,
    claim,
    end,
    expire,
    finish,
    host,
    measuring,
    one_behind_the_other,
    owner_of,
    preparing,
    running,
    second,
    settle,
    started,
    tick,
)
from tests.factories import store_second
from tests.stuck import stuck_runs
from tests.values import make_second

pytestmark = pytest.mark.django_db


class TestTheEnd:
    def test_a_run_is_complete_when_every_shard_says_so(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        assert settle(run).state == "running"
        mark_done(lease=leases[1], end=end())
        settle(run)
        assert (run.state, run.outcome, run.reason) == ("done", "complete", "")
        assert run.ended_at is not None
        assert RunSummary.objects.filter(run=run).exists()

    def test_one_lost_shard_makes_it_partial_and_says_which(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        mark_lost(lease=leases[1], reason="The injector was killed by SIGKILL.")
        settle(run)
        assert (run.outcome, run.reason) == (
            "partial",
            "Injector process 2 of 2: The injector was killed by SIGKILL.",
        )

    def test_without_any_second_it_has_failed(self, project):
        run, (lease,) = running(project)
        mark_lost(lease=lease, reason="The injector was killed by SIGKILL.")
        settle(run)
        assert (run.outcome, run.reason) == ("failed", "The injector was killed by SIGKILL.")

    @pytest.mark.parametrize(
        ("wish", "outcome"), [("kill", "killed"), ("user", "stopped"), ("overrun", "partial")]
    )
    def test_a_wish_to_stop_outranks_what_the_shards_say(self, project, wish, outcome):
        run, lease = measuring(project)
        Run.objects.filter(pk=run.pk).update(stop_requested=wish)
        dispatch.move_runs()
        mark_done(lease=lease, end=end("stopped"))
        settle(run)
        assert run.outcome == outcome
        assert run.reason

    def test_a_stop_that_was_heard_before_it_was_stored_is_one(self, project):
        run, lease = measuring(project)
        mark_done(lease=lease, end=end("stopped"))
        assert settle(run).outcome == "stopped"
        assert run.reason.startswith("Stopped by a user")

    def test_a_run_that_takes_longer_than_its_plan_allows_is_stopped(self, project):
        run, lease = measuring(project)
        # 10 s planned + 30 s total timeout + 30 s of grace
        Run.objects.filter(pk=run.pk).update(t0=db_now(-69))
        dispatch.age_runs()
        run.refresh_from_db()
        assert run.stop_requested is None
        Run.objects.filter(pk=run.pk).update(t0=db_now(-71))
        tick()
        tick()
        run.refresh_from_db()
        assert (run.state, run.stop_requested) == ("stopping", "overrun")
        mark_done(lease=lease, end=end("stopped"))
        settle(run)
        assert run.outcome == "partial"
        assert run.reason == "Stopped after 70 s: longer than its plan can take."

    def test_a_launcher_that_does_not_stop_loses_its_shard_but_no_second(self, project):
        run, (lease,) = running(project)
        Run.objects.filter(pk=run.pk).update(stop_requested="user")
        dispatch.move_runs()
        age(run, MAX_AGE_S[RunState.STOPPING] + 1)
        settle(run)
        assert (run.state, run.outcome) == ("done", "stopped")
        assert record_seconds(lease=lease, seconds=[second(0)]) == 1
        assert not mark_done(lease=lease, end=end())

    @pytest.mark.parametrize("is_stopping", [False, True])
    def test_storing_what_was_measured_may_take_as_long_as_the_lease_is_renewed(
        self, project, is_stopping
    ):
        run, (lease,) = running(project)
        if is_stopping:
            Run.objects.filter(pk=run.pk).update(stop_requested="user")
            dispatch.move_runs()
        assert heartbeat(lease=lease, has_ended=True)
        Run.objects.filter(pk=run.pk).update(t0=db_now(-500))
        age(run, 500)
        before = settle(run).state
        assert before == ("stopping" if is_stopping else "running")
        assert stuck_runs() == []
        assert heartbeat(lease=lease, has_ended=True)
        assert record_seconds(lease=lease, seconds=[second(0)]) == 1
        assert mark_done(lease=lease, end=end("stopped" if is_stopping else "complete"))
        assert settle(run).outcome == ("stopped" if is_stopping else "complete")
        assert not run.events.filter(kind="late_seconds").exists()

    def test_a_host_that_dies_while_it_stores_is_not_said_to_have_died_while_sending(self, project):
        run, lease = measuring(project)
        heartbeat(lease=lease, has_ended=True)
        expire(run)
        assert settle(run).outcome == "partial"
        assert run.reason == dispatch.LOST_STORING

    def test_why_it_ended_may_be_told_while_it_ends(self, project, monkeypatch):
        run, lease = measuring(project)
        expire(run)
        dispatch.reap_shards()
        dispatch.move_runs()
        cut_off = "The injector host had no contact with PostgreSQL for 20 s and stopped sending."
        outcome_of = endings._outcome

        def just_before_it_is_told(run):
            outcome = outcome_of(run)
            mark_lost(lease=lease, reason=cut_off)
            return outcome

        with monkeypatch.context() as once:
            once.setattr(endings, "_outcome", just_before_it_is_told)
            assert endings.finalise_runs() == 1
        assert endings.summarise_late_runs() == 1
        run.refresh_from_db()
        assert run.reason == cut_off

    def test_a_summary_that_cannot_be_made_is_tried_again_and_then_given_up(
        self, project, monkeypatch
    ):
        run, lease = measuring(project)
        mark_done(lease=lease, end=end())

        def fail(run):
            raise ValueError("no such timing")

        monkeypatch.setattr(endings, "summarise_run", fail)
        settle(run)
        assert run.state == "finalizing"
        assert RunEvent.objects.filter(run=run, kind="summary_failed").count() == 1
        RunEvent.objects.update(at=db_now(-60))
        age(run, MAX_AGE_S[RunState.FINALIZING] + 1)
        settle(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert "no such timing" in run.reason
        assert run.seconds.count() == 1

    def test_late_seconds_make_a_new_summary_once(self, project):
        run, lease = measuring(project)
        expire(run)
        settle(run)
        assert endings.summarise_late_runs() == 0
        record_seconds(lease=lease, seconds=[second(0), second(1)])
        assert endings.summarise_late_runs() == 1
        assert endings.summarise_late_runs() == 0
        summary = RunSummary.objects.get(run=run)
        assert (summary.n_seconds, summary.version) == (2, 2)

    def test_a_failed_run_that_gets_its_seconds_late_is_a_partial_one(self, project):
        run, (lease,) = running(project)
        expire(run)
        assert settle(run).outcome == "failed"
        record_seconds(lease=lease, seconds=[second(0)])
        endings.summarise_late_runs()
        run.refresh_from_db()
        assert run.outcome == "partial"

    def test_a_campaign_is_finished_when_its_last_run_is_done(self, project):
        host(slots=1)
        campaign = started(project, n_tests=2)
        finish(campaign.runs.first(), 0)
        assert dispatch.finish_campaigns() == 0
        finish(campaign.runs.last(), 0)
        assert dispatch.finish_campaigns() == 1
        assert dispatch.finish_campaigns() == 0
        campaign.refresh_from_db()
        assert campaign.state == "done"


def test_a_run_that_waits_is_done_at_once(project, as_alice):
    run = started(project).runs.get()
    stop_run(by=as_alice, run=run)
    run.refresh_from_db()
    assert (run.state, run.outcome) == ("done", "stopped")
    assert run.ended_at is not None
    assert run.shards.get().state == "cancelled"


def test_a_run_whose_shards_are_being_claimed_is_withdrawn(project, as_alice):
    run = preparing(project, n_shards=2)
    lease = claim(run)[0]
    stop_run(by=as_alice, run=run)
    settle(run)
    assert (run.state, run.outcome) == ("done", "stopped")
    assert {shard.state for shard in run.shards.all()} == {"cancelled"}
    assert heartbeat(lease=lease) is None


def test_an_armed_run_never_begins_to_send(project, as_alice):
    run, (lease,) = armed(project)
    stop_run(by=as_alice, run=run)
    assert not mark_running(lease=lease)
    settle(run)
    assert (run.state, run.outcome) == ("done", "stopped")


def test_a_running_run_keeps_what_was_measured(project, as_alice):
    run, lease = measuring(project)
    stop_run(by=as_alice, run=run)
    settle(run)
    assert run.state == "stopping"
    assert heartbeat(lease=lease).stop_requested == "user"
    mark_done(lease=lease, end=end("stopped"))
    settle(run)
    assert (run.state, run.outcome) == ("done", "stopped")
    assert run.reason == "Stopped by a user; what was measured until then is kept."
    assert run.stop_requested_by == as_alice.user
    assert run.seconds.count() == 1


def test_it_refuses_to_stop_what_is_over(project, as_alice):
    run = started(project).runs.get()
    stop_run(by=as_alice, run=run)
    with pytest.raises(Refused, match="has already ended"):
        stop_run(by=as_alice, run=run)


def test_a_run_that_has_sent_all_stays_complete_whoever_stops_it_now(project, as_alice):
    run, lease = measuring(project)
    mark_done(lease=lease, end=end())
    dispatch.move_runs()
    with pytest.raises(Refused, match="has already ended"):
        stop_run(by=as_alice, run=run)
    settle(run)
    assert run.outcome == "complete"


WHY = "Stopped after run 1: 404 Not Found to all 100 requests."


def all_failed(n_ok: int = 0) -> Second:
    counters, errors = {"failed": 100}, {"status_unexpected": 100}
    line = make_second(0, [1_000] * n_ok, counters=counters, errors=errors)
    line.statuses = {"200": n_ok, "404": 100} if n_ok else {"404": 100}
    return line


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

    def end_and_admit(*args) -> bool:
        has_ended = end_run(*args)
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

    def stop_itself(hold) -> bool:
        monkeypatch.setattr(endings, "lock_runs", lambda runs: (lock_runs(runs), hold()))
        return stop_by_itself(campaign, WHY)

    def click() -> str:
        stop_campaign(by=owner_of(project), campaign=Campaign.objects.get(pk=campaign.pk))
        return "stopped"

    assert one_behind_the_other(stop_itself, click) == [True, "stopped"]
    assert Campaign.objects.get(pk=campaign.pk).stop_reason == WHY
    assert {state for state, _ in states_of(campaign)} == {"done"}

"""How runs and campaigns end: outcome, reason, summary."""

import pytest

from campaigns.domain.lifecycle import MAX_AGE_S, RunState
from campaigns.models import Run, RunEvent
from campaigns.models.dbtime import db_now
from campaigns.queries.engine import stuck_runs
from campaigns.services import dispatch, endings
from campaigns.services.shards import (
    heartbeat,
    mark_done,
    mark_lost,
    record_seconds,
)
from tests.services.engine import (
    age,
    end,
    expire,
    finish,
    host,
    running,
    second,
    settled,
    started,
    tick,
)


class TestTheEnd:
    def test_a_run_is_complete_when_every_shard_says_so(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        assert settled(run).state == "running"
        mark_done(lease=leases[1], end=end())
        settled(run)
        assert (run.state, run.outcome, run.reason) == ("done", "complete", "")
        assert run.ended_at is not None
        assert run.summaries.count() == 1

    def test_one_lost_shard_makes_it_partial_and_says_which(self, project):
        run, leases = running(project, n_shards=2)
        for lease in leases:
            record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=leases[0], end=end())
        mark_lost(lease=leases[1], reason="The injector was killed by SIGKILL.")
        settled(run)
        assert (run.outcome, run.reason) == (
            "partial",
            "Injector process 2 of 2: The injector was killed by SIGKILL.",
        )

    def test_without_any_second_it_has_failed(self, project):
        run, (lease,) = running(project)
        mark_lost(lease=lease, reason="The injector was killed by SIGKILL.")
        settled(run)
        assert (run.outcome, run.reason) == ("failed", "The injector was killed by SIGKILL.")

    @pytest.mark.parametrize(
        ("wish", "outcome"), [("kill", "killed"), ("user", "stopped"), ("overrun", "partial")]
    )
    def test_a_wish_to_stop_outranks_what_the_shards_say(self, project, wish, outcome):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        Run.objects.filter(pk=run.pk).update(stop_requested=wish)
        dispatch.move_runs()
        mark_done(lease=lease, end=end("stopped"))
        settled(run)
        assert run.outcome == outcome
        assert run.reason

    def test_a_stop_that_was_heard_before_it_was_stored_is_one(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=lease, end=end("stopped"))
        assert settled(run).outcome == "stopped"
        assert run.reason.startswith("Stopped by a user")

    def test_a_run_that_takes_longer_than_its_plan_allows_is_stopped(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
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
        settled(run)
        assert run.outcome == "partial"
        assert run.reason == "Stopped after 70 s: longer than its plan can take."

    def test_a_launcher_that_does_not_stop_loses_its_shard(self, project):
        run, (lease,) = running(project)
        Run.objects.filter(pk=run.pk).update(stop_requested="user")
        dispatch.move_runs()
        age(run, MAX_AGE_S[RunState.STOPPING] + 1)
        settled(run)
        assert (run.state, run.outcome) == ("done", "stopped")
        assert not mark_done(lease=lease, end=end())

    def test_whatever_a_launcher_measured_before_it_was_given_up_is_welcome(self, project):
        run, (lease,) = running(project)
        Run.objects.filter(pk=run.pk).update(stop_requested="user")
        dispatch.move_runs()
        age(run, MAX_AGE_S[RunState.STOPPING] + 1)
        settled(run)
        assert record_seconds(lease=lease, seconds=[second(0)]) == 1

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
        before = settled(run).state
        assert before == ("stopping" if is_stopping else "running")
        assert stuck_runs() == []
        assert heartbeat(lease=lease, has_ended=True)
        assert record_seconds(lease=lease, seconds=[second(0)]) == 1
        assert mark_done(lease=lease, end=end("stopped" if is_stopping else "complete"))
        assert settled(run).outcome == ("stopped" if is_stopping else "complete")
        assert not run.events.filter(kind="late_seconds").exists()

    def test_a_host_that_dies_while_it_stores_is_not_said_to_have_died_while_sending(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        heartbeat(lease=lease, has_ended=True)
        expire(run)
        assert settled(run).outcome == "partial"
        assert run.reason == dispatch.LOST_STORING

    def test_why_it_ended_may_be_told_while_it_ends(self, project, monkeypatch):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        expire(run)
        dispatch.reap_shards()
        dispatch.move_runs()
        cut_off = "The injector host had no contact with PostgreSQL for 20 s and stopped sending."
        outcome_of = endings._outcome

        def just_before_it_is_told(run):
            found = outcome_of(run)
            mark_lost(lease=lease, reason=cut_off)
            return found

        with monkeypatch.context() as once:
            once.setattr(endings, "_outcome", just_before_it_is_told)
            assert endings.finalise_runs() == 1
        assert endings.summarise_late_runs() == 1
        run.refresh_from_db()
        assert run.reason == cut_off

    def test_a_summary_that_cannot_be_made_is_tried_again_and_then_given_up(
        self, project, monkeypatch
    ):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        mark_done(lease=lease, end=end())

        def fail(run):
            raise ValueError("no such timing")

        monkeypatch.setattr(endings, "summarise_run", fail)
        settled(run)
        assert run.state == "finalizing"
        assert RunEvent.objects.filter(run=run, kind="summary_failed").count() == 1
        RunEvent.objects.update(at=db_now(-60))
        age(run, MAX_AGE_S[RunState.FINALIZING] + 1)
        settled(run)
        assert (run.state, run.outcome) == ("done", "failed")
        assert "no such timing" in run.reason
        assert run.seconds.count() == 1

    def test_late_seconds_make_a_new_summary_once(self, project):
        run, (lease,) = running(project)
        record_seconds(lease=lease, seconds=[second(0)])
        expire(run)
        settled(run)
        assert endings.summarise_late_runs() == 0
        record_seconds(lease=lease, seconds=[second(0), second(1)])
        assert endings.summarise_late_runs() == 1
        assert endings.summarise_late_runs() == 0
        assert list(run.summaries.order_by("revision").values_list("n_seconds", flat=True)) == [
            1,
            2,
        ]

    def test_a_failed_run_that_gets_its_seconds_late_is_a_partial_one(self, project):
        run, (lease,) = running(project)
        expire(run)
        assert settled(run).outcome == "failed"
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

import pytest

from campaigns.domain.errors import Refused
from campaigns.services import dispatch, endings
from campaigns.services.endings import stop_run
from campaigns.services.shards import heartbeat, mark_done, mark_running, record_seconds
from tests.services.engine import armed, claim, end, preparing, running, second, started


def settle(run):
    """What the dispatcher's next ticks do."""
    for _ in range(3):
        dispatch.move_runs()
        dispatch.move_runs()
        endings.finalise_runs()
    run.refresh_from_db()


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
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
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


def test_the_first_wish_to_stop_stays(project, as_alice, as_bob):
    run, _ = running(project)
    stop_run(by=as_bob, run=run)
    stop_run(by=as_alice, run=run)
    run.refresh_from_db()
    assert run.stop_requested_by == as_bob.user


def test_it_refuses_to_stop_what_is_over(project, as_alice):
    run = started(project).runs.get()
    stop_run(by=as_alice, run=run)
    with pytest.raises(Refused, match="has already ended"):
        stop_run(by=as_alice, run=run)


def test_a_run_that_has_sent_all_stays_complete_whoever_stops_it_now(project, as_alice):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    dispatch.move_runs()
    with pytest.raises(Refused, match="has already ended"):
        stop_run(by=as_alice, run=run)
    settle(run)
    assert run.outcome == "complete"

"""The database refuses what the lifecycle does not know, whoever writes it."""

from itertools import product

import pytest
from django.db import IntegrityError, transaction

from campaigns.domain.lifecycle import RUN_MOVES, SHARD_MOVES, RunState, ShardState
from campaigns.models import Run, Shard

RUN_PAIRS = sorted(product(RunState, RunState))
SHARD_PAIRS = sorted(product(ShardState, ShardState))
# Each state is reached by legal moves, since nothing else gets there.
RUN_PATHS = {
    "queued": [],
    "preparing": ["preparing"],
    "armed": ["preparing", "armed"],
    "running": ["preparing", "armed", "running"],
    "stopping": ["preparing", "stopping"],
    "finalizing": ["preparing", "stopping", "finalizing"],
    "done": ["done"],
}
SHARD_PATHS = {
    "open": [],
    "claimed": ["claimed"],
    "ready": ["claimed", "ready"],
    "running": ["claimed", "ready", "running"],
    "storing": ["claimed", "ready", "running", "storing"],
    "done": ["claimed", "ready", "running", "done"],
    "lost": ["claimed", "lost"],
    "cancelled": ["cancelled"],
}


def move_run(run, state):
    outcome = "complete" if state == RunState.DONE else None
    return Run.objects.filter(pk=run.pk).update(state=state, outcome=outcome)


def move_shard(shard, state):
    return Shard.objects.filter(pk=shard.pk).update(
        state=state, worker="w", lease_until="2030-01-01T00:00:00Z"
    )


@pytest.mark.parametrize(("source", "target"), RUN_PAIRS)
def test_a_run_moves_as_the_lifecycle_says_and_no_other_way(run, source, target):
    for state in RUN_PATHS[source]:
        move_run(run, state)
    if source == target or (source, target) in RUN_MOVES:
        assert move_run(run, target) == 1
    else:
        with pytest.raises(IntegrityError, match="a run cannot go"), transaction.atomic():
            move_run(run, target)


@pytest.mark.parametrize(("source", "target"), SHARD_PAIRS)
def test_a_shard_moves_as_the_lifecycle_says_and_no_other_way(run, source, target):
    shard = run.shards.get()
    for state in SHARD_PATHS[source]:
        move_shard(shard, state)
    if source == target or (source, target) in SHARD_MOVES:
        assert move_shard(shard, target) == 1
    else:
        with pytest.raises(IntegrityError, match="a shard cannot go"), transaction.atomic():
            move_shard(shard, target)


def test_each_move_leaves_an_event_in_the_same_transaction(run):
    with transaction.atomic():
        move_run(run, "preparing")
        transaction.set_rollback(True)
    assert not run.events.exists()
    move_run(run, "preparing")
    assert [(event.kind, event.data) for event in run.events.all()] == [
        ("run_preparing", {"from": "queued"})
    ]


def test_an_outcome_stands_exactly_at_the_end(run):
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(outcome="complete")
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(state="done")


def test_a_live_shard_without_a_lease_is_refused(run):
    with pytest.raises(IntegrityError), transaction.atomic():
        run.shards.update(state="claimed")

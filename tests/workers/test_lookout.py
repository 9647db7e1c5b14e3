"""What waits although it was rung for is launched all the same, where a slot is free."""

import pytest

from campaigns.engine.services.shards import claim_shard
from campaigns.models import Run
from campaigns.operations.services.load_control import announce_host
from tests.engine.scenes import age, preparing
from workers import tasks
from workers.tasks import UNHEARD_AFTER_S, Lookout, launch_unheard

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "bench-7"


@pytest.fixture(autouse=True)
def _this_host(settings, monkeypatch):
    """It claims, and launches nothing."""
    settings.INJECTOR_NAME = HERE
    monkeypatch.setattr(tasks, "launch_one", claim_shard)


def waiting(project, n_shards: int, waited_s: float = UNHEARD_AFTER_S + 1) -> Run:
    run = preparing(project, n_shards)
    age(run, waited_s)
    return run


def look(slots: int) -> None:
    announce_host(name=HERE, slots=slots, facts={})
    for launch in launch_unheard():
        launch.join()


def n_claimed(run: Run) -> int:
    return run.shards.filter(state="claimed", host=HERE).count()


@pytest.mark.parametrize(
    ("fields", "n_launched"), [({}, 3), ({"waited_s": UNHEARD_AFTER_S - 2}, 0)]
)
def test_shards_that_nobody_heard_of_are_launched_all_the_same_but_not_too_early(
    project, fields, n_launched
):
    run = waiting(project, n_shards=3, **fields)
    look(slots=8)
    assert n_claimed(run) == n_launched


def test_a_host_launches_no_more_than_it_has_free_slots_for(project):
    run = waiting(project, n_shards=4)
    claim_shard(worker="w", host=HERE)
    look(slots=3)
    assert n_claimed(run) == 3
    look(slots=3)
    assert n_claimed(run) == 3


def test_one_of_a_run_that_is_to_stop_is_not_launched(project):
    run = waiting(project, n_shards=1)
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    look(slots=8)
    assert n_claimed(run) == 0


def test_a_child_that_is_told_to_drop_what_it_does_waits_for_no_launch(monkeypatch):
    """Who waits for a thread that never began fails."""
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "terminate_handler_fired", lambda: True)
        Lookout().end()
    with pytest.raises(RuntimeError, match="before it is started"):
        Lookout().end()

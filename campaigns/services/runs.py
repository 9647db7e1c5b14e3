"""Stopping runs: a request is written beside the state, and the dispatcher acts on it."""

from django.db import transaction
from django.db.models.functions import Now

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import ACTIVE_STATES, Outcome, RunState, ShardState
from campaigns.domain.stop_reasons import StopReason
from campaigns.live.pokes import poke
from campaigns.models import Run, Shard
from campaigns.permissions import Action, Actor, require

# Nothing is sent any more: a wish to stop would only change what the run is called.
OVER = frozenset({RunState.FINALIZING, RunState.DONE})
STOPPED_BEFORE = "Stopped before it started."


@transaction.atomic
def stop_run(*, by: Actor, run: Run) -> None:
    """Stop one run: one that waits is done at once, one under way stops sending within a second.

    Stopping a run that is being stopped changes nothing. Raises Refused for one that is done.
    """
    require(by, Action.STOP, run.campaign.project)
    lock_runs(Run.objects.filter(pk=run.pk))
    if end_queued(Run.objects.filter(pk=run.pk), Outcome.STOPPED, STOPPED_BEFORE):
        return
    request_stop(Run.objects.filter(pk=run.pk), StopReason.USER, by=by.user)
    if Run.objects.filter(pk=run.pk, state__in=OVER).exists():
        raise Refused(f"Run {run.label} has already ended; there is nothing to stop.")


def lock_runs(runs) -> None:
    """Keep the dispatcher from moving these on until the transaction ends: between looking at what
    waits and at what is active, a run could go from the one to the other and be in neither."""
    locked = runs.exclude(state=RunState.DONE).select_for_update(no_key=True, of=("self",))
    list(locked.order_by("pk").values_list("pk"))


def request_stop(runs, why: StopReason, by=None) -> int:
    """Write the wish to stop into the active ones among `runs`; the first wish stays."""
    asked = runs.filter(state__in=ACTIVE_STATES - OVER, stop_requested=None)
    touched = list(asked.values_list("pk", "campaign_id"))
    n_asked = asked.update(stop_requested=why, stop_requested_by=by)
    for run_id, campaign_id in touched:
        poke(run_id=run_id, campaign_id=campaign_id)
    return n_asked


def end_queued(runs, outcome: Outcome, reason: str) -> int:
    """End the queued ones among `runs` without running them; how many there were."""
    waiting = list(runs.filter(state=RunState.QUEUED).values_list("pk", "campaign_id"))
    pks = [pk for pk, _ in waiting]
    n_ended = Run.objects.filter(pk__in=pks, state=RunState.QUEUED).update(
        state=RunState.DONE, outcome=outcome, reason=reason, ended_at=Now()
    )
    Shard.objects.filter(run__in=pks, run__state=RunState.DONE, state=ShardState.OPEN).update(
        state=ShardState.CANCELLED
    )
    for run_id, campaign_id in waiting:
        poke(run_id=run_id, campaign_id=campaign_id)
    return n_ended

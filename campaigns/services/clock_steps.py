"""What follows when the clock of the database's host was set: what is under way keeps its age."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F

from campaigns.domain.lifecycle import LIVE_SHARD_STATES, RunState
from campaigns.models import Run, Shard
from campaigns.models.dbtime import db_now


@transaction.atomic
def follow_step(step_s: float) -> None:
    """The clock was set by `step_s`, at most a few seconds ago. Instants that were noted before
    move with it, and every lease begins anew: whoever is alive renews it soon."""
    step = timedelta(seconds=step_s)
    before = {"state_at__lte": db_now(-step_s)} if step_s > 0 else {"state_at__gt": db_now()}
    Run.objects.exclude(state=RunState.DONE).filter(**before).update(
        state_at=F("state_at") + step, t0=F("t0") + step
    )
    Shard.objects.filter(state__in=LIVE_SHARD_STATES).update(lease_until=db_now(settings.LEASE_S))

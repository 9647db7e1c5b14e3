"""Whether every run ends: what must be empty after any fault."""

from django.db.models import Q

from campaigns.core.database import db_now
from campaigns.domain.lifecycle import MAX_AGE_S, RunState, ShardState
from campaigns.engine.queries.engine import has_shard, head_runs, running_ages
from campaigns.models import Run
from campaigns.operations.queries import has_been_on_for

STUCK_SLACK_S = 15.0


def stuck_runs() -> list[tuple[int, str]]:
    """(run, state) beyond the maximum age of the state."""
    too_old = Q()
    for state in (
        RunState.PREPARING,
        RunState.ARMED,
        RunState.STOPPING,
        RunState.FINALIZING,
    ):
        too_old |= Q(state=state, state_at__lt=db_now(-MAX_AGE_S[state] - STUCK_SLACK_S))
    # What only stores takes as long as PostgreSQL does, while its lease is renewed.
    is_not_storing = has_shard(ShardState.RUNNING) | ~has_shard(ShardState.STORING)
    rows = list(Run.objects.filter(is_not_storing).filter(too_old).values_list("pk", "state"))
    overdue = head_runs().filter(due_at__lt=db_now(-MAX_AGE_S[RunState.QUEUED] - STUCK_SLACK_S))
    if has_been_on_for(MAX_AGE_S[RunState.QUEUED] + STUCK_SLACK_S):
        rows += overdue.values_list("pk", "state")
    ages = running_ages(is_not_storing)
    return rows + [(pk, RunState.RUNNING) for pk, _, late_s in ages if late_s > STUCK_SLACK_S]

"""Arms that take turns in several injector processes: all begin their rounds at one instant and one
pace, and end when all that they have seen together is settled. No process knows what others see, so
both are settled here, once, by their rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from campaigns.core.database import db_now
from campaigns.domain.analysis.side_by_side import LOOKS, is_settled, next_look
from campaigns.domain.metrics.injector_end import ArmsRound, of_all_shards
from campaigns.domain.plan.turns import pace_of_all
from campaigns.engine.services.shards import Lease, keep_pace, lock_run
from campaigns.models import Round, Run, Shard

_US = 1e6


class Begin(NamedTuple):
    """When rounds begin, counted from the common start, and at which pace."""

    after_start_s: float
    pace: Mapping[str, Any]


def begin_of_rounds(*, lease: Lease) -> Begin | None:
    """None until each process of the lease's run has found a pace; the same for each that asks."""
    run = Run.objects.only("rounds_at", "t0", "n_shards").get(pk=lease.run_id)
    if run.rounds_at is None:
        if Shard.objects.filter(run=run, pace__isnull=False).count() < run.n_shards:
            return None
        _begin_rounds(lease)
    pace, t0, rounds_at = Run.objects.values_list("snapshot__pace", "t0", "rounds_at").get(
        pk=lease.run_id
    )
    return Begin((rounds_at - t0).total_seconds(), pace)


@transaction.atomic
def _begin_rounds(lease: Lease) -> None:
    lock_run(lease.run_id)
    run = Run.objects.get(pk=lease.run_id)
    if run.rounds_at is not None:
        return
    rows = Shard.objects.filter(run=run).values_list("pace", "host")
    paces, hosts = zip(*rows, strict=True)
    delay_s, error_s = settings.START_DELAY_ONE_HOST_S, None
    if len(set(hosts)) > 1:
        delay_s = settings.START_DELAY_HOSTS_S
        error_s = max(each["clock_error_us"] for each in paces) / _US
    keep_pace(lease.runs, pace_of_all(paces, error_s))
    turns, load = run.frozen.turns, run.frozen.plan.load
    look = LOOKS[0] if turns.until_settled and not load.stages else None
    Run.objects.filter(pk=run.pk).update(rounds_at=db_now(delay_s), next_look=look)


def with_rounds_for_a_look(leaders: QuerySet[Run]) -> QuerySet[Run]:
    """Those of which every shard has come to the rounds that the next look takes."""
    rounds = Round.objects.filter(run=OuterRef("run"), shard=OuterRef("number"))
    behind = Shard.objects.filter(run=OuterRef("pk")).exclude(
        Exists(rounds.filter(number__gte=OuterRef("run__next_look") - 1))
    )
    return leaders.filter(next_look__isnull=False).exclude(Exists(behind))


def look_at_rounds(run: Run) -> bool:
    """End the rounds of all shards where what they saw so far settles it, or at the last look."""
    lines = Round.objects.filter(run=run).values_list("line", flat=True)
    rounds = of_all_shards(map(ArmsRound.from_json, lines), run.n_shards)
    if len(rounds) < run.next_look:
        return False
    look = next_look(len(rounds))
    if look is None or is_settled(rounds, run.frozen.turns, len(rounds[0].arms)):
        Run.objects.filter(pk=run.pk).update(next_look=None, last_round=rounds[-1].number)
    else:
        Run.objects.filter(pk=run.pk).update(next_look=look)
    return True

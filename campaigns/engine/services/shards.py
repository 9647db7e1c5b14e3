"""A launcher's operations on a shard: claim it, renew its lease, advance it, write its seconds. The
right to send load is a lease on the shard's row. Its number (`epoch`) is a fencing token: a holder
of an older one changes and writes nothing, however late its statement arrives. Stores the examples
of failures that came with a run's seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, F, Max, QuerySet, Value, When
from django.db.models.functions import Coalesce, Greatest

from campaigns.core.database import ClockTimestamp, db_now
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import (
    LIVE_SHARD_STATES,
    UNFINISHED_SHARD_STATES,
    RunState,
    own_sentence,
)
from campaigns.domain.lifecycle import ShardState as Part
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.kept_requests import pack
from campaigns.domain.metrics.outcomes import printable, redacted, redacted_head
from campaigns.domain.plan.addresses import common_networks
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.domain.plan.step import Redirects
from campaigns.live.notify import notify_viewers
from campaigns.models import (
    FailureExample,
    RequestsOfShard,
    Round,
    Run,
    RunEvent,
    Shard,
    ShardSecond,
)
from campaigns.plans.services import load_bodies
from campaigns.targets.queries import networks_elsewhere, networks_for, policy

PROTOCOL, PROTOCOL_OF_ARMS = 1, 2
LATE_SECONDS_FOR_S = 24 * 3600
LATE_SECONDS = "late_seconds"


# What is known of a shard when only its heartbeats are missed.
LOST_BEFORE = "The injector host stopped answering before the start."
LOST_SENDING = "The injector host stopped answering while it was sending."
LOST_STORING = "The injector host stopped answering before all that it measured was stored."
# What is known of it in a database that was restored from a backup, or moved.
LOST_IN_COPY = "This database is a restored copy, made while the run was under way."
# What its launcher tells afterwards.
_UNHEARD = (
    "The injector {}, and all that it measured is stored, but its lease expired before its host "
    "could report it."
)
FINISHED_UNHEARD = _UNHEARD.format("finished")
STOPPED_UNHEARD = _UNHEARD.format("stopped when it was told to")
_STORING = Case(When(state=Part.RUNNING, then=Value(Part.STORING)), default=F("state"))


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to execute one shard: its holder and the order for the injector."""

    shard_id: int
    run_id: int
    number: int
    epoch: int
    worker: str
    host: str
    order: dict[str, Any]
    campaign_id: int = 0
    arms: tuple[int, ...] = ()  # side by side: the runs of the order's arms

    @property
    def runs(self) -> tuple[int, ...]:
        """Whose load the injector sends; the first one is `run_id`."""
        return self.arms or (self.run_id,)


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a launcher reads of its shard's run."""

    stop_requested: str | None  # a StopReason
    t0: datetime | None
    is_settled: bool = False  # what several shards have seen together


# One statement: no lock is held between two, however many launchers claim at once, and a doorbell
# that finds nothing costs one. Its row is the run, with what is to be known of the shard.
_CLAIM = """
WITH claimed AS (
    UPDATE campaigns_shard
    SET state = %(claimed)s, worker = %(worker)s, host = %(host)s, epoch = epoch + 1, reason = '',
        lease_until = clock_timestamp() + %(lease_s)s * interval '1 second'
    WHERE id = (
        SELECT shard.id
        FROM campaigns_shard shard JOIN campaigns_run run ON run.id = shard.run_id
        WHERE shard.state = %(open)s AND run.state = %(preparing)s AND run.stop_requested IS NULL
            AND run.leader_id IS NULL
        ORDER BY shard.run_id, shard.number
        LIMIT 1
        FOR UPDATE OF shard SKIP LOCKED
    )
    RETURNING id AS shard_id, run_id, number AS shard_number, epoch AS shard_epoch
)
SELECT run.*, shard_id, shard_number, shard_epoch, campaign.project_id, ARRAY(
    SELECT led.id FROM campaigns_run led WHERE led.leader_id = run.id ORDER BY led.position
) AS led
FROM claimed
JOIN campaigns_run run ON run.id = claimed.run_id
JOIN campaigns_campaign campaign ON campaign.id = run.campaign_id
"""


def claim_shard(*, worker: str, host: str) -> Lease | None:
    """Claim an open shard of an admitted run; None if none is left."""
    states = {"open": Part.OPEN, "claimed": Part.CLAIMED, "preparing": RunState.PREPARING}
    holder = {"worker": worker, "host": host, "lease_s": settings.LEASE_S}
    run = next(iter(Run.objects.raw(_CLAIM, {**states, **holder})), None)
    if run is None:
        return None
    followers = Run.objects.in_bulk(run.led) if run.led else {}
    runs = [run, *(followers[pk] for pk in run.led)]
    _notify([each.pk for each in runs], run.campaign_id)
    return Lease(
        shard_id=run.shard_id,
        run_id=run.pk,
        number=run.shard_number,
        epoch=run.shard_epoch,
        worker=worker,
        host=host,
        order=_order(run, runs),
        campaign_id=run.campaign_id,
        arms=tuple(each.pk for each in runs) if len(runs) > 1 else (),
    )


def _order(leader: Run, runs: Sequence[Run]) -> dict[str, Any]:
    """`runs`: those of the arms; side by side each pass draws other orders of turns, the same in
    all shards."""
    frozen = leader.frozen
    arms = [
        {
            "plan": ordered_plan(run.frozen.plan_json),
            "endpoint": run.frozen.endpoint.to_order(),
            "connection_mode": str(run.frozen.connection_mode),
        }
        for run in runs
    ]
    in_turns = len(runs) > 1
    weights = list(leader.frozen.plan.load.shares)
    part = {"index": leader.shard_number, "count": leader.n_shards}
    allowed: dict[str, None] = {}
    elsewhere: dict[str, list[str]] = {}
    for run in runs:
        # As this host has it: its list may be narrower than the site's, and take no proofs.
        here = networks_for(leader.project_id, run.frozen.endpoint.host)
        allowed |= dict.fromkeys(common_networks(run.frozen.allowed_networks, here))
    for run in runs:
        if run.frozen.plan.redirects == Redirects.ALL:
            host = run.frozen.endpoint.host
            elsewhere |= networks_elsewhere(leader.project_id, host, allowed)
    order = {
        "protocol": PROTOCOL_OF_ARMS if in_turns else PROTOCOL,
        "run": leader.label,
        **({"arms": arms} if in_turns else arms[0]),
        **load_bodies(leader.project_id, *(run.frozen.plan_json for run in runs)),
        "policy": policy(list(allowed), elsewhere),
        "seed": frozen.seed,
        "shard": {**part, "weights": weights} if weights else part,
    }
    if in_turns:
        order["turns"] = frozen.turns.to_json() | {"seed": frozen.seed + leader.repeat}
    return order


def heartbeat(*, lease: Lease, has_ended: bool = False, is_fresh: bool = False) -> Pulse | None:
    """Renew the lease. None: it is lost, so stop sending at once. An expired lease stays expired,
    even before the dispatcher has noticed, unless the holder knows by its own clock that it was
    renewed just now (`is_fresh`): then the database's clock was set. With `has_ended` the injector
    has ended and its last seconds are being stored: a running shard is storing from then on, and no
    rule takes it for one that still sends."""
    n_rows = _valid(lease, is_fresh).filter(state__in=LIVE_SHARD_STATES)
    state = {"state": _STORING} if has_ended else {}
    if not n_rows.update(lease_until=db_now(settings.LEASE_S), **state):
        return None
    return look(lease=lease)


def look(*, lease: Lease) -> Pulse | None:
    """The same, without renewing; None if the shard is no longer this lease's."""
    row = (
        _own_shard(lease)
        .filter(state__in=LIVE_SHARD_STATES)
        .values_list("run__stop_requested", "run__t0", "run__last_round")
        .first()
    )
    return Pulse(*row[:2], is_settled=row[2] is not None) if row else None


def mark_ready(*, lease: Lease, is_fresh: bool = False) -> bool:
    """The injector is ready to send; False if the run no longer waits for it, or the lease is lost.
    `is_fresh`: as for `heartbeat`. Whoever had no answer may say it again."""
    shards = _valid(lease, is_fresh)
    open_ones = shards.filter(state=Part.CLAIMED)
    is_moved = _move(open_ones, lease, Part.READY, {RunState.PREPARING})
    return is_moved or shards.filter(state=Part.READY).exists()


def mark_running(*, lease: Lease, is_fresh: bool = False) -> bool:
    """Take the right to send; False if the run was stopped or the lease is lost. `is_fresh`: as for
    `heartbeat`. Whoever had no answer may ask again."""
    shards = _valid(lease, is_fresh)
    ready = shards.filter(state=Part.READY)
    is_moved = _move(ready, lease, Part.RUNNING, {RunState.ARMED, RunState.RUNNING})
    return is_moved or shards.filter(state=Part.RUNNING).exists()


def mark_done(*, lease: Lease, end: InjectorEnd, others: Sequence[InjectorEnd] = ()) -> bool:
    """The injector has said its end and all its seconds are stored; `others`: the ends of the arms
    after the first. A lease that expired meanwhile does not matter here: nothing is sent any more.
    Only where the shard was given up, because nothing was heard of it, does it stay lost, and says
    how it ended."""
    _note_measured(lease)
    for run_id, each in zip(lease.runs[1:], others, strict=False):
        followers = Shard.objects.filter(run=run_id, number=lease.number, epoch=lease.epoch)
        followers.update(end=each.to_json())
    is_done = any(
        _move(_own_shard(lease).filter(state=state), lease, Part.DONE, end=end.to_json())
        for state in sorted(UNFINISHED_SHARD_STATES)
    )
    unheard = FINISHED_UNHEARD if end.is_complete else STOPPED_UNHEARD
    return is_done or _explain(lease, own_sentence(end.reason) or unheard)


@transaction.atomic
def _note_measured(lease: Lease) -> None:
    """How long each arm had its turn, where arms took turns."""
    if len(lease.runs) < 2:
        return
    lock_run(lease.run_id)
    last = Round.objects.filter(run=lease.run_id).aggregate(last=Max("number"))["last"]
    for run in Run.objects.filter(pk__in=lease.runs if last is not None else ()):
        pace = run.snapshot["pace"]
        pace |= {"measured_s": (last + 1) * pace["slice_s"]}
        Run.objects.filter(pk=run.pk).update(snapshot=run.snapshot)


def mark_lost(*, lease: Lease, reason: str) -> bool:
    """The injector refused or failed; `reason` is a sentence. It also explains a shard that was
    given up meanwhile, because nothing was heard of it."""
    is_lost = any(
        _move(_own_shard(lease).filter(state=state), lease, Part.LOST, reason=reason)
        for state in sorted(LIVE_SHARD_STATES)
    )
    return is_lost or _explain(lease, reason)


def lock_run(run_id: int) -> None:
    list(Run.objects.select_for_update(no_key=True).filter(pk=run_id).values_list("pk"))


@transaction.atomic
def _explain(lease: Lease, reason: str) -> bool:
    """Replace what was only guessed; False, because the shard was lost before."""
    lock_run(lease.run_id)
    lost = _own_shard(lease).filter(state=Part.LOST)
    if lost.filter(reason__in=(LOST_BEFORE, LOST_SENDING, LOST_STORING)).update(reason=reason):
        for run_id in lease.runs:
            _note_late(lease, 0, run_id)
    return False


@transaction.atomic
def _move(shard: QuerySet[Shard], lease: Lease, target: Part, run_states=None, **fields) -> bool:
    """Compare-and-set of the `shard`, if it is still there, while its run is in one of these states
    and not asked to stop; None: whatever it is. Locks the run first, like the dispatcher, so that a
    stop and a state change are serialised."""
    run = Run.objects.select_for_update(no_key=True).filter(pk=lease.run_id).order_by("pk").first()
    if run is None:
        return False
    if run_states is not None and (run.state not in run_states or run.stop_requested):
        return False
    has_moved = bool(shard.update(state=target, **fields))
    if has_moved:
        _notify(lease.runs, run.campaign_id)
    return has_moved


def record_seconds(*, lease: Lease, seconds: list[dict[str, Any]]) -> int:
    """Store seconds; returns how many rows are new. Writing the same again changes nothing. Raises
    Refused if the shard has been claimed anew, or the run is long over."""
    if not seconds:
        return 0
    by_arm: dict[int, list[dict[str, Any]]] = {}
    for second in seconds:
        by_arm.setdefault(second.get("arm", 0), []).append(second)
    with transaction.atomic():
        # While an index is made, nobody can store a second. That is waited for before the shard's
        # row is held, which the next heartbeat needs.
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {ShardSecond._meta.db_table} IN ROW EXCLUSIVE MODE")
        shard = _lock_for_seconds(lease)
        return sum(_record(lease, shard, arm, by_arm[arm]) for arm in sorted(by_arm))


def _record(lease: Lease, shard: Shard, arm: int, seconds: list[dict[str, Any]]) -> int:
    """Needs the lock on the leader's shard, so that none of these is stored meanwhile."""
    run_id = lease.runs[arm]
    by_key = {(second["second"], second["step"]): second for second in seconds}
    rows_so_far = ShardSecond.objects.filter(
        run=run_id, shard=lease.number, second__in={second for second, _ in by_key}
    ).values_list("second", "step")
    new = [by_key[key] for key in by_key.keys() - set(rows_so_far)]
    place = {"run_id": run_id, "shard": lease.number, "epoch": lease.epoch}
    ShardSecond.objects.bulk_create(
        (ShardSecond.of(second, **place) for second in new), ignore_conflicts=True, batch_size=500
    )
    examples = (
        _example_row(
            example, run_id=run_id, shard=lease.number, second=second["second"], step=second["step"]
        )
        for second in new
        for example in second.get("examples", ())[:_MOST_OF_A_SECOND]
    )
    FailureExample.objects.bulk_create(examples, ignore_conflicts=True)
    last = max(second["second"] for second in seconds)
    Shard.objects.filter(run=run_id, number=lease.number).update(
        last_second=Greatest(Coalesce("last_second", last), last)
    )
    if new and shard.state not in UNFINISHED_SHARD_STATES:
        _note_late(lease, len(new), run_id)
    notify_viewers(run_id=run_id, campaign_id=lease.campaign_id)
    return len(new)


@transaction.atomic
def record_rounds(*, lease: Lease, lines: Sequence[dict[str, Any]]) -> None:
    """Store what arms that take turns did in rounds, and the pace that they keep. The same again
    changes nothing. Raises Refused as `record_seconds` does."""
    if not lines:
        return
    _lock_for_seconds(lease)
    for pace in (line for line in lines if line["type"] == "pace"):
        Shard.objects.filter(pk=lease.shard_id).update(pace=pace)
        if Run.objects.filter(pk=lease.run_id, n_shards=1).exists():
            keep_pace(lease.runs, pace)
    Round.objects.bulk_create(
        (
            Round(run_id=lease.run_id, number=line["round"], shard=lease.number, line=line)
            for line in lines
            if line["type"] == "round"
        ),
        ignore_conflicts=True,
    )
    notify_viewers(campaign_id=lease.campaign_id)


def keep_pace(runs: Sequence[int], pace: Mapping[str, Any]) -> None:
    """It is what determines them, as their frozen copies are read."""
    for run in Run.objects.filter(pk__in=runs).order_by("pk"):
        Run.objects.filter(pk=run.pk).update(snapshot=run.snapshot | {"pace": pace})


@transaction.atomic
def record_requests(*, lease: Lease, lines: Sequence[dict[str, Any]]) -> None:
    """Store the single requests that an injector kept. The same again changes nothing. Raises
    Refused as `record_seconds` does."""
    if not lines:
        return
    shard = _lock_for_seconds(lease)
    for line in lines:
        run_id = lease.runs[line.get("arm", 0)]
        _, is_new = RequestsOfShard.objects.get_or_create(
            run_id=run_id, shard=lease.number, defaults={"packed": pack(line)}
        )
        if is_new and shard.state not in UNFINISHED_SHARD_STATES:
            _note_late(lease, 0, run_id)


def _lock_for_seconds(lease: Lease) -> Shard:
    shard = (
        _own_shard(lease)
        .select_for_update(no_key=True)
        .filter(state__in=(*UNFINISHED_SHARD_STATES, Part.DONE, Part.LOST))
        .first()
    )
    if shard is None:
        raise Refused(f"Shard {lease.number} of run {lease.run_id} now belongs to another worker.")
    too_old = Run.objects.filter(pk=lease.run_id, ended_at__lt=db_now(-LATE_SECONDS_FOR_S))
    if shard.state not in UNFINISHED_SHARD_STATES and too_old.exists():
        raise Refused(f"Run {lease.run_id} ended more than a day ago; its seconds are closed.")
    return shard


def _note_late(lease: Lease, n_stored: int, run_id: int) -> None:
    """Leave a note for the dispatcher to recompute the summary, and why the run ended. The run's
    lock orders the note before or after the summary's own read of notes."""
    Run.objects.select_for_update(no_key=True).get(pk=run_id)
    RunEvent.objects.create(
        run_id=run_id, kind=LATE_SECONDS, data={"shard": lease.number, "stored": n_stored}
    )


def _own_shard(lease: Lease) -> QuerySet[Shard]:
    return Shard.objects.filter(pk=lease.shard_id, epoch=lease.epoch).order_by("pk")


def _valid(lease: Lease, is_fresh: bool) -> QuerySet[Shard]:
    """The lease's shard until its end, by the database's clock or by its holder's."""
    shards = _own_shard(lease)
    return shards if is_fresh else shards.filter(lease_until__gt=ClockTimestamp())


def _notify(runs: Sequence[int], campaign_id: int) -> None:
    for pk in runs:
        notify_viewers(run_id=pk, campaign_id=campaign_id)


# More than an injector keeps by docs/injector.md: a limit for those that do not keep to it.
_MOST_CHARACTERS = 8000
_MOST_OF_A_SECOND = 50


def _example_row(example: dict[str, Any], **place: int) -> FailureExample:
    """Redacted once more: not every injector may do what it should."""
    head, blank, body = _cut(example["reply"]).partition("\n\n")
    return FailureExample(
        kind=example["kind"],
        status=example["status"],
        at_us=example["at_us"],
        request=redacted_head(_cut(example["request"])),
        reply=redacted_head(head) + blank + redacted(body),
        body_bytes=example.get("body_bytes"),
        detail=redacted(_cut(example["detail"])),
        **place,
    )


def _cut(text: str) -> str:
    return printable(text[:_MOST_CHARACTERS])

"""The dispatcher's rules, one function each; any process may call them at any time. Every change is
compare-and-set under the run's lock, so a second dispatcher, or one that resumes after an hour,
does no harm. All times are the database's. A rule finds the runs that it moves, and moves them."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from django.conf import settings
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    transaction,
)
from django.db.models import Exists, F, Prefetch, QuerySet, Value
from django.db.models.functions import Now

from campaigns.campaigns.models import UNDER_WAY
from campaigns.core import queue
from campaigns.core.database import ClockTimestamp, db_now
from campaigns.domain.lifecycle import (
    ACTIVE_STATES,
    LIVE_SHARD_STATES,
    MAX_AGE_S,
    UNFINISHED_SHARD_STATES,
    Outcome,
    StopReason,
)
from campaigns.domain.lifecycle import RunState as State
from campaigns.domain.lifecycle import ShardState as Part
from campaigns.domain.plan.addresses import common_networks, machines_of
from campaigns.engine.queries import engine
from campaigns.engine.queries.engine import has_shard
from campaigns.engine.queries.injector_hosts import Compiled, live_hosts_now, taken_slots
from campaigns.engine.services.endings import OVER, end_queued, lock_runs, request_stop
from campaigns.engine.services.rounds import look_at_rounds, with_rounds_for_a_look
from campaigns.engine.services.shards import LOST_BEFORE, LOST_IN_COPY, LOST_SENDING, LOST_STORING
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Exporter, HostClaim, Probe, Project, Run, Search, Shard
from campaigns.operations.queries import has_been_on_for, quota_of, why_load_is_off
from campaigns.runs.models import IN_TURNS
from campaigns.runs.services import publish_results
from campaigns.targets.queries import networks_for, why_not_admitted

logger = logging.getLogger(__name__)

Act = Callable[[Run], bool]


class Rule(NamedTuple):
    """`runs`: those that it moves. `act` moves one of them, under its lock; whether it did."""

    runs: QuerySet[Run]
    act: Act


Rules = Callable[[], tuple[Rule, ...]]


def apply(rules: Rules, most: int) -> int:
    """Move what the rules find, the first rule's runs first, at most so many of each; how many were
    moved. All are found in one statement, which is the same at each call."""
    n_changes, n_moved = rules(), 0
    for number, pk in sorted(_due_runs(rules, most).rows(), key=itemgetter(0)):
        n_moved += move(n_changes[number].runs, pk, n_changes[number].act)
    return n_moved


def move(runs: QuerySet[Run], pk: int, act: Act) -> bool:
    """Whether the run was moved; one that PostgreSQL refuses to move is left as it is, so that a
    failure with one does not affect the others."""
    try:
        return _under_lock(runs, pk, act)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError:
        logger.exception("Run %s was left as it is", pk)
        return False


@cache
def _due_runs(rules: Rules, most: int) -> Compiled:
    """(number of the rule, run), of each rule its oldest runs."""
    first, *others = (
        rule.runs.order_by("state_at", "pk").values_list(Value(number), "pk")[:most]
        for number, rule in enumerate(rules())
    )
    return Compiled(first.union(*others, all=True))


@transaction.atomic
def _under_lock(runs: QuerySet[Run], pk: int, act: Act) -> bool:
    """Re-checks the conditions under the lock: the run may have changed meanwhile."""
    rows = runs.filter(pk=pk).select_for_update(no_key=True, of=("self",)).order_by("pk")
    run = rows.defer("snapshot").first()
    return run is not None and act(run)


# Advisory lock id, arbitrary but the same in every dispatcher: serialises admissions.
ADMISSION_LOCK = 0x62656E63
# So many runs a rule moves at once, the oldest first: the next tick goes on, and a stop that was
# asked for meanwhile comes before it.
MOST_AT_ONCE = 20
# What admission reads of each waiting run and its project.
_OF_HEADS = ("campaign__project__caps", "campaign__project__admitted_at")
_OF_HEADS += ("campaign", "target", "machines", "n_shards", "leader")


# --- admission -----------------------------------------------------------------------------------
def admit_runs() -> int:
    """Admit runs that have slots for every shard, a free target on free machines, their pause
    behind them, and whose project may have one more with so many slots. Projects take turns: the
    one with the fewest active runs comes first, of several the one whose latest run was admitted
    longest ago. So do campaigns of a project: the one whose last run ended longest ago comes first.
    A run that fits the live hosts, but not what is free of them, blocks those behind it; otherwise
    it would starve. One that fits its project's share, but not what is left of it, blocks those of
    its project. The number of statements does not depend on how many wait."""
    if not (live_hosts_now().slots > taken_slots()) or not _due_heads().exists():
        return 0
    with transaction.atomic():
        lock_admission()
        return 0 if why_load_is_off() else _admit_in_turn()


def _admit_in_turn() -> int:
    hosts, places = live_hosts_now(), engine.held_places()
    n_taken = taken_slots()
    room = min(hosts.most_runs - places.n_runs, MOST_AT_ONCE)
    if n_taken >= hosts.slots or room <= 0:
        return 0
    n_admitted, full = 0, set()
    for run in _in_turn(_due_heads(), places.by_project):
        project = run.campaign.project
        quota = quota_of(project, hosts)
        arms = [run, *run.followers.all()]
        unknown = any(arm.machines is None for arm in arms)
        if unknown or project.pk in full or not quota.ever_fits(run.n_shards):
            continue
        for arm in arms:
            arm.machines = machines_of(arm.machines, hosts.addresses)
        if any(map(places.are_needed_by, arms)):
            continue
        if not quota.fits(places.by(project.pk), run.n_shards):
            full.add(project.pk)
            continue
        if not room or not hosts.have_room_for(run.n_shards, n_taken):
            break
        if why := next(filter(None, map(why_not_admitted, arms)), ""):
            end_queued(Run.objects.filter(pk=run.pk), Outcome.EXPIRED, why)
            continue
        if _admit(arms):
            Project.objects.filter(pk=project.pk).update(admitted_at=ClockTimestamp())
            for arm in arms:
                places.add(arm)
            room -= 1
            n_taken += run.n_shards
            n_admitted += 1
    return n_admitted


def _in_turn(heads: Iterable[Run], active: Mapping[int, int]) -> list[Run]:
    """The n-th run of each project before the (n+1)-th of any, those that are active included."""
    n_of_project = Counter(active)
    turns = []
    for place, run in enumerate(heads):
        project = run.campaign.project
        last = project.admitted_at
        admitted_s = last.timestamp() if last else 0.0
        turns.append((n_of_project[project.pk], admitted_s, place, run))
        n_of_project[project.pk] += 1
    return [run for *_, run in sorted(turns, key=itemgetter(0, 1, 2))]


def lock_admission() -> None:
    """Admit nothing elsewhere until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADMISSION_LOCK])


def _due_heads():
    followers = Run.objects.select_related("campaign__project").order_by("position")
    return (
        engine.head_runs()
        .filter(engine.is_due(), stop_requested=None)
        .select_related("campaign__project")
        .prefetch_related(Prefetch("followers", followers.only(*_OF_HEADS)))
        .only(*_OF_HEADS)
        .order_by(F("last_end").asc(nulls_first=True), "campaign__started_at", "campaign_id")
    )


def _admit(arms: Sequence[Run]) -> bool:
    """The first one leads the others."""
    try:
        with transaction.atomic():
            for arm in arms:
                row = Run.objects.filter(pk=arm.pk, state=State.QUEUED)
                frozen = arm.frozen.allowed_networks
                now = networks_for(arm.campaign.project_id, arm.frozen.endpoint.host)
                allowed = common_networks(frozen, now)
                if allowed != list(frozen):  # some are no longer
                    row.update(snapshot={**arm.snapshot, "policy": {"allow": allowed}})
                row.update(machines=arm.machines)
            return _move(arms[0], State.QUEUED, State.PREPARING)
    except IntegrityError:
        # The unique index on the target: another run on it was admitted meanwhile.
        return False


def note_machines(*, run_id: int, addresses: list[str]) -> bool:
    """Store what a waiting run's host name stands for now. Without an address, it holds no machine:
    its injectors will say that the name is unknown."""
    waiting = Run.objects.filter(pk=run_id, state=State.QUEUED)
    return bool(waiting.update(machines=machines_of(addresses)))


def expire_runs() -> int:
    """End runs that were next for an hour and could not begin; the reason says what was missing.
    Time in which all load was off does not count."""
    if not has_been_on_for(MAX_AGE_S[State.QUEUED]):
        return 0
    late = engine.head_runs().filter(due_at__lt=db_now(-MAX_AGE_S[State.QUEUED]))
    n_ended = 0
    for run in late.defer("snapshot")[:MOST_AT_ONCE]:
        reason = f"Could not start within an hour. {engine.reason_to_wait(run)}".strip()
        n_ended += end_queued(Run.objects.filter(pk=run.pk), Outcome.EXPIRED, reason)
    return n_ended


def ring_doorbells() -> int:
    """Ring once for every shard that waits for a worker; returns how many the broker accepted."""
    preparing = {"run__state": State.PREPARING, "run__stop_requested": None, "run__leader": None}
    n_open = Shard.objects.filter(state=Part.OPEN, **preparing).count()
    for n_rung in range(n_open):
        if not queue.send(queue.INJECT):
            return n_rung
    return n_open


# --- rules ---------------------------------------------------------------------------------------
def move_runs() -> int:
    """Move every active run whose shards, or whose request for a stop, allow it; the stops first.
    They are found in one statement, and moved one by one."""
    return apply(_moves, MOST_AT_ONCE)


def age_runs() -> int:
    """Move active runs that exceed the maximum age of their state, or of their plan."""
    n_moved = apply(_ages, MOST_AT_ONCE)
    for run_id, _ in engine.overrun_runs():
        n_moved += request_stop(Run.objects.filter(pk=run_id), StopReason.OVERRUN)
    return n_moved


@cache
def _moves() -> tuple[Rule, ...]:
    stopping = _active(State.PREPARING, State.ARMED, State.RUNNING).exclude(stop_requested=None)
    waiting = _active(State.PREPARING, State.ARMED).filter(stop_requested=None)
    running = _active(State.RUNNING).filter(stop_requested=None)
    # A round counts if all shards have it.
    in_turns = running.filter(IN_TURNS, n_shards__gt=1)
    sending = has_shard(Part.OPEN, *LIVE_SHARD_STATES)
    has_begun = has_shard(*UNFINISHED_SHARD_STATES, Part.DONE)
    return (
        Rule(stopping, _stop),
        Rule(waiting.filter(state=State.PREPARING).exclude(_unready()), _arm),
        Rule(waiting.filter(has_shard(Part.LOST)), _stop_for_lost_shard),
        Rule(in_turns.filter(has_shard(Part.LOST)), _stop_for_lost_shard),
        Rule(with_rounds_for_a_look(running), look_at_rounds),
        Rule(
            _active(State.ARMED).filter(has_begun),
            lambda run: _move(run, State.ARMED, State.RUNNING),
        ),
        Rule(_active(State.RUNNING).exclude(sending), _end_sending),
        Rule(_active(State.STOPPING).exclude(has_shard(*UNFINISHED_SHARD_STATES)), _end_stopping),
    )


@cache
def _ages() -> tuple[Rule, ...]:
    late = _too_old(State.ARMED).filter(stop_requested=None)
    return (
        Rule(_too_old(State.PREPARING).filter(stop_requested=None), _miss_barrier),
        Rule(late.exclude(_unready()), _miss_start),
        Rule(_too_old(State.STOPPING).filter(has_shard(Part.RUNNING)), _fail_unresponsive_shards),
    )


def _unready() -> Exists:
    return has_shard(*sorted(set(Part) - {Part.READY}))


# --- what they do --------------------------------------------------------------------------------
def _stop(run: Run) -> bool:
    waiting = run.shards.filter(state__in=(Part.OPEN, Part.CLAIMED, Part.READY))
    waiting.update(state=Part.CANCELLED, epoch=F("epoch") + 1)
    return _move(run, run.state, State.STOPPING)


def _arm(run: Run) -> bool:
    ready = run.shards.filter(state=Part.READY)
    hosts = set(ready.values_list("host", flat=True))
    if ready.count() < run.n_shards:
        return False
    one_host = len(hosts) == 1
    delay_s = settings.START_DELAY_ONE_HOST_S if one_host else settings.START_DELAY_HOSTS_S
    return _move(run, State.PREPARING, State.ARMED, t0=db_now(delay_s))


def _stop_for_lost_shard(run: Run) -> bool:
    return bool(request_stop(Run.objects.filter(pk=run.pk), StopReason.SHARD_LOST))


def _end_sending(run: Run) -> bool:
    if run.shards.exclude(state__in=(Part.DONE, Part.LOST)).exists():
        return False
    return _move(run, State.RUNNING, State.FINALIZING)


def _end_stopping(run: Run) -> bool:
    if run.shards.filter(state__in=UNFINISHED_SHARD_STATES).exists():
        return False
    return _move(run, State.STOPPING, State.FINALIZING)


def _miss_barrier(run: Run) -> bool:
    if run.barrier_failures:
        return bool(request_stop(Run.objects.filter(pk=run.pk), StopReason.BARRIER_TIMEOUT))
    _release(run.shards.filter(state__in=(Part.CLAIMED, Part.READY)))
    return _move(run, State.PREPARING, State.QUEUED, barrier_failures=1)


def _release(shards) -> int:
    return shards.update(
        state=Part.OPEN, epoch=F("epoch") + 1, lease_until=None, worker="", host=""
    )


def _miss_start(run: Run) -> bool:
    if run.shards.exclude(state=Part.READY).exists():
        return False
    return bool(request_stop(Run.objects.filter(pk=run.pk), StopReason.NO_START))


def _fail_unresponsive_shards(run: Run) -> bool:
    """End the lease of a launcher that renews it but does not stop. The epoch stays, as what was
    measured under it is still welcome."""
    n_lost = run.shards.filter(state=Part.RUNNING).update(
        state=Part.LOST, reason="It did not stop when it was told to."
    )
    return bool(n_lost)


# --- leases --------------------------------------------------------------------------------------
def reap_shards() -> int:
    """Reclaim shards whose lease expired. One that may have sent load is never restarted. Nobody
    holds a lease for longer than it lasts: its end moves where a clock was set back."""
    too_long = Shard.objects.filter(lease_until__gt=db_now(settings.LEASE_S))
    too_long.filter(state__in=LIVE_SHARD_STATES).update(lease_until=db_now(settings.LEASE_S))
    overdue = Shard.objects.filter(
        state__in=LIVE_SHARD_STATES, lease_until__lt=ClockTimestamp(), run__leader=None
    ).values_list("run_id", flat=True)
    runs = Run.objects.filter(pk__in=set(overdue[:MOST_AT_ONCE]))
    return sum(move(runs, pk, _reap) for pk in runs.values_list("pk", flat=True))


def _reap(run: Run) -> bool:
    overdue = run.shards.filter(state__in=LIVE_SHARD_STATES, lease_until__lt=ClockTimestamp())
    waiting = overdue.filter(state__in=(Part.CLAIMED, Part.READY))
    n_reaped = 0
    if run.state == State.PREPARING:
        pks = list(waiting.filter(attempts=0).values_list("pk", flat=True))
        again = Shard.objects.filter(pk__in=pks)
        n_released = _release(again.filter(state__in=(Part.CLAIMED, Part.READY)))
        again.update(attempts=1)
        n_reaped += n_released
    n_reaped += waiting.update(state=Part.LOST, reason=LOST_BEFORE)
    n_reaped += overdue.filter(state=Part.RUNNING).update(state=Part.LOST, reason=LOST_SENDING)
    n_reaped += overdue.filter(state=Part.STORING).update(state=Part.LOST, reason=LOST_STORING)
    return bool(n_reaped)


def cut_off_runs() -> int:
    """What a restored copy has of active runs: those that had not begun wait again, and nobody
    holds a lease of the others, who may have sent since the copy was made."""
    active = _active(*ACTIVE_STATES)
    return sum(move(active, pk, _cut_off) for pk in active.values_list("pk", flat=True))


def _cut_off(run: Run) -> bool:
    if run.state == State.PREPARING and not run.stop_requested:
        _release(run.shards.filter(state__in=(Part.CLAIMED, Part.READY)))
        return _move(run, State.PREPARING, State.QUEUED)
    live = run.shards.filter(state__in=LIVE_SHARD_STATES)
    return bool(live.update(state=Part.LOST, reason=LOST_IN_COPY))


@transaction.atomic
def end_for_clock_step(step_s: float) -> int:
    """The database's clock was set by so much: end the runs under way; how many there were. No age
    counts across it. What waits begins to wait anew."""
    lock_admission()  # as whoever stops all load, which locks the same rows
    lock_runs(Run.objects.all())
    n_ended = request_stop(Run.objects.all(), StopReason.CLOCK_SET)
    going_on = Campaign.objects.filter(UNDER_WAY)
    open_probes = Probe.objects.filter(finished_at=None)
    for rows, column in (
        (Run.objects.exclude(state__in=OVER), "state_at"),
        (going_on.exclude(held_at=None), "held_at"),
        (open_probes, "requested_at"),
        (open_probes.exclude(claimed_at=None), "claimed_at"),
        (Exporter.objects.filter(asked_at__gt=ClockTimestamp()), "asked_at"),
        (HostClaim.objects.filter(asked_at__gt=ClockTimestamp()), "asked_at"),
        (HostClaim.objects.filter(checked_at__gt=ClockTimestamp()), "checked_at"),
    ):
        rows.update(**{column: ClockTimestamp()})
    # Whoever holds a lease renews it soon.
    live = Shard.objects.filter(state__in=LIVE_SHARD_STATES)
    live.update(lease_until=db_now(settings.LEASE_S))
    step = timedelta(seconds=step_s)
    Search.objects.filter(ending=None).update(deadline=F("deadline") + step)
    # A pause, and the silence of a search's target, count from the last run's end.
    ended_runs = Run.objects.filter(state=State.DONE, campaign__in=going_on)
    ended_runs.update(t0=F("t0") + step, ended_at=F("ended_at") + step)
    return n_ended


# --- the end -------------------------------------------------------------------------------------
def finish_campaigns() -> int:
    """Close campaigns whose runs are all done, unless blocks are added at this moment; a search
    once it has ended."""
    open_ = Campaign.objects.filter(UNDER_WAY)
    over = open_.exclude(runs__in=Run.objects.exclude(state=State.DONE))
    over = over.exclude(pk__in=Search.objects.filter(ending=None).values("pk"))
    n_finished = 0
    for pk, repeats in over.values_list("pk", "repeats"):
        # Together: if it is interrupted, the campaign is closed at another turn.
        with transaction.atomic():
            if open_.filter(pk=pk, repeats=repeats).update(finished_at=Now()):
                publish_results(Campaign.objects.get(pk=pk))
                n_finished += 1
    return n_finished


# --- helpers -------------------------------------------------------------------------------------
def _active(*states: State):
    """Those that lead; what moves one moves its followers."""
    return Run.objects.filter(state__in=states, leader=None)


def _too_old(state: State):
    return _active(state).filter(state_at__lt=db_now(-MAX_AGE_S[state]))


def _move(run: Run, source: State, target: State, **fields) -> bool:
    n_rows = Run.objects.filter(pk=run.pk, state=source).update(state=target, **fields)
    if n_rows:
        notify_viewers(run_id=run.pk, campaign_id=run.campaign_id)
        for pk in run.followers.values_list("pk", flat=True):
            notify_viewers(run_id=pk)
    return bool(n_rows)

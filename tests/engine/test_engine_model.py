"""Whatever order things come in: launchers that claim, send, store, fall silent and come back,
people who stop, time that passes, and a dispatcher that looks now and then.

Beside the database stands what launchers were granted. Each rule says what may have been granted,
and after each step hold the promises of docs/reliability.md. The last step lets time pass: every
run ends, and has all that was stored.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from django.db import connection, transaction
from django.db.models import Count
from hypothesis import settings as Settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from campaigns.campaigns.services.campaigns import stop_campaign
from campaigns.core.database import db_now
from campaigns.core.permissions import Role
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import ACTIVE_STATES, RUN_MOVES, Outcome
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.shards import (
    Lease,
    claim_shard,
    heartbeat,
    mark_done,
    mark_lost,
    mark_ready,
    mark_running,
    record_seconds,
)
from campaigns.models import Campaign, Run, RunEvent, Shard, ShardSecond
from tests.engine.scenes import end, host, machine, owner_of, second, started, tick
from tests.factories import make_endpoint, make_membership, make_project, make_target, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.long]

SLOTS, N_TARGETS, MOST_CAMPAIGNS = 3, 2, 4
OVER = {"done", "lost", "cancelled"}
WAY = ("get_ready", "begin", "store", "store", "finish")


class Engine(RuleBasedStateMachine):
    leases = Bundle("leases")

    def __init__(self):
        super().__init__()
        self._example = transaction.atomic()
        self._example.__enter__()
        self.project = make_project()
        make_membership(self.project, make_user("olga"), Role.OWNER)
        targets = [make_target(self.project) for _ in range(N_TARGETS)]
        self.endpoints = [make_endpoint(each, host=machine(each.pk)) for each in targets]
        self.epochs: dict[int, int] = {}  # of each shard the last that was granted
        self.dead_leases: set[tuple[int, int]] = set()  # leases (shard, epoch) that time has ended
        self.sent: set[int] = set()  # shards that may have sent load
        self.to_stop: set[int] = set()  # runs that somebody asked to stop
        self.n_seconds: Counter[tuple[int, int]] = Counter()  # seconds by (run, shard's number)
        self.steps: dict[Lease, int] = {}  # that each lease has gone
        self.start(0, 2)

    def teardown(self):
        try:
            if not connection.needs_rollback:
                self._let_all_end()
        finally:
            transaction.set_rollback(True)
            self._example.__exit__(None, None, None)

    # --- people and time -------------------------------------------------------------------------
    @rule()
    def look(self):
        host(slots=SLOTS)
        dispatch.admit_runs()
        tick()
        endings.summarise_late_runs()
        dispatch.finish_campaigns()

    @rule(place=st.integers(0, N_TARGETS - 1), injectors=st.integers(1, 2))
    def start(self, place, injectors):
        if self.project.campaigns.count() < MOST_CAMPAIGNS:
            endpoint, sizes = self.endpoints[place], {"injectors": injectors, "repeats": 2}
            started(self.project, target=endpoint.target, endpoint=endpoint, **sizes)

    @rule(
        place=st.sampled_from([0, 0, 1]),
        rounds=st.sampled_from([1, 1, 0, 2]),
        what=st.sampled_from(["begin", "begin", "get_ready", "store"]),
    )
    def stop(self, place, rounds, what):
        """While all are at work, who then do something before the dispatcher looks again."""
        self._work(rounds)
        self.look()
        self._stop(place)
        self._claim()
        for lease in self.steps:
            self.do(lease, what)

    def _stop(self, place):
        campaign = self.project.campaigns.filter(finished_at=None).order_by("pk")[place:].first()
        if campaign is None:
            return
        self.to_stop |= set(campaign.runs.exclude(state="done").values_list("pk", flat=True))
        try:
            stop_campaign(by=owner_of(self.project), campaign=campaign)
        except Refused:
            assert campaign.stop_requested_at

    @rule(lease=leases, what=st.sampled_from([*WAY, "beat"]))
    def fall_silent(self, lease, what):
        """And come back, perhaps before the dispatcher looks."""
        live = Shard.objects.filter(pk=lease.shard_id, epoch=lease.epoch).exclude(lease_until=None)
        if live.update(lease_until=db_now(-1)):
            self.dead_leases.add((lease.shard_id, lease.epoch))
        self.do(lease, what)

    @rule(seconds=st.sampled_from([20, 70]))
    def grow_old(self, seconds):
        for run in Run.objects.filter(state__in=ACTIVE_STATES):
            Run.objects.filter(pk=run.pk).update(state_at=db_now(-seconds))

    # --- launchers -------------------------------------------------------------------------------
    @rule(target=leases, rounds=st.integers(1, len(WAY)))
    def work(self, rounds):
        """All launchers claim what they can, and go on on the usual way."""
        return multiple(*self._work(rounds))

    def _work(self, rounds):
        grants = []
        for _ in range(rounds):
            self.look()
            while lease := self._claim():
                grants.append(lease)
                self.steps[lease] = 0
            for lease, step in self.steps.items():
                if step < len(WAY):
                    self.do(lease, WAY[step])
                    self.steps[lease] += 1
        return grants

    def _claim(self):
        lease = claim_shard(worker="w", host="host 1")
        if lease is not None:
            lease = replace(lease, order=None)  # which would not be a key
            assert lease.epoch > self.epochs.get(lease.shard_id, 0)
            assert lease.shard_id not in self.sent, "what may have sent load is never sent again"
            assert lease.run_id not in self.to_stop
            self.epochs[lease.shard_id] = lease.epoch
        return lease

    @rule(lease=leases, what=st.sampled_from([*WAY, "beat", "crash"]))
    def do(self, lease, what):
        getattr(self, f"_{what}")(lease)

    def _beat(self, lease):
        if heartbeat(lease=lease) is not None:
            self._is_granted(lease)

    def _get_ready(self, lease):
        was_ready = Shard.objects.filter(pk=lease.shard_id, state="ready").exists()
        if mark_ready(lease=lease):
            self._is_granted(lease)
            assert was_ready or lease.run_id not in self.to_stop

    def _begin(self, lease):
        if mark_running(lease=lease):
            self._is_granted(lease)
            assert lease.run_id not in self.to_stop or lease.shard_id in self.sent
            self.sent.add(lease.shard_id)

    def _store(self, lease):
        number = self.n_seconds[lease.run_id, lease.number]
        try:
            n_new = record_seconds(lease=lease, seconds=[second(number)])
        except Refused:
            return
        assert lease.epoch == self.epochs[lease.shard_id]
        assert (n_new, record_seconds(lease=lease, seconds=[second(number)])) == (1, 0)
        self.n_seconds[lease.run_id, lease.number] += 1

    def _finish(self, lease):
        if mark_done(lease=lease, end=end()):
            assert lease.epoch == self.epochs[lease.shard_id]
            assert lease.shard_id in self.sent

    def _crash(self, lease):
        if mark_lost(lease=lease, reason="It crashed."):
            assert lease.epoch == self.epochs[lease.shard_id]

    def _is_granted(self, lease):
        assert lease.epoch == self.epochs[lease.shard_id], "somebody else holds the shard"
        assert (lease.shard_id, lease.epoch) not in self.dead_leases

    # --- what holds after each step --------------------------------------------------------------
    @invariant()
    def a_target_and_a_campaign_have_one_active_run(self):
        active = Run.objects.filter(state__in=ACTIVE_STATES).order_by()
        for field in ("target", "campaign"):
            assert not active.values(field).annotate(n=Count("pk")).filter(n__gt=1).exists()

    @invariant()
    def no_more_slots_are_taken_than_there_are(self):
        under_way = Shard.objects.filter(run__state__in=ACTIVE_STATES)
        assert under_way.exclude(state__in=OVER).count() <= SLOTS

    @invariant()
    def nothing_that_was_stored_is_gone(self):
        rows = ShardSecond.objects.values_list("run", "shard").annotate(n=Count("pk")).order_by()
        assert {(run, shard): n for run, shard, n in rows} == +self.n_seconds

    # --- the end ---------------------------------------------------------------------------------
    def _let_all_end(self):
        """Some go on to their end; of the others nobody is heard any more."""
        self._work(2 * len(WAY))
        for place in range(MOST_CAMPAIGNS):
            self._stop(place)
        for _ in range(6):
            Shard.objects.exclude(lease_until=None).update(lease_until=db_now(-1))
            self.grow_old(200)
            self.look()
        assert not Run.objects.exclude(state="done").exists()
        assert not Campaign.objects.filter(finished_at=None).exists()
        for run in Run.objects.all():
            self._ends_as_it_should(run)

    def _ends_as_it_should(self, run):
        moves = RunEvent.objects.filter(run=run, data__has_key="from", kind__startswith="run_")
        path = [(e.data["from"], e.kind.removeprefix("run_")) for e in moves.order_by("pk")]
        assert set(path) <= RUN_MOVES
        assert all(before[1] == after[0] for before, after in pairwise(path))
        states = set(run.shards.values_list("state", flat=True))
        assert states <= OVER
        if run.outcome == Outcome.COMPLETE:
            assert (states, run.stop_requested) == ({"done"}, None)
        if run.outcome == Outcome.FAILED:
            assert not run.seconds.exists()


def test_promises_hold_in_any_order_of_events(settings):
    settings.LEASE_S = 3600  # so that none ends by itself
    how = Settings(max_examples=16, stateful_step_count=15, deadline=None, derandomize=True)
    run_state_machine_as_test(Engine, settings=how)

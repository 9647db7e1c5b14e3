"""Scenes for the tests of the engine: campaigns of a size, hosts, runs in a state."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.core.database import db_now
from campaigns.core.permissions import Actor
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.shards import claim_shard, mark_ready, mark_running, record_seconds
from campaigns.models import Campaign, Run
from campaigns.operations.services.load_control import announce_host
from tests.factories import make_endpoint, make_plan, make_target
from tests.values import make_second
from tests.waiting import eventually


def owner_of(project) -> Actor:
    return Actor(user=project.memberships.get(role="owner").user)


def draft(project, n_tests: int = 1, target=None, **fields) -> Campaign:
    target = target or make_target(project)
    endpoint = fields.pop("endpoint", None) or make_endpoint(target, host=machine(target.pk))
    cells = [CampaignCell(make_plan(project), endpoint, "new") for _ in range(n_tests)]
    values = {"name": "study", "repeats": 1, "order": "listed", "pause_s": 0, **fields}
    return create_campaign(by=owner_of(project), project=project, cells=cells, **values)


def create(by, project, **fields) -> Campaign:
    """A draft of one test by this actor, where the test does not say otherwise."""
    values = {
        "name": "study",
        "cells": [CampaignCell(make_plan(project), make_endpoint(make_target(project)), "new")],
        "repeats": 2,
        "order": "blocks",
        "pause_s": 1,
        **fields,
    }
    return create_campaign(by=by, project=project, **values)


def machine(number: int) -> str:
    """Another address for each number: targets on one address are not measured side by side."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def started(project, **fields) -> Campaign:
    """Without its first requests, which tests/probes/test_first_requests.py is about."""
    campaign = draft(project, **fields)
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    return campaign


def host(slots: int, name: str = "host 1", use: dict | None = None) -> None:
    announce_host(name=name, slots=slots, facts={}, use=use)


def others_use(share: float) -> dict:
    """What a host with two cores announces where one program uses so much of its CPU."""
    shares = {"others_share": share, "steal_share": 0.0, "throttled_share": 0.0}
    programs = [{"name": "python3 report.py", "cores": 2 * share}]
    return {"cores": 2, "load_1min": 3.5, **shares, "programs": programs}


def preparing(project, n_shards: int = 1) -> Run:
    host(slots=64)
    campaign = started(project, injectors=n_shards, endpoint=None)
    dispatch.admit_runs()
    run = campaign.runs.get()
    assert run.state == "preparing"
    return run


def claim(run: Run, name: str = "host 1") -> list:
    """Leases of all shards of a run, claimed by one host."""
    return [claim_shard(worker=f"w{n}", host=name) for n in range(run.n_shards)]


def armed(project, n_shards: int = 1):
    """A run whose shards are all ready, and their leases."""
    run = preparing(project, n_shards)
    leases = claim(run)
    assert all(mark_ready(lease=lease) for lease in leases)
    dispatch.move_runs()
    run.refresh_from_db()
    assert run.state == "armed"
    return run, leases


def running(project, n_shards: int = 1):
    run, leases = armed(project, n_shards)
    assert all(mark_running(lease=lease) for lease in leases)
    dispatch.move_runs()
    run.refresh_from_db()
    assert run.state == "running"
    return run, leases


def measuring(project):
    """A run that sends, of which a second is stored, and its only lease."""
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    return run, lease


def second(number: int, **fields) -> dict:
    return make_second(number, [1000, 2000], **fields).to_json()


def end(outcome: str = "complete") -> InjectorEnd:
    """What an injector says; one that was stopped repeats the word that stopped it."""
    reason = "" if outcome == "complete" else "user"
    return InjectorEnd(outcome=outcome, reason=reason)


def age(run: Run, seconds: float) -> None:
    """Let the run's state be so old. The trigger looks at the state only."""
    Run.objects.filter(pk=run.pk).update(state_at=db_now(-seconds))
    run.refresh_from_db()


def expire(run: Run) -> None:
    run.shards.exclude(lease_until=None).update(lease_until=db_now(-1))


def finish(run, ended_ago_s: float) -> None:
    Run.objects.filter(pk=run.pk).update(state="done", outcome="complete")
    Run.objects.filter(pk=run.pk).update(ended_at=db_now(-ended_ago_s))


def tick() -> None:
    dispatch.move_runs()
    dispatch.age_runs()
    dispatch.move_runs()
    endings.finalise_runs()
    dispatch.reap_shards()


def settle(run) -> Run:
    for _ in range(4):
        tick()
    run.refresh_from_db()
    return run


def at_once(*acts: Callable) -> list:
    """What the acts return, each done in a thread and on a connection of its own, all together."""
    barrier = threading.Barrier(len(acts))

    def work(act: Callable):
        barrier.wait()
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        return [each.result(60) for each in [threads.submit(work, act) for act in acts]]


def one_behind_the_other(first: Callable, second: Callable[[], Any]) -> list:
    """What both return. `first` calls what it is given once it has its locks: only then does
    `second` begin, and it goes on when that waits for them or has ended."""
    begins, has_ended = threading.Event(), threading.Event()

    def hold() -> None:
        if not begins.is_set():
            begins.set()
            eventually(lambda: has_ended.is_set() or _is_waited_for(), 10, "the other waits")

    def follow() -> Any:
        assert begins.wait(10), "the first never held its locks"
        try:
            return second()
        finally:
            has_ended.set()

    return at_once(partial(first, hold), follow)


def _is_waited_for() -> bool:
    """Whether somebody waits for a lock that this connection holds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
        )
        return cursor.fetchone()[0]


def states(campaign) -> list[str]:
    """Of its runs, in their order."""
    return list(campaign.runs.order_by("position").values_list("state", flat=True))


def statements(do: Callable[[], object]) -> int:
    """How many it takes."""
    with CaptureQueriesContext(connection) as queries:
        do()
    return len(queries)

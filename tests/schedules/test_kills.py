"""Dispatchers that are killed while many schedules are due start or refuse each of them once."""

import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from campaigns.core.permissions import Role
from campaigns.models import Campaign, Firing, Membership, Schedule
from tests.engine.scenes import draft
from tests.factories import make_membership, make_project
from tests.faults.processes import Process, database_url
from tests.schedules.test_services import nightly
from tests.waiting import eventually

N_PROJECTS, N_SCHEDULES = 10, 300  # docs/performance.md has the time of 1,000


@pytest.fixture
def dispatcher(tmp_path):
    """Starts one more; all end with the test."""
    processes = []

    def start(waits: bool = True) -> Process:
        name = f"dispatcher-{len(processes)}"
        pulse = tmp_path / f"{name}.pulse"
        places = {"DATABASE_URL": database_url(), "REDIS_URL": settings.REDIS_URL}
        places["BENCHSITE_PULSE"] = str(pulse)
        processes.append(Process(name, ["workers.dispatcher"], tmp_path, **places))
        if waits:
            eventually(pulse.exists, 60, "the dispatcher begins")
        return processes[-1]

    yield start
    for process in processes:
        process.end()


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_killed_dispatchers_start_or_refuse_each_schedule_once(as_alice, as_bob, dispatcher):
    for _ in range(N_PROJECTS):
        project = make_project(owner=as_alice.user)
        make_membership(project, as_bob.user, Role.EDITOR)
        first = nightly(project, as_alice, template=draft(project, name="Template"))
        for number in range(1, N_SCHEDULES // N_PROJECTS):
            first.pk, first.owner = None, as_bob.user if number % 3 else as_alice.user
            first.save()
    Membership.objects.filter(user=as_bob.user).update(role="viewer")
    Schedule.objects.update(next_at=timezone.now() + timedelta(days=1), cron="0 2 1 1 *")
    pair = [dispatcher(), dispatcher()]
    began = time.monotonic()
    Schedule.objects.update(next_at=timezone.now() - timedelta(minutes=1))
    for process in pair:
        n_before = Firing.objects.count()
        eventually(lambda n=n_before: Firing.objects.count() > n, 60, "a schedule fires")
        process.kill()
        dispatcher(waits=False)
    assert Firing.objects.count() < N_SCHEDULES
    eventually(lambda: Firing.objects.count() >= N_SCHEDULES, 120, "all schedules fire")
    print(f"{N_SCHEDULES} schedules took {time.monotonic() - began:.1f} s")
    times = Schedule.objects.annotate(n=Count("firings"), n_started=Count("firings__campaign"))
    outcomes = set(times.values_list("owner__username", "n", "n_started"))
    assert outcomes == {("alice", 1, 1), ("bob", 1, 0)}
    n_started = Schedule.objects.filter(owner=as_alice.user).count()
    assert Campaign.objects.filter(name="Nightly").count() == n_started
    assert not Schedule.objects.filter(next_at__lte=timezone.now()).exists()

"""Dispatchers that are killed while many schedules are due start or refuse each of them once."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from campaigns.models import Campaign, Firing, Membership, Schedule
from campaigns.permissions import Role
from tests.factories import make_membership, make_project
from tests.faults.processes import Process, database_url
from tests.schedules.test_services import nightly
from tests.services.engine import draft
from tests.waiting import eventually

N_SCHEDULES = 30


@pytest.fixture
def dispatcher(tmp_path):
    """Starts one more; all end with the test."""
    processes = []

    def start() -> Process:
        urls = {"DATABASE_URL": database_url(), "REDIS_URL": settings.REDIS_URL}
        name = f"dispatcher-{len(processes)}"
        processes.append(Process(name, ["workers.dispatcher"], tmp_path, **urls))
        return processes[-1]

    yield start
    for process in processes:
        process.end()


@pytest.mark.django_db(transaction=True)
def test_killed_dispatchers_start_or_refuse_each_schedule_once(as_alice, as_bob, dispatcher):
    for _ in range(2):
        project = make_project(owner=as_alice.user)
        make_membership(project, as_bob.user, Role.EDITOR)
        template = draft(project, name="Template")
        for number in range(N_SCHEDULES // 2):
            by = as_bob if number % 3 else as_alice
            nightly(project, by, template=template)
    Membership.objects.filter(user=as_bob.user).update(role="viewer")
    pair = [dispatcher(), dispatcher()]
    now = timezone.now()
    Schedule.objects.update(next_at=now - timedelta(minutes=1), cron="0 2 1 1 *")
    for killed in pair:
        n_before = Firing.objects.count()
        eventually(lambda n=n_before: Firing.objects.count() > n, 60, "a schedule fires")
        killed.kill()
    n_at_kill = Firing.objects.count()
    assert n_at_kill < N_SCHEDULES
    dispatcher()
    eventually(lambda: Firing.objects.count() >= N_SCHEDULES, 120, "all schedules fire")
    times = Schedule.objects.annotate(n=Count("firings"), n_started=Count("firings__campaign"))
    outcomes = set(times.values_list("owner__username", "n", "n_started"))
    assert outcomes == {("alice", 1, 1), ("bob", 1, 0)}
    assert Campaign.objects.filter(name="Nightly").count() == N_SCHEDULES // 3
    assert not Schedule.objects.filter(next_at__lte=timezone.now()).exists()

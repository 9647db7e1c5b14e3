import subprocess
import sys
from datetime import timedelta

import pytest
from celery import current_app
from celery.signals import worker_before_create_process
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone

from campaigns.models import InjectorHost, KeptPage, Probe, Run, Shard
from campaigns.services.caps import measure_use
from campaigns.services.shards import claim_shard
from tests.factories import make_campaign, make_endpoint, make_run, make_target, make_test
from tests.queries.measured import measure
from tests.services.engine import at_once, host, preparing
from tests.workers.open_files import all_files_open
from workers import tasks
from workers.database import drop_connection, first_line_of, use_own_connection
from workers.file_reserve import FileReserve
from workers.tasks import hosts, inject
from workers.tasks.periodic import delete_old_rows, remove_seconds


def test_a_worker_finds_every_task_by_its_name():
    assert set(tasks.__all__) >= {"inject", "periodic", "checks"}
    ours = {name for name in current_app.tasks if name.startswith("workers.")}
    names = ("exporter", "gists", "inject", "housekeeping", "ownership", "pages")
    assert ours == {f"workers.{each}" for each in (*names, "retention", "so_far")}


def test_a_worker_that_starts_loads_no_page():
    """Each one would take half a second more of CPU, and more memory."""
    start = (
        "import sys; from benchsite.celery import app; app.loader.import_default_modules();"
        "sys.exit('campaigns.urls' in sys.modules or 'workers.tasks' not in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", start], check=True)


def test_what_a_worker_has_loaded_is_left_alone_by_the_collector_of_each_child(monkeypatch):
    """Twelve children so share it; without that they took 720 MB instead of 275."""
    frozen = []
    monkeypatch.setattr(hosts.gc, "freeze", lambda: frozen.append("all so far"))
    worker_before_create_process.send(sender=None)
    assert frozen == ["all so far"]


@pytest.mark.django_db
def test_a_worker_whose_clock_is_wrong_removes_no_seconds(project, monkeypatch):
    run = make_run(make_test(make_campaign(project)))
    measure(run, 2000)
    measure_use(run)
    there = timezone.now() + timedelta(days=60)
    monkeypatch.setattr(timezone, "now", lambda: there)
    remove_seconds()
    assert run.seconds.exists()


@pytest.mark.django_db(transaction=True)
def test_the_doorbell_does_one_waiting_shard(project, settings, monkeypatch):
    settings.INJECTOR_NAME = "bench-7"
    preparing(project)
    monkeypatch.setattr(inject, "launch_one", claim_shard)
    inject.inject()
    assert Shard.objects.get().host == "bench-7"
    inject.inject()
    assert Run.objects.count() == 1


def test_a_host_is_called_after_its_machine_where_nobody_names_it(settings):
    settings.INJECTOR_NAME = ""
    assert hosts.host_name()


def test_a_host_tells_what_it_is():
    facts = hosts.host_facts()
    assert facts["cores"] >= facts["usable_cores"] >= 1
    assert facts["memory_bytes"] > 2**20
    assert facts["local_ports"]


@pytest.mark.django_db(transaction=True)
def test_a_worker_at_its_limit_of_open_files_still_announces_its_host():
    def announce():
        use_own_connection()
        reserve = FileReserve()
        with all_files_open():
            with pytest.raises(OperationalError) as refused:
                host(slots=1)
            why = first_line_of(refused.value)
            drop_connection()
            with reserve.free():
                host(slots=1)
                drop_connection()
        return why

    (why,) = at_once(announce)
    assert "ulimit" in why
    assert InjectorHost.objects.exists()


def test_keeping_house_deletes_what_is_old_and_nothing_else(project):
    long_ago = timezone.now() - timedelta(days=31)
    for days in (-1, 1):
        Session.objects.create(
            session_key=f"s{days}", expire_date=timezone.now() + timedelta(days=days)
        )
    endpoint = make_endpoint(make_target(project))
    old, new = (Probe.objects.create(endpoint=endpoint, request={}) for _ in range(2))
    Probe.objects.filter(pk=old.pk).update(requested_at=long_ago)
    campaign = make_campaign(project)
    for key, kept_at in (("old", long_ago), ("new", timezone.now())):
        KeptPage.objects.create(campaign=campaign, key=key, content=b"", kept_at=kept_at)
    host(slots=1, name="lost")
    InjectorHost.objects.update(seen_at=long_ago)
    host(slots=1, name="here")
    delete_old_rows()
    assert [session.session_key for session in Session.objects.all()] == ["s1"]
    assert list(Probe.objects.all()) == [new]
    assert [page.key for page in KeptPage.objects.all()] == ["new"]
    assert InjectorHost.objects.get().name == "here"

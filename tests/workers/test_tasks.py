"""A Celery worker: its tasks, when they are due, its pulse, and how it reaches Redis again."""

import errno
import subprocess
import sys
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from celery import current_app
from celery.bootsteps import CLOSE
from celery.signals import worker_before_create_process
from celery.utils.imports import symbol_by_name
from celery.worker.consumer import Consumer
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import ResponseError

from campaigns.core import queue
from campaigns.engine.services.shards import claim_shard
from campaigns.models import InjectorHost, Probe, Run, Shard
from campaigns.operations.services.caps import measure_use
from tests.engine.scenes import at_once, host, preparing
from tests.factories import make_campaign, make_endpoint, make_run, make_target, make_test
from tests.measured import measure
from tests.workers.open_files import all_files_open
from workers import celery_worker, tasks
from workers.celery_worker import PatientConsumer, WorkerPulse, touch_pulse
from workers.database import FileReserve, drop_connection, first_line_of, use_own_connection
from workers.side_threads import PERIODIC_TASKS_S, MessagesThread
from workers.tasks import delete_old_rows, remove_seconds

pytestmark = pytest.mark.django_db


def test_a_worker_finds_every_task_by_its_name():
    ours = {name for name in current_app.tasks if name.startswith("workers.")}
    names = ("exporter", "inject", "housekeeping", "ownership", "results", "schedules")
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
    calls = []
    monkeypatch.setattr(tasks.gc, "freeze", lambda: calls.append("all so far"))
    worker_before_create_process.send(sender=None)
    assert calls == ["all so far"]


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
    monkeypatch.setattr(tasks, "launch_one", claim_shard)
    tasks.inject()
    assert Shard.objects.get().host == "bench-7"
    tasks.inject()
    assert Run.objects.count() == 1


def test_a_host_is_called_after_its_machine_where_nobody_names_it(settings):
    settings.INJECTOR_NAME = ""
    assert tasks.host_name()


def test_a_host_tells_what_it_is():
    facts = tasks.host_facts()
    assert facts["cores"] >= facts["usable_cores"] >= 1
    assert facts["memory_bytes"] > 2**20
    assert facts["local_ports"]


@pytest.mark.django_db(transaction=True)
def test_a_worker_at_its_limit_of_open_files_still_announces_its_host():
    def announce():
        use_own_connection()
        reserve = FileReserve()
        with all_files_open():
            with pytest.raises(OperationalError) as refusal:
                host(slots=1)
            why = first_line_of(refusal.value)
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
    host(slots=1, name="lost")
    InjectorHost.objects.update(seen_at=long_ago)
    host(slots=1, name="here")
    delete_old_rows()
    assert [session.session_key for session in Session.objects.all()] == ["s1"]
    assert list(Probe.objects.all()) == [new]
    assert InjectorHost.objects.get().name == "here"


HOUR_S = 3600


class Broker:
    def __init__(self):
        self.is_away = False
        self.messages: list[tuple[str, float]] = []

    def send(self, task, *, expires, **_):
        if self.is_away:
            raise BrokerError("frozen")
        self.messages.append((task, expires))

    def take(self) -> list[str]:
        tasks = [task for task, _ in self.messages]
        self.messages.clear()
        return tasks


@pytest.fixture
def broker(monkeypatch):
    broker = Broker()
    monkeypatch.setattr(current_app, "send_task", broker.send)
    return broker


@pytest.fixture
def now_s():
    return [500.0]


@pytest.fixture
def thread(now_s):
    return MessagesThread(threading.Event(), is_active=lambda: True, clock=lambda: now_s[0])


def test_every_task_exists_and_each_is_due_when_a_dispatcher_takes_over(thread, broker):
    thread.act()
    assert set(broker.take()) == set(PERIODIC_TASKS_S) <= set(current_app.tasks)


def test_each_is_sent_once_in_its_interval(thread, broker, now_s):
    n_sent = dict.fromkeys(PERIODIC_TASKS_S, 0)
    for _ in range(2 * HOUR_S // 15):
        thread.act()
        now_s[0] += 15
        for task in broker.take():
            n_sent[task] += 1
    assert n_sent == {task: 2 * HOUR_S / every_s for task, every_s in PERIODIC_TASKS_S.items()}


def test_what_a_frozen_broker_did_not_take_is_sent_once_when_it_is_back(thread, broker, now_s):
    broker.is_away = True
    for _ in range(3):
        thread.act()
        now_s[0] += HOUR_S
    broker.is_away = False
    thread.act()
    thread.act()
    assert sorted(broker.take()) == sorted(PERIODIC_TASKS_S)


def test_a_message_expires_when_the_next_is_due(thread, broker):
    thread.act()
    assert dict(broker.messages) == PERIODIC_TASKS_S
    assert PERIODIC_TASKS_S[queue.SO_FAR] == 30


class Timer:
    """The loop's, which turns by hand."""

    def call_repeatedly(self, every_s, act):
        self.turn = act


@pytest.fixture
def file(tmp_path, settings):
    settings.PULSE_FILE = str(tmp_path / "pulse")
    return tmp_path / "pulse"


@pytest.fixture
def worker():
    return SimpleNamespace(timer=Timer(), consumer=SimpleNamespace(connection="a connection"))


@pytest.fixture
def step(worker, monkeypatch):
    monkeypatch.setattr(celery_worker, "PULSE_EVERY_S", 0.01)
    step = WorkerPulse(worker)
    step.start(worker)
    yield step
    step.stop(worker)


def is_touched(file, within_s: float) -> bool:
    file.unlink(missing_ok=True)
    never = threading.Event()
    for _ in range(int(within_s / 0.01)):
        if file.exists():
            return True
        never.wait(0.01)
    return False


def test_a_turn_of_the_loop_touches_the_file(file, worker, step):
    worker.timer.turn()
    assert file.exists()


def test_a_loop_that_hangs_with_a_connection_does_not(file, step):
    assert not is_touched(file, 0.2)


def test_without_a_connection_it_is_not_the_loop_that_hangs(file, worker, step):
    worker.consumer.connection = None
    assert is_touched(file, 10)


def test_a_worker_that_has_not_begun_has_none(file, worker, step):
    worker.consumer = None
    assert is_touched(file, 10), "and it begins by connecting"


def test_nothing_is_touched_where_nobody_looks(tmp_path, settings):
    settings.PULSE_FILE = ""
    touch_pulse()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_gone_ends_nothing(tmp_path, settings):
    settings.PULSE_FILE = str(tmp_path / "gone" / "pulse")
    touch_pulse()
    assert not (tmp_path / "gone").exists()


class Step:
    """Of the start of a connection: fails with an error a few times, then the loop is over."""

    alias = "connecting"

    def __init__(self, error: Exception, times: int):
        self.error, self.left, self.n_starts = error, times, 0

    def start(self, consumer) -> None:
        self.n_starts += 1
        if self.left:
            self.left -= 1
            raise self.error
        consumer.blueprint.state = CLOSE


@pytest.fixture
def waited_s(monkeypatch):
    """How long each wait was; none takes any time."""
    waits: list[float] = []
    monkeypatch.setattr(celery_worker, "sleep", waits.append)
    return waits


def start(kind: type[Consumer], step: Step) -> None:
    pool = SimpleNamespace(num_processes=1, is_green=True, flush=list)
    worker = SimpleNamespace(use_eventloop=False, semaphore=None)
    consumer = kind(print, app=current_app, pool=pool, controller=worker)
    consumer.steps = [step]
    consumer.start()


def of_the_broker_s_library() -> BrokerError:
    """Where it cannot even make the epoll for a connection."""
    error = BrokerError("[Errno 24] Too many open files")
    error.__cause__ = no_file()
    return error


def no_file() -> OSError:
    return OSError(errno.EMFILE, "Too many open files")


def full_disk() -> ResponseError:
    return ResponseError("MISCONF Errors writing to the AOF file: No space left on device")


@pytest.mark.parametrize("error", [no_file(), of_the_broker_s_library(), full_disk()])
def test_it_tries_again_until_a_file_can_be_opened_and_redis_takes_something(error, waited_s):
    step = Step(error, times=3)
    start(PatientConsumer, step)
    assert step.n_starts == 4
    assert waited_s == [celery_worker.RETRY_S] * 3


def test_another_error_of_the_broker_s_library_is_no_reason_to_wait(waited_s):
    with pytest.raises(BrokerError):
        start(PatientConsumer, Step(BrokerError("WRONGPASS"), times=1))
    assert not waited_s


def test_another_error_is_celerys_to_answer(waited_s):
    step = Step(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), times=1)
    start(PatientConsumer, step)
    assert step.n_starts == 2
    assert not waited_s


def test_every_worker_of_ours_is_one():
    assert symbol_by_name(current_app.conf.worker_consumer) is PatientConsumer

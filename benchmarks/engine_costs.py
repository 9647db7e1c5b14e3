"""What the dispatcher and the launchers cost with much to do and with nothing: `python -m
benchmarks.engine_costs` prints lines of JSON. The database is the one that the environment names,
and is empty.
"""

import gc
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from statistics import median

import django

from benchmarks.figures import GoalRow

QUEUED, PREPARING, HOSTS, HISTORY = 1000, 400, 100, 100_000
FIRST = 1_000_000  # the numbers of copies
TICKS, TICKS_PER_S, TIDY_EVERY = 20, 5, 10
LAUNCHERS, SHARDS = 100, 400
SLOTS, DOORBELLS, STARTED_WITHIN_S = 12, 60, 60
# The same worker without what lets its children share memory.
_UNSHARED = (
    "import gc, runpy; gc.freeze = lambda: None; runpy.run_module('celery', None, '__main__')"
)


def main() -> Iterator[GoalRow]:
    from django.core.management import call_command

    from tests.factories import make_project
    from workers.database import use_own_connection

    use_own_connection()
    call_command("migrate", verbosity=0)
    yield _claims(make_project())
    yield from _ticks(make_project())
    yield from _idle()
    yield from _launchers()


# --- claims --------------------------------------------------------------------------------------
def _claims(project) -> GoalRow:
    """Each launcher is a process with a connection, and claims until nothing is left."""
    from django.db import connection

    from campaigns.domain.lifecycle import RunState
    from campaigns.models import Shard
    from tests.queues import make_queue

    make_queue(project, SHARDS, state=RunState.PREPARING)
    connection.close()
    (ready, at_work), (told, tell) = os.pipe(), os.pipe()
    gc.freeze()
    children = [_fork(lambda number=n: _claim_all(number, ready, tell)) for n in range(LAUNCHERS)]
    os.close(tell)
    time.sleep(LAUNCHERS / 20)  # until all have connected
    began = time.monotonic()
    os.write(at_work, b"." * LAUNCHERS)
    with open(told) as lines:
        counts = [json.loads(line) for line in lines]
    took_s = time.monotonic() - began
    n_failed = sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in children)
    n_claimed = Shard.objects.filter(state="claimed").count()
    said = f"{n_claimed} claimed in {took_s:.1f} s, {n_failed} errors"
    is_met = n_claimed == sum(counts) == SHARDS and took_s <= 3 and not n_failed
    return GoalRow(f"{LAUNCHERS} launchers, {SHARDS} shards", said, "all in 3 s, 0 errors", is_met)


def _fork(act: Callable[[], None]) -> int:
    if pid := os.fork():
        return pid
    status = 1
    try:
        act()
        status = 0
    finally:
        os._exit(status)


def _claim_all(number: int, ready: int, tell: int) -> None:
    from django.db import connection

    from campaigns.services.shards import claim_shard

    connection.ensure_connection()
    os.read(ready, 1)
    n_claimed = 0
    while claim_shard(worker=f"w{number}", host=f"host {number % 10}"):
        n_claimed += 1
    os.write(tell, f"{n_claimed}\n".encode())


# --- the dispatcher ------------------------------------------------------------------------------
def _ticks(project) -> Iterator[GoalRow]:
    from campaigns.domain.lifecycle import RunState
    from campaigns.models import Campaign
    from tests.queues import make_queue
    from tests.services.engine import host
    from workers.dispatching import Dispatcher

    Campaign.objects.all().delete()
    project.caps = {"RUNS": 0}
    project.save()
    make_queue(project, PREPARING, state=RunState.PREPARING)
    make_queue(project, QUEUED)
    tick = Dispatcher(threading.Event()).tick
    for slots, name in ((4, "tick"), (8, "  of which 20 begin")):
        for number in range(HOSTS):
            host(slots=slots, name=f"host {number}")
        tick()
        costs = [_cost(tick) for _ in range(TICKS - 1)]
        took_ms, cpu_ms = (median(each) for each in list(zip(*costs, strict=True))[:2])
        n = max(n for *_, n in costs)  # of one with the rules that can wait
        said = f"{took_ms:.0f} ms ({cpu_ms:.0f} of CPU, database included), ≤ {n} statements"
        if slots == 4:
            name = f"tick: {QUEUED:,} queued, {PREPARING} preparing, {HOSTS} hosts"
            yield GoalRow(name, said, "≤ 100 ms, ≤ 25", took_ms <= 100 and n <= 25)
        else:
            yield GoalRow(name, said)


def _idle() -> Iterator[GoalRow]:
    """As the loop does it: five ticks a second, after every tenth the rules that can wait, and what
    ends runs as often."""
    from campaigns.models import Campaign
    from campaigns.queries.under_way import under_way
    from workers.dispatching import Dispatcher
    from workers.ending import EndingsThread

    Campaign.objects.all().delete()
    _make_history()
    ended = threading.Event()
    dispatcher, endings = Dispatcher(ended), EndingsThread(ended, is_active=bool)

    def two_seconds() -> None:
        for _ in range(TIDY_EVERY):
            dispatcher.tick()
        dispatcher.tidy(under_way())
        endings.act()

    two_seconds()
    shares = [_cost(two_seconds)[1] / (1e3 * TIDY_EVERY / TICKS_PER_S) for _ in range(TICKS)]
    share = median(shares)
    name = f"idle with {HISTORY:,} finished runs"
    yield GoalRow(name, f"{share:.1%} of a core, database included", "≤ 1 %", share <= 0.01)


def _make_history() -> None:
    """Copies of a finished run, each of a campaign of its own."""
    from django.db import connection
    from django.utils import timezone

    from campaigns.models import Campaign, Run
    from tests.factories import make_project
    from tests.queues import make_queue

    run, now = make_queue(make_project(), 1)[0], timezone.now()
    ended = {"state": "done", "outcome": "complete", "t0": now, "ended_at": now}
    Run.objects.filter(pk=run.pk).update(**ended)
    Campaign.objects.update(finished_at=now)
    run.shards.update(state="cancelled")
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        connection.connection.answer_within_s = None
        _copy(cursor, run.campaign, "id")
        _copy(cursor, run.test, "id", "campaign_id")
        _copy(cursor, run, "id", "campaign_id", "test_id")
        for row in (run.shards.get(), *run.events.all()):
            _copy(cursor, row, "run_id")
        cursor.execute("ANALYZE")


def _copy(cursor, row, *numbered: str) -> None:
    """Many of the same row; these columns get the number of the copy, its own key a new one."""
    from django.db import connection

    quoted = connection.ops.quote_name
    columns = [each.column for each in row._meta.concrete_fields]
    if "id" not in numbered:
        columns.remove("id")
    values = [f"{FIRST} + copy" if each in numbered else quoted(each) for each in columns]
    table, into = row._meta.db_table, ", ".join(map(quoted, columns))
    cursor.execute(
        f"INSERT INTO {table} ({into}) SELECT {', '.join(values)} "  # noqa: S608 (our own names)
        f"FROM {table}, generate_series(1, {HISTORY - 1}) copy WHERE id = {row.pk}"
    )


def _cost(act: Callable[[], object]) -> tuple[float, float, int]:
    """By the clock, ms; CPU of this process and of its database session, ms; statements."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    connection.ensure_connection()
    session = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    before_ms, cpu_s, began = _ran_ms(session), time.process_time(), time.perf_counter()
    with CaptureQueriesContext(connection) as seen:
        act()
    took_ms = 1e3 * (time.perf_counter() - began)
    cpu_ms = 1e3 * (time.process_time() - cpu_s) + _ran_ms(session) - before_ms
    return took_ms, cpu_ms, len(seen)


def _ran_ms(schedstat: Path) -> float:
    return int(schedstat.read_text().split()[0]) / 1e6


# --- a host's launchers --------------------------------------------------------------------------
def _launchers() -> Iterator[GoalRow]:
    """A worker as `make run` starts it, after its children have heard some doorbells for nothing;
    once more without what lets them share memory."""
    from local.programs import programs

    given = programs(dict(os.environ), gives_way=False)
    command = next(each.command for each in given if each.name == "launcher")
    for is_shared in (True, False):
        start = command if is_shared else (command[0], "-c", _UNSHARED, *command[3:])
        pss_mb, started_s = _host_of(start)
        said = f"{pss_mb:.0f} MB PSS, announced after {started_s:.1f} s"
        if is_shared:
            is_met = pss_mb <= 300 and started_s <= 3
            yield GoalRow(f"{SLOTS} idle slots of a host", said, "≤ 300 MB, ≤ 3 s", is_met)
        else:
            yield GoalRow("  with nothing shared after the fork", said)


def _host_of(command: Sequence[str]) -> tuple[float, float]:
    from campaigns import queue
    from campaigns.models import InjectorHost

    InjectorHost.objects.all().delete()
    began = time.monotonic()
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not InjectorHost.objects.exists():
            if time.monotonic() - began > STARTED_WITHIN_S:
                raise RuntimeError("The worker has not announced its host.")
            time.sleep(0.05)
        started_s = time.monotonic() - began
        for _ in range(DOORBELLS):
            queue.send(queue.INJECT, [])
        time.sleep(DOORBELLS / 10)
        return pss_mb(worker.pid), started_s
    finally:
        worker.send_signal(signal.SIGQUIT)
        worker.wait(STARTED_WITHIN_S)


def pss_mb(parent: int) -> float:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    tables = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (parent, *children))
    sizes = (line.split()[1] for text in tables for line in text.splitlines() if line[:4] == "Pss:")
    return sum(map(int, sizes)) / 1e3


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    for line in main():
        print(json.dumps(astuple(line)), flush=True)

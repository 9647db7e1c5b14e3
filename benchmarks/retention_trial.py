"""What `benchmarks.retention` measures, as lines of JSON. The database is the one that the
environment names, and is empty.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta

import django

from benchmarks.faults.report import quantile
from benchmarks.figures import GoalRow

GOAL_MS = 100.0
# Of each run: a minute of it is as many rows as a statement may delete.
STEPS, SECONDS = 8, 450
SAMPLES = 60
PER_S = 720  # requests
WRITE_EVERY_S, SAMPLE_EVERY_S = 0.1, 0.005
BEFORE_S = 20.0
PRUNER = "pruner"
SHOWN = 32  # characters of a statement
_COPY = """
INSERT INTO campaigns_shardsecond (run_id, second, step, shard, epoch, packed)
SELECT %s, second, step, 0, 1, packed
FROM generate_series(0, %s) second CROSS JOIN generate_series(0, %s) step
JOIN sample ON sample.number = (second * 7 + step) %% %s
"""
# In ms, with words: the age of the pruner's transaction, in which statement it is and what that
# waits for; and how long anybody has waited for a lock, of which kind.
_TRANSACTION = """
SELECT extract(epoch FROM clock_timestamp() - xact_start) * 1000,
    concat_ws(', ', left(query, %s), state, wait_event_type || ' ' || wait_event)
FROM pg_stat_activity WHERE application_name = %s AND xact_start IS NOT NULL
"""
_WAIT = """
SELECT extract(epoch FROM clock_timestamp() - waitstart) * 1000,
    concat_ws(' ', mode, locktype, relation::regclass::text)
FROM pg_locks WHERE NOT granted AND waitstart IS NOT NULL ORDER BY waitstart LIMIT 1
"""


@dataclass(slots=True)
class Found:
    """Times in ms. `deletions`: of the pruner's statements that delete; `other`: the longest of its
    other statements, and how that begins; `transaction`, `wait`: the longest, and what was going
    on in it. `before`, `during`: of the writes beside it."""

    deletions: list[float] = field(default_factory=list)
    other: tuple[float, str] = (0.0, "")
    n_rows: int = 0
    took_s: float = 0.0
    cpu_s: float = 0.0
    transaction: tuple[float, str] = (0.0, "")
    wait: tuple[float, str] = (0.0, "")
    before: list[float] = field(default_factory=list)
    during: list[float] = field(default_factory=list)


def lines_of(found: Found) -> Iterator[GoalRow]:
    rate = found.n_rows / found.cpu_s if found.cpu_s else 0.0
    said = f"{found.n_rows:,} rows in {found.took_s:.0f} s, {rate:,.0f} for a second of CPU"
    yield GoalRow("thinned", said)
    yield _within_goal("a statement that deletes", _spread(found.deletions), max(found.deletions))
    other_ms, words = found.other
    yield GoalRow("  any other statement", f"{other_ms:.0f} ms at most: {words}")
    every = f"at most, looked at every {1000 * SAMPLE_EVERY_S:g} ms"
    looked_at = (("its transactions", found.transaction), ("a wait for a lock", found.wait))
    for name, (ms, doing) in looked_at:
        yield _within_goal(name, f"{ms:.0f} ms {every}", ms)
        if doing:
            yield GoalRow("  then", doing)
    yield GoalRow("a second stored before", _spread(found.before))
    yield GoalRow("  meanwhile", _spread(found.during))


def _within_goal(name: str, said: str, ms: float) -> GoalRow:
    return GoalRow(name, said, f"≤ {GOAL_MS:g} ms", ms <= GOAL_MS)


def _spread(times_ms: Sequence[float]) -> str:
    p50, p99 = (quantile(times_ms, share) for share in (0.5, 0.99))
    return f"p50 {p50:.1f}, p99 {p99:.1f}, max {max(times_ms):.1f} ms ({len(times_ms):,})"


# --- the trial -----------------------------------------------------------------------------------
def main(gb: float, minutes: float) -> Iterator[GoalRow]:
    from django.core.management import call_command

    from tests.factories import make_project, make_user
    from workers.database import use_own_connection

    use_own_connection()
    call_command("migrate", verbosity=0)
    project = make_project(owner=make_user("owner"))
    yield _fill(project, gb * 1e9)
    found = Found()
    lease = _lease(project)
    is_over = threading.Event()
    watchers = [
        _in_thread(lambda: _write(lease, found.before, found.during, is_over)),
        _in_thread(lambda: _sample(found, is_over)),
    ]
    time.sleep(BEFORE_S)
    _prune_apart(found, 60 * minutes)
    is_over.set()
    for each in watchers:
        each.join()
    yield from lines_of(found)
    yield GoalRow("what stays", _size_of("campaigns_keptminute"))


def _lease(project):
    """Of a run that is sending."""
    from tests.services.engine import running

    _, (lease,) = running(project)
    return lease


def _in_thread(act: Callable[[], None]) -> threading.Thread:
    from django.db import connection

    from workers.database import use_own_connection

    def work() -> None:
        use_own_connection()
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


# --- old seconds ---------------------------------------------------------------------------------
def _fill(project, n_bytes: float) -> GoalRow:
    from django.db import connection

    from tests.factories import make_campaign, make_test

    test, began, n_runs = make_test(make_campaign(project)), time.monotonic(), 0
    with connection.cursor() as cursor:
        _make_samples(cursor)
        while _bytes_of(cursor, "campaigns_shardsecond") < n_bytes:
            n_runs += 1
            run = _old_run(test, n_runs)
            cursor.execute(_COPY, [run.pk, SECONDS - 1, STEPS - 1, SAMPLES])
        cursor.execute("VACUUM ANALYZE campaigns_shardsecond")
    said = (
        f"{_size_of('campaigns_shardsecond')} in {n_runs:,} runs, {time.monotonic() - began:.0f} s"
    )
    return GoalRow("made", said)


def _make_samples(cursor) -> None:
    """Seconds as our injector makes them: response, service and wait differ, the rest is short."""
    import numpy as np

    from campaigns.domain.measured.packed_second import pack
    from campaigns.domain.measured.snapshot import Second, Timing

    cursor.execute("CREATE TEMPORARY TABLE sample (number int PRIMARY KEY, packed bytea)")
    chance = np.random.default_rng(1)
    vitals = {"cpu_share": 0.2, "hub_lag_max_us": 900, "own_delay_p99_us": 90, "rss_bytes": 4e7}
    counters = {"started": PER_S, "ok": PER_S, "bytes_received": 4000 * PER_S}
    for number in range(SAMPLES):
        wide = {
            name: Timing.of((10_000 * chance.lognormal(0, 0.4, PER_S)).astype(int))
            for name in ("response", "service", "wait")
        }
        short = {
            name: Timing.of((50 * chance.lognormal(0, 0.3, PER_S)).astype(int))
            for name in ("lateness", "own_delay", "send", "receive")
        }
        second = Second(number, 0, counters, {}, {"200": PER_S}, 4, {**wide, **short}, vitals)
        cursor.execute("INSERT INTO sample VALUES (%s, %s)", [number, pack(second.to_json())])


def _old_run(test, repeat: int):
    """One that ended long ago, with its summary, and with what it is known to have stored."""
    from campaigns.models import RunSummary, RunUse
    from tests.factories import make_run

    ended = datetime.now(UTC) - timedelta(days=90)
    run = make_run(test, repeat, state="done", outcome="complete", ended_at=ended)
    RunSummary.objects.create(
        run=run, revision=1, n_seconds=SECONDS * STEPS, digest="", duration_s=SECONDS, total={},
        steps=[], series=[], vitals=[], thresholds=[],
    )  # fmt: skip
    RunUse.objects.create(
        run=run,
        project=test.campaign.project,
        n_seconds=SECONDS * STEPS,
        seconds_bytes=1,
        measured_at=ended,
    )
    return run


def _bytes_of(cursor, table: str) -> int:
    cursor.execute("SELECT pg_total_relation_size(%s)", [table])
    return cursor.fetchone()[0]


def _size_of(table: str) -> str:
    from django.db import connection

    with connection.cursor() as cursor:
        n_bytes = _bytes_of(cursor, table)
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608  ours
        n_rows = cursor.fetchone()[0]
    return f"{n_bytes / 1e9:.2f} GB, {n_rows:,} rows of {n_bytes / max(1, n_rows):,.0f} B"


# --- the pruner, a process of its own ------------------------------------------------------------
def _prune_apart(found: Found, longest_s: float) -> None:
    """Fill in what the pruner says at its end. Raises RuntimeError if it fails."""
    from django.db import connection

    connection.close()  # a child would share it
    began = time.monotonic()
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(told)
            with os.fdopen(tell, "w") as out:
                json.dump(_prune(longest_s), out)
            status = 0
        finally:
            os._exit(status)
    os.close(tell)
    with os.fdopen(told) as said:
        text = said.read()
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise RuntimeError("The pruner failed.")
    found.took_s = time.monotonic() - began
    found.deletions, found.other, found.n_rows, found.cpu_s = json.loads(text)


def _prune(longest_s: float) -> tuple[list[float], tuple[float, str], int, float]:
    """As the worker's task does, but without the rest of its minute: the times of statements, the
    rows that are gone, and the CPU time."""
    from django.db import connection

    from campaigns.services.retention import remove_old_seconds
    from workers.tasks.retention import PAUSE_S

    until, cpu_s, n_rows = time.monotonic() + longest_s, time.process_time(), 0
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = %s", [PRUNER])
    deletions, others = [], [(0.0, "")]

    def time_statement(execute, sql, params, many, context):
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            took_ms = 1000 * (time.perf_counter() - began)
            if sql.startswith("DELETE"):
                deletions.append(took_ms)
            else:
                others.append((took_ms, sql[:SHOWN]))

    with connection.execute_wrapper(time_statement):
        while removed := remove_old_seconds(
            now=datetime.now(UTC),
            is_over=lambda: time.monotonic() > until,
            pause=lambda: time.sleep(PAUSE_S),
        ):
            n_rows += removed
    return deletions, max(others), n_rows, time.process_time() - cpu_s


# --- beside it -----------------------------------------------------------------------------------
def _write(lease, before: list[float], during: list[float], is_over: threading.Event) -> None:
    """Store a second every so often, as a launcher does."""
    from campaigns.services.shards import record_seconds
    from tests.services.engine import second

    began, number = time.monotonic(), 0
    while not is_over.wait(WRITE_EVERY_S):
        asked = time.perf_counter()
        record_seconds(lease=lease, seconds=[second(number)])
        took_ms = 1000 * (time.perf_counter() - asked)
        (before if time.monotonic() - began < BEFORE_S else during).append(took_ms)
        number += 1


def _sample(found: Found, is_over: threading.Event) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        while not is_over.wait(SAMPLE_EVERY_S):
            found.transaction = max(found.transaction, _seen(cursor, _TRANSACTION, SHOWN, PRUNER))
            found.wait = max(found.wait, _seen(cursor, _WAIT))


def _seen(cursor, statement: str, *values: int | str) -> tuple[float, str]:
    cursor.execute(statement, values)
    ms, doing = cursor.fetchone() or (0.0, "")
    return float(ms), doing


if __name__ == "__main__":
    django.setup()
    for row in main(float(sys.argv[1]), float(sys.argv[2])):
        print(json.dumps(astuple(row)), flush=True)

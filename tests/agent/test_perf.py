"""A perf beside the agent: whom it counts and records, when it ends, and what is said where it
cannot."""

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from campaigns.domain.metrics.exporter import METRICS, read_exporter, samples_of
from campaigns.domain.metrics.profiles import EVENTS, LACKS, PerfReading, read_profile
from tests.process_tree import is_alive
from tests.waiting import eventually
from workers import agent as module
from workers.agent import (
    ORDER_S,
    PerfLine,
    PerfRecord,
    PerfStat,
    functions_of,
    process_of,
    text_of,
)

# perf 6.1, of Debian 12: perf stat -x ';' -I 250.
COUNTS = """\
     1.0;2000;msec;task-clock;1000;100.00;;
     1.0;20;;context-switches;1000;100.00;;
     1.0;<not counted>;;cpu-migrations;1000;100.00;;
     1.0;7;;page-faults;1000;100.00;;
     1.0;3306000000;;cycles;830;83.00;;
     1.0;<not counted>;;instructions;0;0.00;;
     1.0;<not supported>;;branches;0;100.00;;
     1.0;5;;branch-misses;1000;100.00;;
"""
FAKE = """#!/bin/sh
echo "$$ $*" >> {folder}/calls
if [ $1 = report ]; then cat {folder}/report; exit 0; fi
if [ $1 = record ]; then {record}; exit 0; fi
n=0
while [ $n -lt {times} ]; do
    n=$((n + 1))
    sed "s/^ *1.0;/     $n.0;/" {folder}/prints
    sleep 0.2
done
exit 1
"""
RECORDS = "trap 'exit 0' INT; while :; do sleep 0.05; done"
REFUSED = "echo 'perf_event_paranoid setting is 2' >&2; exit 255"
# perf report --stdio -F sample,comm,dso,sym -t TAB.
REPORT = """\
#     Samples\tCommand\tShared Object       \tSymbol
 89         \tpython3\tlibpython3.11.so.1.0\t[.] _PyEval_EvalFrameDefault
 20         \tpython3\tlibpython3.11.so.1.0\t[.] gen_iternext
 5          \tnginx  \t[unknown]           \t[.] 0x00007f3bd8a1c2d0
 4          \tnginx  \t[unknown]           \t[.] 0x00007f3bd8a1c2e4
 2          \tpython3\t[kernel.kallsyms]   \t[k] finish_task_switch.isra.0
"""


class Watched:
    """Processes by their numbers."""

    def __init__(self, *pids: int):
        self.names, self.pids = ["nginx"], frozenset(map(str, pids))


@pytest.fixture
def fake(tmp_path) -> Callable[..., str]:
    """Makes a perf that notes its number and arguments, and prints these counts again and again."""

    def make(prints: str = COUNTS, *, times: int = 300, record: str = RECORDS) -> str:
        (tmp_path / "prints").write_text(prints)
        (tmp_path / "report").write_text("" if record == REFUSED else REPORT)
        program = tmp_path / "perf"
        program.write_text(FAKE.format(folder=tmp_path, times=times, record=record))
        program.chmod(0o755)
        return str(program)

    return make


@pytest.fixture
def calls(tmp_path) -> Callable[[], list[tuple[int, str]]]:
    """(pid, arguments) of each perf so far."""

    def read() -> list[tuple[int, str]]:
        path = tmp_path / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), words) for pid, _, words in (line.partition(" ") for line in lines)]

    return read


def reading(perf: PerfStat) -> PerfReading:
    """What the site reads of it."""
    text = "".join(f"{each}\n" for each in perf.samples())
    return read_exporter(samples_of(text, METRICS)).perf


async def until(condition: Callable[[], object], keep: Callable[[], Awaitable] | None = None):
    """Waits for it, as a request each tenth of a second would."""
    for _ in range(200):
        if keep:
            await keep()
        if value := condition():
            return value
        await asyncio.sleep(0.05)
    raise AssertionError("nothing came in ten seconds")


@asynccontextmanager
async def counting(program: str, processes: Watched, of: str = "processes"):
    """A PerfStat that requests order, and what a request does."""
    perf = PerfStat(processes, program)

    async def request() -> None:
        perf.order(of, time.monotonic())
        await perf.keep(time.monotonic())

    try:
        yield perf, request
    finally:
        await perf.end()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1.5;20;;page-faults;1000;100.00;;", (1.5, "page-faults", 20, 1.0, "")),
        ("1.5;7;;cycles:u;500;50.00;;", (1.5, "cycles:u", 7, 0.5, "")),
        ("1.5;0;;context-switches:u;9;100.00", (1.5, "context-switches:u", None, 1.0, LACKS[2])),
        ("1.5;<not counted>;;cycles;0;100.00", (1.5, "cycles", 0, 1.0, "")),  # it did not run
        ("1.5;<not counted>;;cycles;0;0.00", (1.5, "cycles", None, 0.0, LACKS[1])),
        ("1.5;<not supported>;;cycles;0;100.00", (1.5, "cycles", None, 1.0, LACKS[0])),
        ("# started on Sun Nov 29", None),
        ("1.5;many;;cycles;0;0.00", None),
    ],
)
def test_a_line_of_perf_is_a_count_or_says_why_there_is_none(text, line):
    assert PerfLine.read(text) == line


def test_counts_grow_from_one_answer_to_the_next(fake, calls):
    async def act():
        async with counting(fake(), Watched(os.getpid())) as (perf, request):
            await until(lambda: reading(perf).totals, request)
            before = reading(perf)
            n_s = before.totals["processes", "cycles"][1]
            return before, await until(
                lambda: reading(perf).totals["processes", "cycles"][1] > n_s and reading(perf),
                request,
            )

    before, now = asyncio.run(act())
    answer = now.since(before)
    n = answer["lasted_s"]
    assert (answer["of"], n) == ("processes", round(n))
    assert answer["counts"] == {
        "task-clock": [2000 * n, 100],
        "context-switches": [20 * n, 100],
        "page-faults": [7 * n, 100],
        "cpu-migrations": [0, 100],
        "cycles": [3306000000 * n, 83],
        "branch-misses": [5 * n, 100],
    }
    assert answer["lacks"] == {"instructions": "not counted", "branches": "not supported"}
    ((_, words),) = calls()
    assert words.startswith("stat -x ; -I 250 --log-fd 1 -e task-clock,context-switches,")
    assert words.endswith(f"branch-misses -p {os.getpid()}")


def test_of_the_whole_machine_it_asks_for_no_task_clock(fake, calls):
    async def act():
        async with counting(fake(), Watched(), "machine") as (_, request):
            await until(calls, request)

    asyncio.run(act())
    ((_, words),) = calls()
    assert words.endswith("-a")
    assert "task-clock" not in words


def test_perf_ends_when_nobody_orders_it_any_more(fake, calls):
    async def act():
        async with counting(fake(), Watched(os.getpid())) as (perf, request):
            await until(calls, request)
            await perf.keep(time.monotonic() + ORDER_S)
            await until(lambda: not is_alive(calls()[0][0]))

    asyncio.run(act())


def test_processes_that_came_are_counted_by_a_new_perf_and_totals_stay(fake, calls):
    processes = Watched(os.getpid())

    async def act():
        async with counting(fake(), processes) as (perf, request):
            await until(lambda: reading(perf).totals, request)
            before = reading(perf)
            processes.pids |= {"1"}
            await until(lambda: len(calls()) == 2, request)
            await until(lambda: not is_alive(calls()[0][0]))
            await until(lambda: reading(perf).since(before), request)

    asyncio.run(act())
    assert calls()[1][1].endswith(f"-p 1,{os.getpid()}")


def test_what_a_counted_process_starts_is_counted_already(fake, calls):
    processes = Watched(os.getpid())

    async def act():
        async with counting(fake(), processes) as (perf, request):
            await until(lambda: reading(perf).totals, request)
            with subprocess.Popen(["sleep", "60"]) as child:
                processes.pids |= {str(child.pid)}
                for _ in range(3):
                    await request()
                child.kill()

    asyncio.run(act())
    assert len(calls()) == 1


@pytest.mark.parametrize(
    ("says", "of", "fault"),
    [
        ("Consider adjusting /proc/sys/kernel/perf_event_paranoid\n", "processes", "may not count"),
        ("Error:\nNo permission to enable cycles event.\n", "machine", "the whole machine"),
        ("Error:\nToo many open files\n", "processes", "Too many open"),
    ],
)
def test_a_perf_that_cannot_count_says_why_and_is_not_tried_at_once_again(
    fake, calls, says, of, fault
):
    async def act():
        async with counting(fake(says, times=1), Watched(os.getpid()), of) as (perf, request):
            await until(lambda: reading(perf).faults, request)
            await request()
            return reading(perf).since(PerfReading())

    answer = asyncio.run(act())
    assert (answer["of"], fault in answer["fault"]) == (of, True)
    assert len(calls()) == 1


def test_where_perf_or_what_it_counts_is_missing_nothing_runs(fake, calls):
    async def fault(program: str, processes: Watched) -> str:
        async with counting(program, processes) as (perf, request):
            await request()
            return reading(perf).faults["processes"]

    assert asyncio.run(fault("/nowhere/perf", Watched(os.getpid()))) == module.NOT_INSTALLED
    assert asyncio.run(fault(fake(), Watched())) == module.NOT_THERE
    assert calls() == []


def test_perf_dies_with_the_agent(fake, calls):
    agent = textwrap.dedent(f"""
        import asyncio, time
        from tests.agent.test_perf import Watched
        from workers.agent import PerfStat
        async def act():
            perf = PerfStat(Watched({os.getpid()}), {fake()!r})
            perf.order("processes", time.monotonic())
            await perf.keep(time.monotonic())
            time.sleep(60)
        asyncio.run(act())
    """)
    with subprocess.Popen([sys.executable, "-c", agent]) as process:
        ((pid, _),) = eventually(calls, 20, "perf started")
        process.kill()
    eventually(lambda: not is_alive(pid), 5, "perf ended")


def test_the_events_are_those_that_the_site_knows():
    assert module.EVENTS["processes"] == EVENTS
    assert set(module.EVENTS["machine"]) == set(EVENTS) - {"task-clock"}


def test_functions_come_with_their_samples_and_those_without_a_name_are_one_line():
    samples, functions = functions_of(REPORT)
    assert samples == 120
    assert functions == [
        [89, "python3", "libpython3.11.so.1.0", "_PyEval_EvalFrameDefault"],
        [20, "python3", "libpython3.11.so.1.0", "gen_iternext"],
        [9, "nginx", "[unknown]", "[unknown]"],
        [2, "python3", "[kernel.kallsyms]", "finish_task_switch.isra.0"],
    ]


def test_of_many_functions_the_thirty_with_most_samples_stay_and_all_samples_count():
    lines = (f" {n} \tnginx\tnginx\t[.] f{n}" for n in range(1, 51))
    samples, functions = functions_of("\n".join(lines))
    assert samples == sum(range(1, 51))
    assert [row[0] for row in functions] == list(range(50, 20, -1))


async def recorded(
    program: str, processes: Watched, of: str = "processes", lasts: Callable = lambda: True
) -> dict | None:
    """What the site gets of a recording that lasts until then."""
    perf = PerfRecord(processes, program)
    try:
        await perf.order(of, "run-1", time.monotonic())
        await until(lasts)
        await perf.order(of, "run-1", time.monotonic())
        assert await perf.take("run-2", time.monotonic()) is None
        answer = await perf.take("run-1", time.monotonic())
        assert await perf.take("run-1", time.monotonic()) is None
        return answer
    finally:
        await perf.end()


def test_a_profile_is_read_when_it_is_asked_for(fake, calls):
    answer = asyncio.run(recorded(fake(), Watched(os.getpid()), lasts=calls))
    profile = read_profile(answer, 1000.0)
    assert (profile.of, profile.samples, profile.ended_s) == ("processes", 120, 1000)
    assert profile.functions[0].symbol == "_PyEval_EvalFrameDefault"
    (pid, record), (_, report) = calls()
    assert f"-p {os.getpid()}" in record
    assert report.startswith("report ")
    assert not is_alive(pid)


def test_a_profile_that_nobody_asks_for_ends_and_leaves_nothing(fake, calls, tmp_path):
    async def act() -> str:
        perf = PerfRecord(Watched(os.getpid()), fake())
        await perf.order("processes", "run-1", time.monotonic())
        (_, words), *_ = await until(calls)
        await perf.keep(time.monotonic() + ORDER_S)
        await until(lambda: not is_alive(calls()[0][0]))
        return words.partition(" -o ")[2].split()[0]

    assert not Path(asyncio.run(act())).parent.exists()


def test_the_next_run_has_a_profile_of_its_own(fake, calls):
    async def act():
        perf = PerfRecord(Watched(os.getpid()), fake())
        for key in ("run-1", "run-2"):
            await perf.order("processes", key, time.monotonic())
            await until(lambda n=int(key[-1]): len(calls()) == n)
        return await perf.take("run-2", time.monotonic())

    assert asyncio.run(act())["samples"] == 120


@pytest.mark.parametrize("of", ["processes", "machine"])
def test_without_the_right_to_record_the_profile_says_what_to_set(fake, calls, of):
    def has_ended() -> bool:
        return bool(calls()) and not is_alive(calls()[0][0])

    answer = asyncio.run(recorded(fake(record=REFUSED), Watched(os.getpid()), of, has_ended))
    assert "perf_event_paranoid is " in read_profile(answer, 0).fault


def test_without_perf_the_profile_says_what_to_install():
    answer = asyncio.run(recorded("/nowhere/perf", Watched(os.getpid())))
    assert read_profile(answer, 0).fault == module.NOT_INSTALLED


WORKS = "while True: sum(i * i for i in range(1000))"
has_perf = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")


@pytest.fixture
def busy() -> Iterator[subprocess.Popen]:
    with subprocess.Popen([sys.executable, "-c", WORKS]) as process:
        yield process
        process.kill()


def skip_where_nobody_may_count(fault: str) -> None:
    if "may not count" in fault:
        pytest.skip(fault)
    assert not fault


@has_perf
def test_the_real_perf_counts_a_second_of_a_busy_program(busy):
    async def act() -> dict:
        async with counting("perf", Watched(busy.pid)) as (perf, request):
            start = await until(
                lambda: (
                    (perf_reading := reading(perf))
                    and (perf_reading.totals or perf_reading.faults)
                    and perf_reading
                ),
                request,
            )
            skip_where_nobody_may_count(start.faults.get("processes", ""))
            return await until(
                lambda: (
                    (answer := reading(perf).since(start)) and answer["lasted_s"] > 0.9 and answer
                ),
                request,
            )

    answer = asyncio.run(act())
    counts = {event.removesuffix(":u"): count for event, count in answer["counts"].items()}
    used_ms, share = counts["task-clock"]
    assert 0 < used_ms <= 1010 * answer["lasted_s"]
    assert share == 100


@pytest.mark.long
@has_perf
def test_the_real_perf_finds_where_a_program_spends_its_time(busy):
    def has_used_a_second() -> bool:
        return process_of(text_of(f"/proc/{busy.pid}/stat")).cpu_s > 1.2

    answer = asyncio.run(recorded("perf", Watched(busy.pid), lasts=has_used_a_second))
    profile = read_profile(answer, 1000)
    skip_where_nobody_may_count(profile.fault)
    assert profile.samples > 20
    assert any("python" in each.command for each in profile.functions)

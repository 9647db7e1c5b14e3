"""A perf beside the agent: who it counts, when it ends, and what is said where it cannot count."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.process_tree import is_alive
from tests.waiting import eventually
from workers.agent import perf as module
from workers.agent.machine import Interval
from workers.agent.perf import ORDER_S, PerfStat
from workers.agent.site import boot_ns

S = 1_000_000_000
COUNTS = """\
     1.0;2000;msec;task-clock;1000;100.00;;
     1.0;3306000000;;cycles;830;83.00;;
     1.0;<not supported>;;branches;0;100.00;;
"""


FAKE = """#!/bin/sh
echo "$$ $*" >> {folder}/calls
n=0
while [ $n -lt {times} ]; do
    [ $n = 0 ] || sleep 1
    n=$((n + 1))
    sed "s/^ *1.0;/     $n.0;/" {folder}/prints
done
exit 1
"""


class Watched:
    """Processes by their numbers."""

    def __init__(self, *pids: int):
        self.names, self.pids = ["nginx"], frozenset(map(str, pids))


@pytest.fixture
def fake(tmp_path):
    """Makes a perf that notes its number and arguments, and prints this once or each second."""

    def make(prints: str, *, ends: bool = False) -> str:
        program = tmp_path / "perf"
        (tmp_path / "prints").write_text(prints)
        program.write_text(FAKE.format(folder=tmp_path, times=1 if ends else 60))
        program.chmod(0o755)
        return str(program)

    return make


@pytest.fixture
def calls(tmp_path):
    """(pid, arguments) of each perf so far."""

    def read() -> list[tuple[int, str]]:
        path = tmp_path / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), words) for pid, _, words in (line.partition(" ") for line in lines)]

    return read


@pytest.fixture
def started():
    """Makes a PerfStat that is ended with the test."""
    made = []

    def make(program: str, watched=None) -> PerfStat:
        made.append(PerfStat(watched or Watched(os.getpid()), program))
        return made[-1]

    yield make
    for each in made:
        each.end()


def second() -> Interval:
    """The one that has just ended."""
    return Interval(boot_ns() - S // 2, 1.0, {"user_s": 0.5})


def told(perf: PerfStat, of: str = "processes") -> dict:
    """What perf tells of a second, as soon as it tells something."""

    def found():
        perf.obey({"perf": of})
        ready = perf.take(second(), boot_ns())
        return next((each.values["perf"] for each in ready if "perf" in each.values), None)

    return eventually(found, 10, "perf told something")


def test_counts_go_into_the_second_and_what_perf_lacks_is_said(fake, calls, started):
    perf = started(fake(COUNTS))
    assert told(perf) == {
        "of": "processes",
        "lasted_s": 1.0,
        "counts": {"task-clock": [2000, 100], "cycles": [3306000000, 83]},
        "lacks": {"branches": "not supported"},
    }
    ((_, words),) = calls()
    assert words.startswith("stat -x ; -I 1000 --log-fd 1 -e task-clock,context-switches,")
    assert words.endswith(f"branch-misses -p {os.getpid()}")


def test_of_the_whole_machine_it_asks_for_no_task_clock(fake, calls, started):
    perf = started(fake(COUNTS), Watched())
    assert told(perf, "machine")["of"] == "machine"
    ((_, words),) = calls()
    assert words.endswith("-a")
    assert "task-clock" not in words


def test_without_an_order_nothing_runs_and_no_second_waits(fake, calls, started):
    perf = started(fake(COUNTS))
    seen = second()
    for answer in ({}, {"perf": ""}, {"perf": "everything"}):
        perf.obey(answer)
        assert perf.take(seen, boot_ns()) == [seen]
    assert calls() == []


def test_while_it_counts_each_second_waits_for_the_next_and_none_is_lost(fake, started):
    perf = started(fake(""))
    perf.obey({"perf": "processes"})
    first, then = second(), second()
    assert perf.take(first, boot_ns()) == []
    assert perf.take(then, boot_ns()) == [first]
    assert perf.take(None, boot_ns()) == [then]
    perf.take(first, boot_ns())
    perf.obey({"perf": ""})
    assert perf.take(then, boot_ns()) == [first, then]


@pytest.mark.parametrize("how", ["answer", "silence"])
def test_perf_ends_when_the_order_does(fake, calls, started, how):
    perf = started(fake(COUNTS))
    told(perf)
    ((pid, _),) = calls()
    now_ns = boot_ns()
    if how == "answer":
        perf.obey({"perf": ""})
    else:
        now_ns += ORDER_S * S + S
    perf.take(second(), now_ns)
    eventually(lambda: not is_alive(pid), 5, "perf ended")


def test_processes_that_came_are_counted_by_a_new_perf(fake, calls, started):
    watched = Watched(os.getpid())
    perf = started(fake(COUNTS), watched)
    told(perf)
    watched.pids |= {"1"}
    eventually(lambda: perf.take(second(), boot_ns()) and len(calls()) == 2, 10, "a second perf")
    (old, _), (_, words) = calls()
    assert words.endswith(f"-p 1,{os.getpid()}")
    eventually(lambda: not is_alive(old), 5, "the first perf ended")


def test_what_a_counted_process_starts_is_counted_already(fake, calls, started):
    watched = Watched(os.getpid())
    perf = started(fake(COUNTS), watched)
    told(perf)
    with subprocess.Popen(["sleep", "60"]) as child:
        watched.pids |= {str(child.pid)}
        for _ in range(3):
            perf.obey({"perf": "processes"})
            perf.take(second(), boot_ns())
        child.kill()
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
    fake, calls, started, says, of, fault
):
    perf = started(fake(says, ends=True))
    assert fault in told(perf, of)["fault"]
    told(perf, of)
    assert len(calls()) == 1


def test_where_perf_or_what_it_counts_is_missing_nothing_runs(fake, calls, started):
    assert told(started("/nowhere/perf"))["fault"]
    assert told(started(fake(COUNTS), Watched()))["fault"]
    assert calls() == []


def test_perf_dies_with_the_agent(fake, calls, tmp_path):
    program = fake(COUNTS)
    agent = textwrap.dedent(f"""
        import time
        from tests.agent.test_perf import Watched, second
        from workers.agent.perf import PerfStat
        from workers.agent.site import boot_ns
        perf = PerfStat(Watched({os.getpid()}), {program!r})
        perf.obey({{"perf": "processes"}})
        perf.take(second(), boot_ns())
        time.sleep(60)
    """)
    with subprocess.Popen([sys.executable, "-c", agent]) as process:
        ((pid, _),) = eventually(calls, 20, "perf started")
        process.kill()
    eventually(lambda: not is_alive(pid), 5, "perf ended")


def test_the_events_are_those_that_the_site_knows():
    from campaigns.domain.metrics.perf_counts import EVENTS

    assert module.EVENTS["processes"] == EVENTS
    assert set(module.EVENTS["machine"]) == set(EVENTS) - {"task-clock"}

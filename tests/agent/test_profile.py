"""A perf record beside the agent: when it records, what it found, and why it cannot."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from campaigns.domain.metrics.machine import AgentReport
from tests.process_tree import is_alive
from tests.waiting import eventually
from workers.agent import perf as perf_module
from workers.agent.perf import ORDER_S
from workers.agent.profile import PerfRecord, functions_of
from workers.agent.site import Outbox, SiteClock, boot_ns

S = 1_000_000_000
# perf 6.1, of Debian 12: perf report --stdio -F sample,comm,dso,sym -t TAB.
REPORT = """\
# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 193  of event 'cpu-clock'
# Event count (approx.): 969849125
#
#     Samples\tCommand\tShared Object       \tSymbol
 89         \tpython3\tlibpython3.11.so.1.0\t[.] _PyEval_EvalFrameDefault
 20         \tpython3\tlibpython3.11.so.1.0\t[.] gen_iternext
 5          \tnginx  \t[unknown]           \t[.] 0x00007f3bd8a1c2d0
 4          \tnginx  \t[unknown]           \t[.] 0x00007f3bd8a1c2e4
 2          \tpython3\t[kernel.kallsyms]   \t[k] finish_task_switch.isra.0
"""
FAKE = """#!/bin/sh
echo "$$ $*" >> {folder}/calls
if [ $1 = report ]; then cat {folder}/report; exit 0; fi
{record}
"""
RECORDS = "trap 'exit 0' INT; while :; do sleep 0.05; done"


class Watched:
    """Processes by their numbers."""

    def __init__(self, *pids: int):
        self.names, self.pids = ["nginx"], frozenset(map(str, pids))


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


@pytest.fixture
def program(tmp_path):
    """A perf that does `record` when it is to record, and prints REPORT when asked for a report."""

    def make(record: str = RECORDS, report: str = REPORT) -> str:
        path = tmp_path / "perf"
        (tmp_path / "report").write_text(report)
        path.write_text(FAKE.format(folder=tmp_path, record=record))
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def recording():
    """Makes a PerfRecord that is ended with the test, and the list that it tells its profiles."""
    made = []

    def make(program: str, watched=None) -> tuple[PerfRecord, list]:
        told: list = []
        made.append(PerfRecord(watched or Watched(os.getpid()), told.append, program))
        return made[-1], told

    yield make
    for each in made:
        each.end()


def ordered(in_s: float = 0.0, of: str = "processes") -> dict:
    return {"now": 1000.0, "profile": {"of": of, "begins_s": 1000.0 + in_s}}


def calls_in(tmp_path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_it_records_from_the_measurement_s_beginning_until_the_site_asks_no_more(
    program, recording, tmp_path
):
    perf, told = recording(program())
    perf.obey(ordered(in_s=5))
    perf.keep(boot_ns())
    assert calls_in(tmp_path) == [], "the warm-up"
    began_ns = boot_ns() + 5 * S
    perf.keep(began_ns)
    eventually(lambda: calls_in(tmp_path), 5, "perf recorded")
    perf.keep(began_ns + S)
    perf.obey({"now": 1008.0, "profile": {}})
    perf.keep(boot_ns())
    eventually(lambda: told, 10, "the profile was told")
    [profile] = told
    assert (profile["of"], profile["samples"], profile["began_ns"]) == ("processes", 120, began_ns)
    assert profile["functions"][0][3] == "_PyEval_EvalFrameDefault"
    record, report = calls_in(tmp_path)
    assert f"-p {os.getpid()}" in record
    assert " report " in report


def test_it_ends_when_the_site_is_silent_and_a_run_is_recorded_once(program, recording, tmp_path):
    perf, told = recording(program())
    perf.obey(ordered())
    perf.keep(boot_ns())
    eventually(lambda: calls_in(tmp_path), 5, "perf recorded")
    pid = int(calls_in(tmp_path)[0].split()[0])
    perf.keep(boot_ns() + (ORDER_S + 1) * S)
    eventually(lambda: told and not is_alive(pid), 10, "it ended")
    perf.obey(ordered())
    perf.keep(boot_ns())
    assert sum(" record " in call for call in calls_in(tmp_path)) == 1


def test_the_next_run_has_a_profile_of_its_own(program, recording):
    perf, told = recording(program())
    for begins_s in (0.0, -20.0):
        perf.obey(ordered(begins_s))
        perf.keep(boot_ns())
    perf.obey({"now": 1000.0})
    perf.keep(boot_ns())
    eventually(lambda: len(told) == 2, 10, "both profiles were told")


def test_without_perf_the_profile_says_what_to_install(recording):
    perf, told = recording("/no/such/perf")
    perf.obey(ordered(of="machine"))
    perf.keep(boot_ns())
    assert told[0]["fault"] == perf_module.NOT_INSTALLED


def test_without_the_right_to_record_it_says_what_to_set(program, recording, tmp_path):
    refusal = "echo 'perf_event_paranoid setting is 2' >&2; exit 255"
    perf, told = recording(program(refusal, report=""))
    perf.obey(ordered(of="machine"))
    perf.keep(boot_ns())
    eventually(lambda: calls_in(tmp_path), 5, "perf began")
    pid = int(calls_in(tmp_path)[0].split()[0])
    eventually(lambda: not is_alive(pid), 5, "perf ended")
    perf.obey({})
    perf.keep(boot_ns())
    eventually(lambda: told, 10, "it was told")
    assert "Set it to 0 or lower" in told[0]["fault"]


def test_a_profile_goes_to_the_site_once_in_the_site_s_time():
    bodies, clock = [], SiteClock()

    def post(body):
        bodies.append(body)
        return boot_ns(), boot_ns(), {"now": 1000.0}

    outbox = Outbox(post, clock, {"host": "shop-1"})
    outbox.says_hello()
    now_ns = boot_ns()
    about = {"of": "machine", "began_ns": now_ns - 3 * S, "ended_ns": now_ns}
    outbox.add_profile(about | {"samples": 9, "functions": [[9, "nginx", "nginx", "f"]]})
    for _ in range(2):
        outbox.says_hello()
    first, second = (AgentReport.from_json(json.loads(each)) for each in bodies[1:])
    [profile] = first.profiles
    assert profile.ended_s == pytest.approx(1000, abs=0.5)
    assert profile.lasted_s == pytest.approx(3, abs=0.01)
    assert second.profiles == ()


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_the_real_perf_finds_where_a_program_spends_its_time(recording):
    words = "while True: sum(i * i for i in range(1000))"
    with subprocess.Popen([sys.executable, "-c", words]) as busy:
        try:
            perf, told = recording("perf", Watched(busy.pid))
            perf.obey(ordered())
            began_ns = boot_ns()
            perf.keep(began_ns)
            eventually(lambda: boot_ns() > began_ns + S, 5, "a second passed")
            perf.obey({})
            perf.keep(boot_ns())
            eventually(lambda: told, 30, "the profile was told")
        finally:
            busy.kill()
    [profile] = told
    if "may not count" in profile.get("fault", ""):
        pytest.skip(profile["fault"])
    assert "fault" not in profile
    assert profile["samples"] > 20
    assert any("python" in row[1] for row in profile["functions"])

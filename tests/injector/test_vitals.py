"""Whether the injector notices what is its own fault, and says so."""

import gc
import json
import signal
import subprocess
import sys
import time

import gevent
import pytest
from gevent.subprocess import PIPE, Popen

from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    make_order,
    measure,
    scripted,
    tally,
    target_reasons,
)
from tests.injector.test_loads import Arrivals
from workers.injector import machine
from workers.injector.summary import LocalRun
from workers.injector.vitals import HubLag, VitalsReader

pytestmark = pytest.mark.pure

MS = 1_000_000
QUIET = {
    "at_ns": 0, "cpu_s": 0.0, "machine_s": 0.0, "busy_s": 0.0, "steal_s": 0.0, "run_delay_ns": 0,
    "throttled_ns": 0, "ports_taken": 0, "rss_bytes": 1000, "swapped_pages": 5,
    "wall_offset_ns": 10**18,
}  # fmt: skip


def second_of(**after):
    """The vitals of one second in which these readings changed."""
    readings = iter([QUIET, QUIET | {"at_ns": 1_000 * MS, "machine_s": 1000.0} | after])
    vitals = VitalsReader(read=lambda: next(readings))
    row = vitals.take(hub_lag_max_us=0, lateness_p99_us=0, own_delay_p99_us=0, open_connections=7)
    vitals.close()
    return row


def test_a_vital_is_what_changed_in_the_second():
    for after, vital, value in [
        ({"cpu_s": 0.25}, "cpu_share", 0.25),
        ({"cpu_s": 100.0, "busy_s": 300.0}, "other_cpu_share", 0.2),
        ({"cpu_s": 0.5, "busy_s": 1.25}, "other_cores", 0.75),
        ({"cpu_s": 0.5, "busy_s": 0.49}, "other_cores", 0.0),
        ({"at_ns": 2_000 * MS, "busy_s": 3.0}, "other_cores", 1.5),
        ({"steal_s": 50.0}, "steal_share", 0.05),
        ({"run_delay_ns": 300 * MS}, "run_delay_share", 0.3),
        ({"throttled_ns": 200 * MS}, "throttled_share", 0.2),
        ({"throttled_ns": 1800 * MS}, "throttled_share", 1.0),
        ({"at_ns": 100 * MS, "cpu_s": 0.05}, "cpu_share", 0.05),
        ({"rss_bytes": 5}, "rss_bytes", 5),
        ({"swapped_pages": 25}, "swapped_pages", 20),
        ({"wall_offset_ns": 10**18 - 3600 * 10**9}, "clock_step_us", 3_600_000_000),
    ]:
        assert second_of(**after)[vital] == value


def test_stolen_time_is_not_other_programs_time():
    assert second_of(steal_s=500.0)["other_cpu_share"] == 0.0


def test_open_files_count_against_the_limit():
    row = second_of()
    assert row["open_files"] > 7
    assert 0 <= row["open_files_share"] <= 1


def test_a_collection_is_timed():
    readings = iter([QUIET, QUIET])
    vitals = VitalsReader(read=lambda: next(readings))
    gc.collect()
    row = vitals.take(hub_lag_max_us=0, lateness_p99_us=0, own_delay_p99_us=0, open_connections=0)
    vitals.close()
    assert row["gc_pause_max_us"] > 0
    assert row["gc_share"] > 0


def test_a_standstill_counts_every_timer_that_it_kept_from_running():
    lag = HubLag(10 * MS)
    for instant_ms in (10, 20, 65):
        lag.tick(instant_ms * MS)
    assert lag.take() == [0, 35_000, 25_000, 15_000, 5_000]
    assert lag.take() == []


@pytest.mark.sockets
def test_a_hub_blocked_for_half_a_second_spoils_mean_and_tail_and_blames_the_injector():
    load = {"model": "open", "rate_per_s": 100, "duration_s": 2}
    with scripted(Arrivals(service_s=0.002)) as server:
        gevent.spawn_later(0.5, time.sleep, 0.5)
        result = measure(server.port, load=load)
    total = result.total
    assert total.timing("own_delay").percentile_us(99_000) >= 400_000
    assert total.timing("hub_lag").percentile_us(99_000) >= 400_000
    assert total.timing("service").percentile_us(50_000) < 50_000
    judgement = result.judgement
    codes = {reason.code for reason in judgement.reasons}
    assert (judgement.measurement.state, judgement.target.state) == (Trust.BUSY, "healthy")
    assert {"own_time_p99", "stall"} <= codes
    assert not codes & {"errors", "target_saturated", "slot_wait", "dropped"}


@pytest.mark.long
@pytest.mark.sockets
@pytest.mark.parametrize("service_s", [0.001, 0.05])
@pytest.mark.parametrize(
    "load",
    [
        {"model": "open", "rate_per_s": 100, "duration_s": 2},
        {"model": "closed", "connections": 4, "duration_s": 2},
    ],
    ids=lambda load: load["model"],
)
def test_an_injector_that_was_stopped_for_300_ms_says_so(load, service_s):
    with scripted(Arrivals(service_s)) as server:
        process = Popen([sys.executable, "-m", "workers.injector"], stdin=PIPE, stdout=PIPE)
        result = stopped_run(process, make_order(server.port, load=load))
    assert "stall" in {reason.code for reason in result.judgement.measurement.reasons}
    assert result.judgement.is_busy


def stopped_run(process, order):
    """The run of an injector process that is stopped from second 0.8 to 1.1."""
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()
    process.stdin.write(b'{"start_at_ns": %d}\n' % time.monotonic_ns())
    process.stdin.flush()
    for wait_s, number in ((0.8, signal.SIGSTOP), (0.3, signal.SIGCONT)):
        gevent.sleep(wait_s)
        process.send_signal(number)
    output, _ = process.communicate()
    result = LocalRun(Plan.from_json(order["plan"]))
    for message in map(json.loads, output.splitlines()):
        if message["type"] == "second":
            result.rows.append((0, Second.from_json(message)))
        else:
            result.ends.append(InjectorEnd.from_json(message))
    return result


@pytest.mark.sockets
def test_waiting_for_a_free_connection_is_not_the_injectors_own_delay():
    load = {"model": "open", "rate_per_s": 100, "duration_s": 1, "max_in_flight": 5}
    result, _ = against(Arrivals(service_s=0.1), load=load, timeouts={"total_s": 5})
    total = result.total
    lateness, own, wait = (total.timing(n) for n in ("lateness", "own_delay", "slot_wait"))
    assert lateness.percentile_us(50_000) > 200_000
    assert own.percentile_us(50_000) < 20_000
    assert (own.n, lateness.sum_us) == (lateness.n, own.sum_us + wait.sum_us)
    assert "slot_wait" in target_reasons(result)
    assert "late" not in {reason.code for reason in result.judgement.reasons}


@pytest.mark.sockets
def test_waiting_is_not_our_own_delay_where_many_are_due_at_the_same_instant():
    load = {"model": "over", "requests": 20, "over_s": 1e-8, "max_in_flight": 2}
    total, _ = tally(Arrivals(service_s=0.05), load=load, timeouts={"total_s": 5})
    assert (total.count("queued"), total.timing("slot_wait").n) == (18, 18)
    lateness, own, wait = (total.timing(n) for n in ("lateness", "own_delay", "slot_wait"))
    assert lateness.sum_us == own.sum_us + wait.sum_us
    assert own.max_us < 200_000


def with_few_files(*arguments, limit=64, **options):
    """The program in a process that may have few open files."""
    code = (
        "import resource, runpy, sys\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))\n"
        "sys.argv[0] = 'injector'\n"
        "runpy.run_module('workers.injector', run_name='__main__', alter_sys=False)"
    )
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, **options)


@pytest.mark.sockets
def test_too_few_open_files_are_a_refusal_before_a_packet_is_sent():
    for load in [
        {"model": "closed", "connections": 200, "requests": 200},
        {"model": "open", "rate_per_s": 10, "requests": 10},
    ]:
        with scripted(always(OK_REPLY)) as server:
            order = json.dumps(make_order(server.port, load=load)) + "\n"
            done = with_few_files(input=order)
        message = json.loads(done.stdout)
        assert (message["type"], message["kind"]) == ("refused", "client_fd_exhausted")
        assert "ulimit -n" in message["reason"]
        assert (done.returncode, server.n_connections) == (2, 0)


def test_too_few_ports_are_a_refusal(monkeypatch):
    from workers.injector.order import Refusal

    monkeypatch.setattr(machine, "count_ephemeral_ports", lambda: 20)
    with pytest.raises(Refusal, match="has 20") as refusal:
        measure(9, load={"model": "closed", "connections": 21, "requests": 21})
    assert refusal.value.kind == "client_ports"


@pytest.mark.sockets
def test_a_clock_that_is_stepped_in_the_middle_of_a_run_is_seen(monkeypatch):
    really = time.time_ns
    load = {"model": "open", "rate_per_s": 100, "duration_s": 2}
    with scripted(always(OK_REPLY)) as server:
        # Half of the second second's requests have come.
        monkeypatch.setattr(
            time, "time_ns", lambda: really() - 3600 * 10**9 * (server.n_requests > 150)
        )
        result = measure(server.port, load=load)
    reason = next(each for each in result.judgement.reasons if each.code == "clock_step")
    assert (reason.state, reason.second) == ("", 1)
    assert reason.value == pytest.approx(3600e6, rel=0.001)
    assert result.total.timing("response").max_us < 3600e6 / 100


def test_clocks_that_run_alike_are_no_step():
    offsets = [machine.wall_offset_ns() for _ in range(20)]
    assert max(offsets) - min(offsets) < 50 * MS


@pytest.mark.sockets
def test_a_wall_clock_that_steps_back_changes_no_duration(monkeypatch):
    clock = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    load = {"model": "closed", "connections": 1, "requests": 5}
    result, _ = against(Arrivals(service_s=0.1), load=load)
    response = result.total.timing("response")
    assert (response.n, response.min_us >= 100_000, response.max_us < 400_000) == (5, True, True)
    assert 0.5 <= result.measurement.duration_s < 2

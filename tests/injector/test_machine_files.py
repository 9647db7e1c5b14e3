"""What the machine's files tell of its links and quotas, and what is said before the first packet
of what it may run short of.
"""

import os
from dataclasses import replace

import pytest

from tests.injector.servers import OK_REPLY, always, make_order, scripted
from workers.injector import machine, preflight
from workers.injector.machine import CpuQuota, Links, ProcFiles, Traffic, read_traffic
from workers.injector.order import Order
from workers.injector.preflight import find_capacity
from workers.injector.summary import run_here

pytestmark = pytest.mark.pure


SECOND_NS = 1_000_000_000
QUIET = Traffic(received_bytes=10_000, sent_bytes=5_000, packets=100, lost=3)


def seen_after(speeds=None, **after):
    """One second in which each named interface came to have this traffic."""
    names = {*after, *(speeds or {})}
    readings = iter([dict.fromkeys(names, QUIET), dict.fromkeys(names, QUIET) | after])
    links = Links(lambda: next(readings), lambda name: (speeds or {}).get(name, 0))
    return links.take(SECOND_NS)


def test_a_link_is_as_full_as_its_busier_direction():
    busy = replace(QUIET, received_bytes=10_000 + 2_500_000, sent_bytes=5_000 + 1_000)
    assert seen_after({"eth0": 100_000_000}, eth0=busy)["link_share"] == 0.2


def test_the_fullest_of_several_links_counts():
    more = replace(QUIET, sent_bytes=5_000 + 1_250_000)
    speeds = {"eth0": 1_000_000_000, "eth1": 20_000_000}
    assert seen_after(speeds, eth0=more, eth1=more)["link_share"] == 0.5


def test_a_link_of_unknown_speed_is_not_judged():
    more = replace(QUIET, sent_bytes=10**12)
    assert "link_share" not in seen_after(eth0=more)


def test_lost_packets_are_a_share_of_all_and_of_no_fewer_than_a_thousand():
    for packets, lost, share in [(9_900, 100, 0.01), (0, 10, 0.01)]:
        after = replace(QUIET, packets=100 + packets, lost=3 + lost)
        assert seen_after(eth0=after)["packets_lost_share"] == share


def test_the_kernel_is_read_without_the_loopback():
    with ProcFiles() as files:
        assert "lo" not in read_traffic(files)
        links = Links(lambda: read_traffic(files))
        assert "packets_lost_share" in links.take(SECOND_NS)


V2 = "36 25 0:31 {root} {at} rw shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "31 24 0:26 {root} {at} rw shared:9 - cgroup cgroup rw,cpu,cpuacct"


@pytest.fixture
def quota_of(tmp_path):
    """The quota of a process whose /proc files say this, and whose groups have these files."""

    def make(cgroup, mount, groups, root="/"):
        (tmp_path / "cgroup").write_text(f"{cgroup}\n")
        (tmp_path / "mountinfo").write_text(mount.format(root=root, at=tmp_path / "groups") + "\n")
        for path, text in groups.items():
            file = tmp_path / "groups" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        with ProcFiles() as files:
            quota = CpuQuota(files, str(tmp_path))
            return quota.cores, quota.throttled_ns()

    return make


@pytest.mark.parametrize(
    ("line", "mount", "groups", "root", "quota"),
    [
        (
            "0::/job",
            V2,
            {"job/cpu.max": "40000 100000\n"}
            | {"job/cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500\n"},
            "/",
            (0.4, 1_500_000),
        ),
        (
            "4:cpu,cpuacct:/job",
            V1,
            {"job/cpu.cfs_quota_us": "10000\n", "job/cpu.cfs_period_us": "100000\n"}
            | {"job/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000\n"},
            "/",
            (0.1, 1_500_000),
        ),
        (
            "0::/pod/job",
            V2,
            {"pod/cpu.max": "20000 100000\n", "pod/cpu.stat": "throttled_usec 7\n"}
            | {"pod/job/cpu.max": "max 100000\n", "pod/job/cpu.stat": "throttled_usec 0\n"},
            "/",
            (0.2, 7000),
        ),
        (
            "0::/docker/abc",
            V2,
            {"cpu.max": "50000 100000\n", "cpu.stat": "throttled_usec 2\n"},
            "/docker/abc",
            (0.5, 2000),
        ),
    ],
    ids=["version 2", "version 1", "of the group around it", "mounted in a container"],
)
def test_files_tell_quota_and_throttled_time(quota_of, line, mount, groups, root, quota):
    assert quota_of(line, mount, groups, root=root) == quota


@pytest.mark.parametrize(("line", "mount"), [("0::/", V2), ("4:cpu:/", V1), ("5:memory:/", V1)])
def test_without_a_quota_there_is_none(quota_of, line, mount):
    groups = {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}
    assert quota_of(line, mount, groups) == (None, 0)


def test_a_file_that_stays_open_says_what_is_true_now(tmp_path):
    path = tmp_path / "gauge"
    with ProcFiles() as files:
        for text in ("1 2 3\nmore\n", "4 5 6\nmore\n"):
            path.write_text(text)
            assert files.first_line(str(path)) == text.splitlines()[0]


def test_a_file_that_comes_in_many_pieces_is_read_to_its_end(tmp_path):
    lines = [f"line {number}" for number in range(20_000)]
    (tmp_path / "long").write_text("\n".join(lines))
    with ProcFiles() as files:
        assert files.lines(str(tmp_path / "long")) == lines


def test_a_file_that_is_not_there_says_nothing(tmp_path):
    with ProcFiles() as files:
        assert (files.first_line(str(tmp_path / "none")), files.lines(str(tmp_path))) == ("", [])


def test_nothing_stays_open_after_the_end():
    before = os.listdir("/proc/self/fd")
    with ProcFiles() as files:
        assert files.first_line("/proc/stat").startswith("cpu")
        assert len(os.listdir("/proc/self/fd")) == len(before) + 1
    assert os.listdir("/proc/self/fd") == before


FAR, LOCAL = ["10.0.0.5"], ["127.0.0.1"]


@pytest.fixture(autouse=True)
def machine_of(monkeypatch):
    """A machine of 28,232 ports that reuses none, and a process of 1,024 files."""

    def set_up(ports=28_232, reuse=0, files=1024, clock="tsc"):
        monkeypatch.setattr(machine, "count_ephemeral_ports", lambda: ports)
        monkeypatch.setattr(machine, "time_wait_reuse", lambda: reuse)
        monkeypatch.setattr(machine, "clock_source", lambda: clock)
        monkeypatch.setattr(preflight, "raise_descriptor_limit", lambda: files)

    set_up()
    return set_up


def warnings(addresses=FAR, **fields):
    timeouts = {"connect_s": 1, "tls_s": 1, "total_s": 2}
    order = make_order(80, timeouts=timeouts, **fields)
    return find_capacity(Order.from_json(order), addresses).warnings


def open_load(rate_per_s=500, duration_s=300, **more):
    return {"model": "open", "rate_per_s": rate_per_s, "duration_s": duration_s, **more}


def short(**more):
    return open_load(max_in_flight=100, **more)


def test_more_new_connections_than_a_minute_has_ports_are_a_warning_with_the_numbers():
    (text,) = warnings(mode="new", load=short())
    for number in ("500 new connections per second", "30,000 ports", "28,232", "471 per second"):
        assert number in text


def test_what_fits_is_not_warned_of():
    for fields in [
        {"mode": "new", "load": short(rate_per_s=470)},
        {"mode": "new", "load": short(duration_s=50)},
        {"mode": "keep-alive", "load": short()},
        {"mode": "new", "load": short(), "shard": {"index": 0, "count": 2}},
        {"mode": "new", "load": {"model": "closed", "connections": 50, "requests": 100_000}},
    ]:
        assert warnings(**fields) == ()


def test_connections_that_arrive_are_new_ones_however_they_are_kept():
    load = short(arrival_unit="connection")
    assert len(warnings(mode="keep-alive", load=load)) == 1


def test_a_kernel_that_reuses_ports_needs_fewer(machine_of):
    for reuse, addresses, n_warnings in [
        (1, FAR, 0),
        (2, FAR, 1),
        (2, LOCAL, 0),
        (0, LOCAL, 1),
        (2, [*LOCAL, *FAR], 1),
    ]:
        machine_of(reuse=reuse)
        assert len(warnings(addresses, mode="new", load=short())) == n_warnings


def test_reused_ports_run_out_as_well(machine_of):
    machine_of(reuse=1)
    (text,) = warnings(mode="new", load=short(rate_per_s=30_000))
    assert "stays in use for 1 s" in text


def test_more_in_flight_than_open_files_are_a_warning_with_the_numbers():
    (text,) = warnings(load=open_load(max_in_flight=10_000))
    for number in ("1,000 requests in flight", "1,064 open files", "1,024", "beyond 960"):
        assert number in text


def test_a_clock_that_is_slow_to_read_is_a_warning(machine_of):
    for clock, n_warnings in [("tsc", 0), ("kvm-clock", 0), ("", 0), ("acpi_pm", 1), ("hpet", 1)]:
        machine_of(clock=clock)
        texts = warnings(load=short(rate_per_s=10, duration_s=1))
        assert len(texts) == n_warnings
        assert all(clock in text for text in texts)


def test_what_can_never_be_in_flight_needs_no_files():
    assert warnings(load=open_load(rate_per_s=400, max_in_flight=10_000)) == ()


@pytest.mark.sockets
def test_the_warnings_are_in_the_end_line_and_in_front_of_the_verdict(machine_of, capsys):
    machine_of(ports=20)
    load = {"model": "open", "rate_per_s": 50, "requests": 50, "max_in_flight": 5}
    with scripted(always(OK_REPLY)) as server:
        order = make_order(server.port, mode="new", load=load)
        result = run_here(order, lambda second: None)
    (text,) = result.ends[0].warnings
    assert "This machine has 20" in text
    assert text in capsys.readouterr().err
    assert result.to_json()["warnings"] == [text]
    report = result.report("plain", order)
    assert report.index(text) < report.index("Measurement:")


def test_sessions_need_the_ports_of_all_their_connections():
    load = short(rate_per_s=200, arrival_unit="session")
    session = {"calls_per_session": 6, "burst_length": 3, "connections_per_session": 3}
    (text,) = warnings(mode="keep-alive", load=load, plan={"session": session})
    assert "600 new connections per second" in text
    assert warnings(mode="keep-alive", load=load, plan={"session": {"calls_per_session": 6}}) == ()

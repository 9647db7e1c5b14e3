"""What the machine's files tell: how full its network links are and what they lose, and the quota
of the injector's control groups; read without being opened again.
"""

import os
from dataclasses import replace

import pytest

from workers.injector.links import Links, Traffic, read_traffic
from workers.injector.machine import ProcFiles
from workers.injector.quota import CpuQuota

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


@pytest.mark.parametrize(("packets", "lost", "share"), [(9_900, 100, 0.01), (0, 10, 0.01)])
def test_lost_packets_are_a_share_of_all_and_of_no_fewer_than_a_thousand(packets, lost, share):
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


def test_version_2_tells_quota_and_throttled_time(quota_of):
    stat = "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500\n"
    groups = {"job/cpu.max": "40000 100000\n", "job/cpu.stat": stat}
    assert quota_of("0::/job", V2, groups) == (0.4, 1_500_000)


def test_version_1_tells_the_same_in_nanoseconds(quota_of):
    groups = {
        "job/cpu.cfs_quota_us": "10000\n",
        "job/cpu.cfs_period_us": "100000\n",
        "job/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000\n",
    }
    assert quota_of("4:cpu,cpuacct:/job", V1, groups) == (0.1, 1_500_000)


def test_the_group_around_it_limits_it_too(quota_of):
    groups = {
        "pod/cpu.max": "20000 100000\n", "pod/cpu.stat": "throttled_usec 7\n",
        "pod/job/cpu.max": "max 100000\n", "pod/job/cpu.stat": "throttled_usec 0\n",
    }  # fmt: skip
    assert quota_of("0::/pod/job", V2, groups) == (0.2, 7000)


def test_in_a_container_the_mounted_group_is_its_own(quota_of):
    groups = {"cpu.max": "50000 100000\n", "cpu.stat": "throttled_usec 2\n"}
    assert quota_of("0::/docker/abc", V2, groups, root="/docker/abc") == (0.5, 2000)


@pytest.mark.parametrize(("line", "mount"), [("0::/", V2), ("4:cpu:/", V1), ("5:memory:/", V1)])
def test_without_a_quota_there_is_none(quota_of, line, mount):
    groups = {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}
    assert quota_of(line, mount, groups) == (None, 0)


def test_a_file_that_stays_open_says_what_is_true_now(tmp_path):
    path = tmp_path / "gauge"
    with ProcFiles() as files:
        for said in ("1 2 3\nmore\n", "4 5 6\nmore\n"):
            path.write_text(said)
            assert files.first_line(str(path)) == said.splitlines()[0]


def test_a_file_that_comes_in_many_pieces_is_read_to_its_end(tmp_path):
    expected = [f"line {number}" for number in range(20_000)]
    (tmp_path / "long").write_text("\n".join(expected))
    with ProcFiles() as files:
        assert files.lines(str(tmp_path / "long")) == expected


def test_a_file_that_is_not_there_says_nothing(tmp_path):
    with ProcFiles() as files:
        assert (files.first_line(str(tmp_path / "none")), files.lines(str(tmp_path))) == ("", [])


def test_nothing_stays_open_after_the_end():
    before = os.listdir("/proc/self/fd")
    with ProcFiles() as files:
        assert files.first_line("/proc/stat").startswith("cpu")
        assert len(os.listdir("/proc/self/fd")) == len(before) + 1
    assert os.listdir("/proc/self/fd") == before

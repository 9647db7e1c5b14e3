"""The CPU quota of the injector's control groups, as the two versions of cgroup tell it."""

import pytest

from workers.injector.machine import ProcFiles
from workers.injector.quota import CpuQuota

pytestmark = pytest.mark.pure

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

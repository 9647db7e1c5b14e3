import pytest

from campaigns.domain.metrics.machine import busy_s, watched_s


def test_cpu_time_is_the_machines_own_work_and_that_of_the_chosen_processes():
    did = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0.1, "idle_s": 1, "stolen_s": 1}
    assert busy_s(did) == pytest.approx(0.85)
    assert busy_s({"user_s": 0.5}) is None
    assert watched_s(did) is None
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"cpu_s": 0.25}}}) == 0.75
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"memory_bytes": 1}}}) is None

"""How busy everyone was in a run, as shares of what each can do."""

import pytest

from campaigns.domain.judged.busy import Busy, MachineLoad, busy_of, mean_busy
from campaigns.domain.measured.machine_use import MachinePoint, machine_use


def injector(cpu: float, **means: float) -> dict:
    mean = {"cpu_share": cpu, **means}
    return {"shard": 0, "mean": mean, "worst": {}, "at": dict.fromkeys(mean, 0), "cpu_5s": None}


def test_the_busiest_injector_and_the_busiest_machine_count():
    busy = busy_of(
        [injector(0.2), injector(0.46)],
        [MachineLoad(0.30, 4, None), MachineLoad(0.94, 8, None)],
    )
    assert (busy.injector_cpu, busy.target_cpu, busy.target_cores) == (0.46, 0.94, 8)


def test_the_network_is_the_fullest_link_at_either_end():
    near = [injector(0.2, link_share=0.15)]
    assert busy_of(near, [MachineLoad(0.5, 2, 0.4)]).network == 0.4
    assert busy_of(near, []).network == 0.15


def test_what_nobody_told_is_absent_and_not_0():
    assert busy_of([], []) == Busy()
    assert Busy().network is None


def test_a_mean_is_over_the_runs_that_have_a_share():
    every = [Busy(target_cpu=0.9, target_cores=8), Busy(), Busy(target_cpu=0.8, injector_cpu=0.4)]
    assert mean_busy(every) == Busy(
        target_cpu=pytest.approx(0.85), target_cores=8, injector_cpu=0.4
    )
    assert mean_busy([]) == Busy()


def test_a_machine_s_link_is_as_full_as_its_busier_direction():
    did = {"received_bytes": 20, "sent_bytes": 160, "link_bytes_per_s": 100, "cores": [50, 50]}
    use = machine_use("shop-1", [MachinePoint(0, 2.0, did)])
    assert MachineLoad.of_use(use) == MachineLoad(None, 2, 0.8)

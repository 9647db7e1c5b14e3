"""What an injector's vitals say: means, worst seconds, and which of several injectors it was."""

from campaigns.domain.analysis.busy import observed_vitals
from campaigns.domain.metrics.measurement import Vitals

VITALS = {
    "cpu_share": 0.3, "other_cpu_share": 0.4, "other_cores": 3.2, "steal_share": 0.05,
    "run_delay_share": 0.1,
    "hub_lag_max_us": 900, "own_delay_p99_us": 70, "gc_pause_max_us": 12_000, "gc_share": 0.02,
    "open_files_share": 0.8, "ports_share": 0.9, "swapped_pages": 7, "clock_step_us": 60_000,
    "link_share": 0.85, "packets_lost_share": 0.02,
}  # fmt: skip


def rows(*injectors):
    """Each of these injectors with its vitals of one second."""
    found = []
    for shard, vitals in enumerate(injectors):
        seen = Vitals()
        seen.add(0, vitals)
        found.append({"shard": shard, **seen.to_json()})
    return found


def test_every_vital_is_a_criterion():
    values = {code: each.value for code, each in observed_vitals(rows(VITALS)).items()}
    assert values["cpu"] == 0.3
    assert values["steal"] == 0.05
    assert values["stall"] == 900
    assert (values["open_files"], values["ports"]) == (0.8, 0.9)
    assert (values["swapped"], values["clock_step"]) == (7, 60_000)
    assert (values["link"], values["packets_lost"]) == (0.85, 0.02)


def test_of_several_injectors_the_worst_is_named_by_its_number():
    seen = observed_vitals(rows(VITALS, VITALS | {"cpu_share": 0.6}))
    assert (seen["cpu"].value, seen["cpu"].injector) == (0.6, 2)

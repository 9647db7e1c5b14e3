"""What the vitals of a run's injector processes say: each criterion's worst one."""

from typing import Any

from campaigns.domain.judged.criteria import Observed

# Vitals by criterion: those judged by the run's mean, and those judged by the worst second.
_MEANS = {
    "cpu": "cpu_share",
    "throttled": "throttled_share",
    "steal": "steal_share",
    "other_cpu": "other_cpu_share",
    "other_cores": "other_cores",
    "gc_share": "gc_share",
}
_WORST = {
    "hub_lag": "hub_lag_max_us",
    "gc_pause": "gc_pause_max_us",
    "open_files": "open_files_share",
    "ports": "ports_share",
    "swapped": "swapped_pages",
    "clock_step": "clock_step_us",
    "link": "link_share",
    "packets_lost": "packets_lost_share",
}


def observed_vitals(vitals: list[dict[str, Any]]) -> dict[str, Observed]:
    """By the criterion's code, of a measurement's vitals: a row for each injector process."""
    seen: dict[str, Observed] = {}
    for code, vital in _MEANS.items():
        shards = [each for each in vitals if vital in each["mean"]]
        worst = max(shards, key=lambda each: each["mean"][vital], default=None)
        if worst:
            at = worst["at"][vital]
            seen[code] = Observed(worst["mean"][vital], at, injector_number(vitals, worst))
    for code, vital in _WORST.items():
        if worst := worst_shard(vitals, vital):
            at = worst["at"][vital]
            seen[code] = Observed(worst["worst"][vital], at, injector_number(vitals, worst))
    busiest = max(vitals, key=lambda each: each["cpu_5s"] or 0.0, default=None)
    if busiest and busiest["cpu_5s"] is not None:
        at = busiest["cpu_5s_at"]
        seen["cpu_5s"] = Observed(busiest["cpu_5s"], at, injector_number(vitals, busiest))
    return seen


def worst_shard(vitals: list[dict[str, Any]], vital: str) -> dict[str, Any] | None:
    """The row of the injector process with the worst second; None where none has this vital."""
    shards = [each for each in vitals if vital in each["worst"]]
    return max(shards, key=lambda each: each["worst"][vital], default=None)


def injector_number(vitals: list[dict[str, Any]], shard: dict[str, Any] | None) -> int | None:
    """The injector's number from 1; None if there is only one."""
    return shard["shard"] + 1 if shard and len(vitals) > 1 else None


def run_delay(vitals: list[dict[str, Any]]) -> Observed | None:
    """Waiting for a CPU as a share of the time in which the injector wanted one."""
    known = [each for each in vitals if {"run_delay_share", "cpu_share"} <= each["mean"].keys()]
    worst = max(known, key=_waiting_share, default=None)
    if worst is None:
        return None
    at = worst["at"]["run_delay_share"]
    return Observed(_waiting_share(worst), at, injector_number(vitals, worst))


def _waiting_share(shard: dict[str, Any]) -> float:
    waited, ran = shard["mean"]["run_delay_share"], shard["mean"]["cpu_share"]
    return waited / (waited + ran) if waited else 0.0

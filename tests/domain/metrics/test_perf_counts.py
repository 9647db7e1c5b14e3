import json

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.exporter import METRICS, read_exporter, samples_of
from campaigns.domain.metrics.machine import MachinePoint, MachineUse, machine_use
from campaigns.domain.metrics.profiles import (
    PerfOf,
    PerfReading,
    PerfUse,
    Profile,
    ProfiledFunction,
    perf_scope,
    perf_together,
    perf_use,
    read_profile,
)
from campaigns.domain.presentation.target_cost_tables import profile_table


def perf(of: str = "processes", lasted_s: float = 1.0, lacks=None, **counts) -> dict:
    by_event = {name.replace("_", "-"): count for name, count in counts.items()}
    return {"of": of, "lasted_s": lasted_s, "counts": by_event, "lacks": lacks or {}}


def reading(**counts: tuple[float, float, float]) -> PerfReading:
    """Of the whole machine; a count, and for how many seconds it was counted, by a counter."""
    names = ("events_total", "seconds_total", "running_seconds_total")
    return read_lines(
        f'{name}{{of="machine",event="{event}"}} {value}'
        for event, values in counts.items()
        for name, value in zip(names, values, strict=True)
    )


def read_lines(lines) -> PerfReading:
    text = "".join(f"benchsite_perf_{line}\n" for line in lines)
    return read_exporter(samples_of(text, METRICS)).perf


def test_what_was_counted_between_two_readings():
    before = reading(cycles=(1000, 2, 2), branches=(10, 2, 2))
    now = reading(cycles=(1600, 3, 2.75), branches=(30, 3, 3))
    assert now.since(before) == {
        "of": "machine",
        "lasted_s": 1.0,
        "counts": {"cycles": [600, 75], "branches": [20, 100]},
        "lacks": {},
    }
    assert now.since(PerfReading())["lasted_s"] == 3.0, "the agent began it since"
    assert now.since(now) is None
    assert before.since(now) is None, "the agent began anew"


def test_an_event_that_was_not_counted_all_the_time_is_left_out():
    """What was counted of it in a part would pass for a whole."""
    now = reading(cycles=(600, 1, 1), branches=(30, 0.75, 0.75))
    assert set(now.since(PerfReading())["counts"]) == {"cycles"}


def test_an_interval_that_is_no_second_tells_nothing():
    assert reading(cycles=(600, 60, 60)).since(PerfReading()) is None


def test_why_something_was_not_counted_is_read_and_nothing_that_is_not_known():
    counts = read_lines(
        [
            'lack{of="machine",event="branches",reason="not supported"} 1',
            'lack{of="machine",event="cycles:u",reason="tired"} 1',
            'lack{of="everything",event="branches",reason="not supported"} 1',
            'events_total{of="machine",event="colour"} 1',
            'events_total{of="machine",event="cycles"} 1',
            f'fault{{of="machine",reason="{"x" * 500}"}} 1',
        ]
    )
    assert counts.lacks == {("machine", "branches"): "not supported"}
    assert counts.totals == {}
    assert counts.since(PerfReading()) == {"of": "machine", "fault": "x" * 400}


def test_a_rate_is_over_the_seconds_in_which_the_event_was_counted():
    use = perf_use(
        [
            perf(task_clock=[400, 100], cycles=[900, 50]),
            perf(task_clock=[600, 100], lasted_s=3.0, lacks={"cycles": "not counted"}),
        ]
    )
    assert use.rates == {"task-clock": (250, 100), "cycles": (900, 50)}
    assert (use.lasted_s, use.lacks) == (4.0, {})


def test_what_the_machine_does_not_have_is_lacked_and_never_0():
    use = perf_use([perf(lacks={"cycles": "not supported"}), perf()])
    assert use.rates == {}
    assert use.lacks == {"cycles": "not supported"}


def test_the_last_fault_is_kept_beside_what_was_counted():
    use = perf_use([{"of": "processes", "fault": "None runs."}, perf(cycles=[5, 100])])
    assert (use.fault, use.rates["cycles"][0], use.lasted_s) == ("None runs.", 5, 1.0)


def test_a_run_has_the_counts_of_the_seconds_within_its_measurement():
    points = [
        MachinePoint(n, 1.0, {"perf": perf(cycles=[1000 if n in (0, 9) else 5, 100])})
        for n in range(10)
    ]
    use = machine_use("shop-1", points, 10)
    assert use.perf == PerfUse(PerfOf.PROCESSES, 8.0, {"cycles": (5, 100)})
    assert MachineUse.from_json(json.loads(json.dumps(use.to_json()))) == use


def test_machines_together_have_what_all_of_them_counted():
    one = PerfUse(PerfOf.MACHINE, 8.0, {"cycles": (5.0, 100), "branches": (2.0, 100)})
    other = PerfUse(PerfOf.MACHINE, 7.0, {"cycles": (6.0, 50)})
    assert perf_together([one, other]) == PerfUse(PerfOf.MACHINE, 7.0, {"cycles": (11.0, 50)})


TOLD = {
    "of": "processes",
    "lasted_s": 58.0,
    "samples": 200,
    "functions": [
        [120, "nginx", "libcrypto.so.3", "aes_gcm_enc"],
        [30, "nginx", "[kernel.kallsyms]", "tcp_sendmsg"],
    ],
}


def test_what_is_stored_is_what_the_agent_told():
    profile = read_profile(TOLD, 1058.0)
    assert Profile.from_json(profile.to_json()) == profile
    assert (profile.began_s, profile.lasted_s, profile.samples) == (1000, 58, 200)
    assert profile.functions[0] == ProfiledFunction(120, "nginx", "libcrypto.so.3", "aes_gcm_enc")


def test_a_profile_beyond_its_bounds_is_refused():
    for change in [
        {"of": "everything"},
        {"of": ""},
        {"functions": [[1, "a", "b"]]},
        {"samples": 100},
        {"functions": [[1, "a", "b", "c"]] * 31},
        {"functions": [[1, "a", "b", "c" * 201]]},
        {"functions": [[-1, "a", "b", "c"]]},
        {"functions": {}},
        {"lasted_s": -1},
        {"fault": 7},
    ]:
        with pytest.raises(InvalidFields):
            read_profile(TOLD | change, 1058.0)


def test_a_run_s_table_has_shares_of_all_samples():
    profile = read_profile(TOLD, 1058.0)
    table = profile_table("shop-1", profile, 60)
    assert [row.label for row in table.rows] == ["aes_gcm_enc", "tcp_sendmsg"]
    assert [row.cells[0].value for row in table.rows] == [60.0, 15.0]


def test_a_profile_is_of_what_is_counted_else_of_the_watched_processes():
    for perf, is_profiled, scope in [
        ("", False, ""),
        ("", True, "processes"),
        ("machine", True, "machine"),
    ]:
        assert perf_scope(perf, is_profiled=is_profiled) == scope

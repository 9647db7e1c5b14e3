import json

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.machine import AgentReport
from campaigns.domain.metrics.machine_use import MachinePoint, MachineUse, machine_use
from campaigns.domain.metrics.perf_counts import PerfOf, PerfUse, perf_together, perf_use


def perf(of: str = "processes", lasted_s: float = 1.0, lacks=None, **counts) -> dict:
    named = {name.replace("_", "-"): count for name, count in counts.items()}
    return {"of": of, "lasted_s": lasted_s, "counts": named, "lacks": lacks or {}}


def read(told) -> dict:
    second = {"at_s": 1e9, "did": {"perf": told}}
    return AgentReport.from_json({"host": "a", "seconds": [second]}).seconds[0].did["perf"]


def test_counts_are_read_with_what_is_known_of_them():
    told = perf(cycles=[3306, 83.25], lacks={"branches": "not supported"})
    newer = {"of_a_later_release": [], "colour": "red"}
    given = {
        **told,
        "counts": told["counts"] | newer,
        "lacks": told["lacks"] | newer | {"cycles:u": "tired"},
        **newer,
    }
    assert read(given) == told


def test_why_nothing_was_counted_is_read():
    fault = {"of": "machine", "fault": "perf is not installed."}
    assert read({**fault, "counts": {"cycles": [1, 100]}}) == fault


def test_what_cannot_be_is_refused_by_its_place():
    for told in [
        7,
        {},
        perf(of="everything"),
        perf(of=["machine"]),
        perf(lasted_s=0),
        perf(lasted_s=61),
        perf(cycles=7),
        perf(cycles=[7]),
        perf(cycles=[-1, 100]),
        perf(cycles=[1, 101]),
        perf(cycles=[1e19, 100]),
        perf(cycles=[True, 100]),
        perf(cycles=["7", 100]),
        {**perf(), "counts": []},
        {**perf(), "lacks": 7},
        {"of": "machine", "fault": "x" * 401},
        {"of": "machine", "fault": 7},
    ]:
        with pytest.raises(InvalidFields) as refused:
            read(told)
        assert all(path.startswith("report.seconds.0.did.perf") for path in refused.value.errors)


def test_a_rate_is_over_the_seconds_in_which_the_event_was_counted():
    use = perf_use(
        [
            perf(task_clock=[400, 100], cycles=[900, 50]),
            perf(task_clock=[600, 100], lasted_s=3.0, lacks={"cycles": "not counted"}),
        ]
    )
    assert use.rates == {"task-clock": (250, 100), "cycles": (900, 50)}
    assert (use.lasted_s, use.lacks) == (4.0, {})


def test_the_share_that_an_event_was_counted_is_that_of_the_time():
    use = perf_use([perf(cycles=[1, 100]), perf(cycles=[1, 40], lasted_s=3.0)])
    assert use.rates["cycles"] == (0.5, 55)


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

"""The fault lab draws what can be repeated, believes no run, and counts what it broke."""

from collections.abc import Sequence
from itertools import cycle, islice

import pytest

from benchmarks.faults.kinds import KINDS, Reach, RunPhase
from benchmarks.faults.report import Struck, markdown, quantile
from benchmarks.faults.results import Results, RoundResult, summary
from benchmarks.faults.rounds import Fault, rounds
from benchmarks.faults.verdicts import (
    NS,
    Seen,
    Truth,
    faults_of,
    hits_all_load,
    silent_after_s,
)

pytestmark = pytest.mark.pure
ALL = list(KINDS.values())
PLAN = Truth(planned=4)


def arrived(*at_ns: int, connections: Sequence[int] = (1,)) -> dict[str, tuple]:
    """At these times, on these connections in turns."""
    return {"arrivals": tuple(zip(at_ns, cycle(connections)))}


SECONDS = {(0, 0, 0): 2, (0, 1, 0): 2}
COMPLETE = {
    "outcome": "complete",
    **arrived(1, 2, 3, 4),
    "stored": SECONDS,
    "spooled": SECONDS,
    "epochs": ((0, 1),),
}


def found(truth: Truth = PLAN, **fields) -> list[str]:
    return faults_of(Seen(**{**COMPLETE, **fields}), truth, ended_ns=9)


def test_a_round_can_be_repeated_alone():
    first_ten = list(islice(rounds(7, ALL), 10))
    assert next(rounds(7, ALL, first=10)) == first_ten[9]
    assert next(rounds(8, ALL, first=10)) != first_ten[9]


def test_a_round_breaks_nothing_twice():
    for round_ in islice(rounds(1, ALL), 200):
        parts = [fault.kind.part for fault in round_.faults]
        assert len(parts) == len(set(parts)) > 0
        assert all(fault.phase in fault.kind.phases for fault in round_.faults)


def test_all_kinds_strike_in_all_their_phases():
    drawn = {
        (fault.kind.name, fault.phase)
        for round_ in islice(rounds(1, ALL), 5000)
        for fault in round_.faults
    }
    assert drawn == {(kind.name, phase) for kind in ALL for phase in kind.phases}


def test_a_whole_run_has_nothing_wrong():
    assert found() == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"spooled": {**SECONDS, (0, 2, 0): 1}}, "lost: second 2 of shard 0"),
        ({"spooled": {**SECONDS, (0, 1, 0): 3}}, "changed: second 1 of shard 0"),
        ({"epochs": ((0, 1), (0, 2))}, "two leases of shard 0 have measured"),
        (arrived(1, 2, 3, 4, 5), "5 requests arrived of 4"),
        (arrived(1, 2, 3, 9 + NS), "load 1.0 s after the end of its run"),
        (arrived(1, 2, 3), "complete with 4 requests, of which 3 arrived"),
        ({"reason": "It hurt."}, "complete, and yet: It hurt."),
        ({"outcome": "partial"}, "partial without a reason"),
        ({"stored": {(0, 0, 0): 2}, "spooled": {}}, "complete with 2 requests of 4"),
    ],
)
def test_what_is_wrong_is_said(fields, said):
    assert said in found(**fields)


def test_what_was_on_its_way_to_a_target_that_was_away_is_one_request_for_each_connection():
    away = Truth(planned=4, may_lack_arrivals=True)
    late = (1, 2, 10, 11)
    assert found(away, **arrived(*late, connections=[1, 2])) == []
    assert found(away, **arrived(*late)) == ["load 0.0 s after the end of its run"]
    assert found(PLAN, **arrived(*late, connections=[1, 2])) != []


def test_a_reason_is_true_of_a_fault_that_was_planted():
    reason = "Injector process 1 of 2: It hurt. Injector process 2 of 2: It hurt."
    ended = {"outcome": "partial", "reason": reason, "page": f"<p>{reason}</p>"}
    assert found(Truth(planned=4, causes=[r"It hurt\."]), **ended) == []
    (untrue,) = found(**ended)
    assert untrue.startswith("partial for a reason that is not true: It hurt.")
    (unseen,) = found(Truth(planned=4, causes=[r"It hurt\."]), **{**ended, "page": ""})
    assert unseen.startswith("not on its page")


def test_silence_counts_from_the_fault_of_a_run_that_was_sending():
    assert silent_after_s([1 * NS, 3 * NS], 2 * NS) == 1.0
    assert silent_after_s([1 * NS, 3 * NS], 4 * NS) == 0.0
    assert silent_after_s([3 * NS], 2 * NS) is None


@pytest.mark.parametrize(
    ("reach", "hosts", "n_shards", "is_victim", "ends"),
    [
        (Reach.RUN, {"host-1"}, 1, True, True),
        (Reach.RUN, {"host-1"}, 1, False, False),
        (Reach.RUN, {"host-1"}, 2, True, False),
        (Reach.HOST, {"host-1"}, 2, False, True),
        (Reach.HOST, {"host-1", "host-2"}, 2, True, False),
        (Reach.HOST, {"host-2"}, 1, True, False),
        (Reach.ALL, {"host-1", "host-2"}, 2, False, True),
    ],
)
def test_a_fault_has_to_silence_only_runs_all_of_whose_injectors_it_hits(
    reach, hosts, n_shards, is_victim, ends
):
    seen = Seen("partial", hosts=frozenset(hosts), n_shards=n_shards)
    assert hits_all_load(reach, "host-1", is_victim=is_victim, seen=seen) is ends


def test_the_table_counts_by_kind_and_phase():
    kind = KINDS["injector killed"]
    early = Fault(kind, RunPhase.WARM_UP, 0, 0.5, 0.0)
    late = Fault(kind, RunPhase.MEASURED, 0, 0.5, 0.0)
    struck = [Struck(early, True, (0.1,)), Struck(late, True, (0.3,)), Struck(late, False, (0.2,))]
    *_, row, total = markdown(struck)
    assert row.startswith(
        "| injector killed |  |  | 1 of 1 | 1 of 2 |  |  | 1 | 0.2, 0.3, 0.3 s (3)"
    )
    assert total.startswith("| all 3 |")


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.99, 3.0), (0.1, 1.0)])
def test_a_quantile_is_one_of_the_values(share, value):
    assert quantile([3.0, 1.0, 2.0], share) == value


def a_result(seed: int, number: int, **fields) -> RoundResult:
    kind = KINDS["injector killed"]
    struck = (Struck(Fault(kind, RunPhase.MEASURED, 0, 0.25, 0.5), True, (0.1,)),)
    at = "2026-11-23T18:00:00+00:00"
    given = {"took_s": 12.0, "load": 20.0, "struck": struck, **fields}
    return RoundResult(seed, number, at, **given)


def test_labs_add_up_in_a_folder(tmp_path):
    first = a_result(1, 1)
    second = a_result(2, 1, load=30.0, broken=("run 3 is stuck in armed",))
    Results(tmp_path).add(first)
    Results(tmp_path).add(second)
    found = Results(tmp_path).all()
    assert found == [first, second]
    assert summary(found) == (
        "2 faults in 2 rounds of seeds 1, 2, 12.0 s a fault, 1 rounds broken; "
        "load average 20 to 30, median 25"
    )


def test_a_lab_goes_on_after_the_last_round_of_its_seed(tmp_path):
    results = Results(tmp_path)
    assert results.next_round(1) == 1
    for number in (1, 2):
        results.add(a_result(1, number))
    assert (results.next_round(1), results.next_round(2)) == (3, 1)

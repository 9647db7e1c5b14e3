"""What the real runs of `make benchmark ARGS=judgement` are compared with."""

import pytest

from benchmarks import judgement
from benchmarks.judgement import _Levels, counted_plans, differences
from benchmarks.selection import Selection
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.plan.plan import Plan
from campaigns.management.study import MODES
from tests.values import make_second, plan_spec


def test_it_starts_its_own_servers_and_injectors():
    assert not Selection(frozenset({"judgement"})).wants_the_injector
    assert Selection(frozenset()).wants("judgement")


@pytest.mark.parametrize(
    ("seen", "off"),
    [
        (_Levels(20.2, 20.2, 22.2), set()),
        (_Levels(21.9, 21.9, 24.3), set()),
        (_Levels(22.3, 20.2, 22.2), {"mean"}),
        (_Levels(20.2, 22.3, 22.2), {"p50"}),
        (_Levels(20.2, 20.2, 24.6), {"high"}),
    ],
)
def test_a_run_is_off_beyond_a_tenth_of_the_log_and_the_usual_way_back(seen, off):
    truth, usual = _Levels(20, 20, 22), _Levels(0.2, 0.2, 0.2)
    assert judgement._off(seen, truth, usual) == off


def test_of_fast_replies_what_any_client_adds_is_not_off():
    truth, usual = _Levels(1, 1, 1.2), _Levels(0.1, 0.1, 0.1)
    assert not judgement._off(_Levels(1.35, 1.35, 2.25), truth, usual)
    assert judgement._off(_Levels(1.35, 1.55, 2.25), truth, usual) == {"p50"}


def test_the_sample_campaigns_own_tests_are_tried():
    assert [(s, mode) for s, modes in MODES.items() for mode in modes] == judgement._SAMPLE_ARMS


def test_forty_plans_cover_every_load_every_way_with_and_without_resets():
    plans = counted_plans()
    assert len(plans) == 40
    assert {kind for _, kind, _, _ in plans} == {"healthy", "resetting"}
    assert {(scheme, mode) for *_, scheme, mode in plans} == set(judgement._WAYS)
    for plan, *_ in plans:
        Plan.from_json(plan)


def test_a_request_that_the_server_did_not_see_is_a_difference():
    seen = Measurement(Plan.from_json(plan_spec(model="closed", connections=1, requests=2)))
    counters = {"connections_opened": 1}
    seen.add(make_second(0, [1000, 1000], counters=counters))
    lines = [{"method": "POST", "connection": 0, "is_reset": False}] * 2
    assert differences(seen.settle(), lines) == []
    assert differences(seen, lines[:1]) == [
        "requests by method {'POST': 2}, log {'POST': 1}",
        "ok 2, log 1",
    ]

"""The arithmetic of the part that compares the agent's figures with those of others."""

import pytest

from benchmarks.selection import Selection
from benchmarks.target_side import DURATION_S, RATE_PER_S, Watched, cpu_line, network_line
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.plan.plan import Plan
from tests.values import make_second, plan_spec
from workers.agent.machine import Interval

pytestmark = pytest.mark.pure
BEGAN_S, N = 100.3, RATE_PER_S * DURATION_S


def watched(used_s: float, cpu_s: float = 0.2) -> Watched:
    """Samples on whole seconds of a load that begins between two; a second around it is idle."""
    seen = Watched(began_ns=int(BEGAN_S * 1e9), used_s=used_s)
    for second in range(98, 98 + DURATION_S + 5):
        share = max(0.0, min(second + 1, BEGAN_S + DURATION_S) - max(second, BEGAN_S))
        values = {
            "processes": {"pid:1": {"cpu_s": cpu_s * share}},
            "loopback_bytes": 202_400 * share,
            "segments_sent": 2000 * share,
        }
        seen.add(Interval(int((second + 0.5) * 1e9), 1.0, values))
    return seen


@pytest.fixture
def measurement() -> Measurement:
    spec = plan_spec(model="open", rate_per_s=RATE_PER_S, duration_s=DURATION_S)
    seen = Measurement(Plan.from_json(spec))
    for second in range(DURATION_S):
        each = make_second(second, [5000] * RATE_PER_S)
        each.counters |= {
            "wire_sent": 20_000, "wire_received": 75_200, "connections_opened": RATE_PER_S
        }  # fmt: skip
        seen.add(each)
    return seen.settle()


@pytest.mark.parametrize(("used_s", "is_met"), [(4.0, True), (4.1, True), (4.2, False)])
def test_the_cpu_time_is_that_of_a_pages_cost_wherever_the_load_begins(measurement, used_s, is_met):
    line = cpu_line("http", watched(used_s), measurement)
    assert line.measured.startswith(f"agent 1.000, getrusage {1000 * used_s / N:.3f}")
    assert line.is_met is is_met


def test_the_network_is_what_connections_carried_with_the_headers_of_every_segment(measurement):
    line = network_line("http", watched(4.0), measurement)
    assert (line.measured, line.is_met) == ("agent 4.048, injector 4.048: +0.0 %", True)


def test_it_is_a_part_of_the_table_that_needs_no_other_server():
    selection = Selection(frozenset({"target-side"}))
    assert selection.wants("target-side")
    assert not selection.wants_the_injector

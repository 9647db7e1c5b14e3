import pytest

from campaigns.queries.probes import ProbePhase
from campaigns.views.drawings import draw_waterfall


def phase(name, start_us, duration_us):
    return ProbePhase(name, start_us, duration_us, "", f"{duration_us / 1000:.2f}", "")


PHASES = [phase("connect", 0, 1000), phase("wait", 1000, 3000)]


def test_each_bar_begins_where_the_one_before_ends():
    connect, wait = draw_waterfall(PHASES).bars
    assert connect.end == wait.x
    assert wait.width == pytest.approx(3 * connect.width)
    assert wait.y > connect.y
    assert wait.text == "3.00 ms"


def test_ticks_are_round_and_stay_within_the_drawing():
    waterfall = draw_waterfall(PHASES)
    assert [tick.text for tick in waterfall.ticks] == ["0", "1", "2", "3", "4"]
    assert waterfall.ticks[-1].at == 100


@pytest.mark.parametrize("duration_us", [1, 7, 999, 1_000_001, 15_000_000])
def test_there_are_a_few_ticks_whatever_a_request_takes(duration_us):
    waterfall = draw_waterfall([phase("wait", 0, duration_us)])
    assert 2 <= len(waterfall.ticks) <= 6
    assert waterfall.ticks[-1].at <= 102

"""Stages: what is typed, how many arrivals they make, and when each is due."""

from fractions import Fraction
from math import isqrt

from hypothesis import example, given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import LoadSlice, schedule
from campaigns.domain.plan.load import (
    Load,
    Model,
    Stage,
    count_staged,
    planned_arrivals,
    stages_of_text,
    text_of_stages,
)
from tests.domain.plan.reading import dues, faults

NS = 1_000_000_000
UP_AND_DOWN = (Stage(30, 10, 10), Stage(60, 10, 50), Stage(5, 0, 0), Stage(30, 50, 0))


def load_of(*stages, **fields):
    return Load(Model.OPEN, stages=stages, **fields)


def test_the_number_of_arrivals_is_the_exact_integral():
    for stages, count in [
        ((Stage(10, 37.5, 37.5),), 375),
        ((Stage(10, 0, 20),), 100),
        ((Stage(10, 20, 0),), 100),
        ((Stage(1, 3, 3),), 3),
        ((Stage(1.1, 3, 3),), 4),
        ((Stage(0.1, 0.1, 0.1),), 1),
        (UP_AND_DOWN, 300 + 1800 + 0 + 750),
        ((Stage(1, 0.1, 0.2),) * 20, 3),
    ]:
        load = load_of(*stages)
        assert count_staged(stages) == planned_arrivals(load) == count
        assert len(dues(load)) == len(schedule(load)) == count


def test_steps_are_even_within_and_begin_where_they_begin():
    offsets = dues(load_of(Stage(2, 2, 2), Stage(1, 4, 4)))
    assert offsets == [0, NS // 2, NS, 3 * NS // 2, 2 * NS, 9 * NS // 4, 5 * NS // 2, 11 * NS // 4]


def test_a_pause_sends_nothing_and_what_it_holds_up_comes_at_its_end():
    offsets = dues(load_of(Stage(1, 4, 4), Stage(3, 0, 0), Stage(1, 2, 2)))
    assert offsets == [0, NS // 4, NS // 2, 3 * NS // 4, 4 * NS, 9 * NS // 2]


@given(duration=st.integers(1, 60), start=st.integers(0, 400), end=st.integers(0, 400))
@example(duration=600, start=0, end=400)
def test_a_ramp_is_integrated_exactly(duration, start, end):
    """∫ rate over [0, t] is k: t by integer square roots to a thousandth of a nanosecond."""
    offsets = dues(load_of(Stage(duration, start, end))) if start + end else []
    for number, due in enumerate(offsets[:: max(1, len(offsets) // 50)]):
        k = number * max(1, len(offsets) // 50)
        assert abs(due - _exact_ns(duration, start, end, k)) <= 2


def _exact_ns(duration, start, end, k):
    """The smaller root of s·t²/2 + a·t − k = 0, with s = (b − a)/D."""
    slope = Fraction(end - start, duration)
    if not slope:
        return float(Fraction(k, start) * NS)
    unit = 10**40
    inside = Fraction(start * start) + 2 * slope * k
    root = Fraction(isqrt(int(inside * unit * unit)), unit)
    return float((root - start) / slope * NS)


def test_shards_send_the_stages_together():
    for count in [2, 5]:
        for distribution in ["deterministic", "exponential"]:
            load = load_of(*UP_AND_DOWN, distribution=distribution)
            whole = list(schedule(load, 2, LoadSlice(), 9))
            parts = [list(schedule(load, 2, LoadSlice(i, count), 9)) for i in range(count)]
            assert sorted(pair for part in parts for pair in part) == whole
            assert len(whole) == 20 + planned_arrivals(load)
            assert whole[0][1] >= -2 * NS


def test_random_arrivals_follow_the_rate():
    offsets = dues(load_of(*UP_AND_DOWN, distribution="exponential"), seed=4)
    assert len(offsets) == 2850
    assert max(offsets) < 125 * NS
    assert not [due for due in offsets if 90 * NS < due < 95 * NS]
    in_the_first = sum(due < 30 * NS for due in offsets)
    # Binomial: 300 expected, 16 is one standard deviation.
    assert 220 < in_the_first < 380


def test_stages_are_read_as_they_are_typed():
    for text, stages in [
        ("30: 10", [(30, 10, 10)]),
        ("30s:10/s", [(30, 10, 10)]),
        ("500ms: 10, 2min: 30-60/min", [(0.5, 10, 10), (120, 0.5, 1)]),
        ("30: 10\n 60 : 10 - 50 \n\n", [(30, 10, 10), (60, 10, 50)]),
        ("1.5: .5, 2: 0-0.25; 3: 0", [(1.5, 0.5, 0.5), (2, 0, 0.25), (3, 0, 0)]),
        ("", []),
    ]:
        names = ("duration_s", "from_per_s", "to_per_s")
        read = stages_of_text(text)
        assert read == [dict(zip(names, each, strict=True)) for each in stages]
        assert stages_of_text(text_of_stages(read)) == read


def test_what_cannot_be_read_stays_as_it_is():
    for text in ["30", "30: fast", "30: -5", "1e3: 5", ": 5", "30:"]:
        assert stages_of_text(text) == [text]


STAGE = {"duration_s": 5, "from_per_s": 2}


def test_what_is_wrong_with_stages_is_at_its_field():
    for fields, field in [
        ({"stages": "30: 10"}, "stages"),
        ({"stages": ["often"]}, "stages"),
        ({"stages": [STAGE, {"from_per_s": 1}]}, "stages"),
        ({"stages": [STAGE | {"duration_s": 0}]}, "stages"),
        ({"stages": [STAGE | {"to_per_s": -1}]}, "stages"),
        ({"stages": [STAGE | {"pace": 1}]}, "stages"),
        ({"stages": [STAGE | {"from_per_s": 0}]}, "stages"),
        ({"stages": [STAGE] * 101}, "stages"),
        ({"stages": [STAGE | {"duration_s": 40_000}] * 2}, "stages"),
        ({"stages": [{"duration_s": 9999, "from_per_s": 99_999}]}, "stages"),
        ({"stages": [STAGE], "rate_per_s": 5}, "rate_per_s"),
        ({"stages": [STAGE], "requests": 5}, "requests"),
        ({"stages": [STAGE], "duration_s": 5}, "duration_s"),
        (
            {"stages": [STAGE], "distribution": "uniform", "uniform_min_s": 1, "uniform_max_s": 2},
            "stages",
        ),
        ({"stages": [STAGE], "model": "closed", "connections": 1}, "stages"),
    ]:
        assert f"load.{field}" in faults(load={"model": "open"} | fields)

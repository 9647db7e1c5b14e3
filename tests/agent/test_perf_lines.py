"""What perf prints, and for which second it counts."""

import pytest

from workers.agent.machine import Interval
from workers.agent.perf_lines import USER_ONLY, PerfIntervals, PerfLine, line_of

pytestmark = pytest.mark.pure
S = 1_000_000_000


def interval(middle_s: float, lasted_s: float = 1.0) -> Interval:
    return Interval(round(middle_s * S), lasted_s, {})


def printed(intervals: PerfIntervals, *blocks: tuple[float, float], began_s: float = 100) -> None:
    """Blocks of (until, cycles) of a perf that began at `began_s`."""
    for until_s, cycles in blocks:
        line = PerfLine(until_s, "cycles", cycles, 100.0)
        intervals.add(line, round((began_s + until_s) * S))


def test_a_line_is_an_event_with_its_count_or_why_it_has_none():
    for text, line in [
        (
            "     1.003584035;8.04;msec;task-clock;8043000;100.00;0.008;CPUs utilized\n",
            PerfLine(1.003584035, "task-clock", 8.04, 100),
        ),
        (
            "     2.0;186462389466;;cycles;83250000;83.25;;",
            PerfLine(2.0, "cycles", 186462389466, 83.25),
        ),
        (
            "     1.0;<not supported>;;branches;0;100.00;;",
            PerfLine(1.0, "branches", None, 100, "not supported"),
        ),
        (
            "     1.0;<not counted>;;cycles;0;0.00;;",
            PerfLine(1.0, "cycles", None, 0, "not counted"),
        ),
        ("     1.0;7;;page-faults:u;900;100.00;;", PerfLine(1.0, "page-faults:u", 7, 100)),
    ]:
        assert line_of(text) == line


def test_what_did_not_run_counted_nothing():
    """perf had counters all the time, and nothing to count."""
    assert line_of("     1.0;<not counted>;;cycles;0;100.00;;").count == 0


def test_a_user_who_may_not_count_the_kernel_has_no_context_switches():
    line = line_of("     1.0;0;;context-switches:u;1000;100.00;;")
    assert (line.count, line.lack) == (None, USER_ONLY)


def test_what_is_no_count_is_none():
    for text in ["", "\n", "Error:", "a;b;c;d;e;f", "1.0;2;;cycles", "# time;"]:
        assert line_of(text) is None


def test_an_interval_counts_for_the_sampled_second_in_which_its_middle_is():
    perf = PerfIntervals()
    printed(perf, (1.3, 10), (2.3, 20), (3.3, 30))  # middles at 100.65, 101.8 and 102.8
    told = [perf.take(interval(second + 0.5)) for second in (100, 101, 102)]
    assert [each["counts"]["cycles"] for each in told] == [[10, 100], [20, 100], [30, 100]]
    assert [each["lasted_s"] for each in told] == [1.3, 1.0, 1.0]


def test_two_intervals_of_a_second_add_up_by_their_length():
    perf = PerfIntervals()
    perf.add(PerfLine(0.6, "cycles", 6, 100.0), round(100.6 * S))
    perf.add(PerfLine(0.9, "cycles", 3, 40.0), round(100.9 * S))
    told = perf.take(interval(100.5))
    assert told["counts"] == {"cycles": [9, 80.0]}
    assert told["lasted_s"] == 0.9


def test_what_was_counted_in_a_gap_belongs_to_no_second():
    perf = PerfIntervals()
    printed(perf, (1, 10), (2, 20), (3, 30))
    assert perf.take(interval(102.5))["counts"] == {"cycles": [30, 100]}
    assert perf.take(interval(103.5)) is None


def test_an_interval_that_is_no_second_is_left_out():
    """Agent and perf were stopped together for a minute."""
    perf = PerfIntervals()
    printed(perf, (1, 10), (61, 20), (62, 30))
    perf.take(interval(100.5))
    assert perf.take(interval(130.5)) is None
    assert perf.take(interval(161.5))["counts"] == {"cycles": [30, 100]}


def test_the_line_that_came_quickest_tells_when_perf_began():
    perf = PerfIntervals()
    perf.add(PerfLine(1, "cycles", 10, 100.0), round(101.4 * S))  # read 0.4 s late
    perf.add(PerfLine(2, "cycles", 20, 100.0), round(102.0 * S))
    assert perf.began_ns == 100 * S
    assert not perf.is_off


def test_a_perf_whose_clock_stood_still_is_off():
    perf = PerfIntervals()
    printed(perf, (1, 10))
    perf.add(PerfLine(2, "cycles", 20, 100.0), 3700 * S)
    assert perf.is_off


def test_an_event_that_was_counted_in_a_part_of_the_second_was_not_counted():
    perf = PerfIntervals()
    perf.add(PerfLine(0.5, "cycles", None, 0.0, "not counted"), round(100.5 * S))
    perf.add(PerfLine(1.0, "cycles", 5, 100.0), 101 * S)
    told = perf.take(interval(100.5))
    assert (told["counts"], told["lacks"]) == ({}, {"cycles": "not counted"})

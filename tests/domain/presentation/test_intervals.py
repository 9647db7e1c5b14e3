"""Intervals and differences have the digits that they are known to."""

from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import RatioInterval
from campaigns.domain.presentation.intervals import (
    change_decimals,
    change_ends,
    least_change,
    size_words,
)
from campaigns.domain.presentation.overhead_table import overhead_table
from campaigns.domain.presentation.tables import Figure, ratio_cells


def test_the_upper_end_of_repeats_that_differ_is_not_told_to_the_digit():
    for ratio, low, high, ends in [
        (1.54, 1.52, 1.56, ("+52.0", "+56.0")),
        (0.9, 0.8, 1.05, ("−20.0", "+5.0")),
        (1.3, 0.2, 9.14, ("−80.0", "+814.0")),
        (1.3, 0.2, 11.0, ("−80.0", "+1,000.0")),
        (1.3, 0.2, 12.0, ("−80.0", "more than +1,000")),
        (0.11, 0.0, 6.5e10, ("−100.0", "more than +1,000")),
        (12.0, 11.9, 12.1, ("+1,090.0", "+1,110.0")),
        (20.2, 0.02, 18_534.0, ("−98.0", "more than +10,000")),
        (11.0, 10.9, 12.0, ("+990.0", "+1,100.0")),
    ]:
        assert change_ends(ratio, low, high) == ends


def test_an_end_is_rounded_once():
    assert change_ends(1.004, 1.00346, 1.00449) == ("+0.3", "+0.4")
    assert change_ends(1.004, 1.00344, 1.004496) == ("+0.3", "+0.4"), "not 0.4496 to 0.450 to 0.5"
    assert change_ends(1.1, 1.0005, 1.1235) == ("+0.1", "+12.4"), (
        "a half is one, whatever floats say"
    )


def test_an_interval_has_as_many_decimals_as_it_is_narrow():
    assert [change_decimals(1.0, 1.0 + width) for width in (0.05, 0.005, 0.0005)] == [0, 1, 2]


def test_a_size_has_no_signs_where_a_word_tells_the_direction():
    assert size_words(0.88, 0.85, 0.91) == "−12\u202f% [−15, −9]"
    assert size_words(0.88, 0.85, 0.91, signed=False) == "12\u202f% [9, 15]"
    assert size_words(1.12, 1.09, 1.15, signed=False) == "12\u202f% [9, 15]"
    assert size_words(3.0, 1.09, 700, signed=False) == "200\u202f% [9, more than 1,000]"


def test_the_ends_of_a_very_narrow_interval_do_not_look_alike():
    assert size_words(1.05, 1.04996, 1.05004) == "+5.000\u202f% [+4.996, +5.004]"
    assert size_words(0.95, 0.9496, 0.9504, signed=False) == "5.00\u202f% [4.96, 5.04]"
    assert size_words(1.05, 1.05, 1.05) == "+5.0\u202f% [+5.0, +5.0]", "repeats that are equal"
    assert size_words(3.0, 1.09, float("inf"), signed=False) == "200\u202f% [9, more than 1,000]"


def test_an_end_that_is_not_0_does_not_read_0():
    for low, high, ends in [
        (1.002, 1.11, ("+0.2", "+11")),
        (0.89, 0.9996, ("−11", "−0.04")),
        (1.0, 1.11, ("0", "+11")),
        (1 + 1e-15, 1.11, ("0", "+11")),
        (0.9, 1.003, ("−10", "+0.3")),
    ]:
        assert change_ends(1.05, low, high, decimals=0) == ends


def test_neither_does_a_ratio_beside_1_read_1():
    cells = ratio_cells([Figure(each) for each in (1.0004, 0.99998, 1.0, 1 + 1e-15, 1.0521, None)])
    assert [cell.text for cell in cells] == ["1.0004", "0.99998", "1.000", "1.000", "1.052", "–"]
    assert [cell.value for cell in cells] == [1.0004, 0.99998, 1.0, 1.0, 1.052, None]


def test_a_smallest_change_of_some_does_not_read_0():
    texts = [least_change(share) for share in (0.024, 0.0004, 0.0, 12.0)]
    assert texts == ["2.4", "0.04", "0.0", "more than 1,000"]


def row(metric: str, low: float, high: float) -> PairResult:
    """9.778 ms against 14.300 ms, with this interval of their ratio."""
    ratio = 14.3 / 9.778
    interval = RatioInterval(ratio, low, high, 3, baseline=9_778, candidate=14_300)
    return PairResult(metric, 9_778, 14_300, interval)


def test_a_difference_has_no_more_digits_than_its_interval_supports():
    for low, high, text in [
        (1.46, 1.465, "+4.52"),  # known to 0.05 ms
        (1.42, 1.50, "+4.5"),  # to 0.8 ms
        (1.2, 1.8, "+5"),  # to 6 ms
    ]:
        table = overhead_table("k", "T", [row("mean", low, high), row("p95", 1.1, 2)], None, "")
        for each in table.rows:
            baseline, candidate, difference, *_ = (cell.text for cell in each.cells)
            assert (baseline, candidate, difference) == ("9.78", "14.30", text)


def test_a_row_of_a_smaller_difference_than_the_average_s_does_not_read_0_0():
    """Such as of the minimum: 0.108 ms against 0.149 ms."""
    least = PairResult("min", 108, 149, None)
    mean, minimum = overhead_table("k", "T", [row("mean", 1.2, 1.8), least], None, "").rows
    assert [each.cells[2].text for each in (mean, minimum)] == ["+5", "+0.04"]


def test_a_small_difference_is_never_0_0_however_wide_its_interval_is():
    interval = RatioInterval(522 / 481, 0.62, 1.91, 3, baseline=481, candidate=522)
    mean = PairResult("mean", 481, 522, interval)
    (line,) = overhead_table("k", "T", [mean], None, "").rows
    assert line.cells[2].text == "+0.04"

"""The table of an overhead: a difference has no more digits than it is known to."""

import pytest

from campaigns.domain.judged.overhead import OverheadRow
from campaigns.domain.judged.ratio import RatioInterval
from campaigns.domain.shown.overhead_table import overhead_table

REST = {"se": 0.01, "df": 2, "k": 3, "p_value": 0.01, "is_paired": True, "logs": ()}


def row(metric: str, low: float, high: float) -> OverheadRow:
    """9.778 ms against 14.300 ms, with this interval of their ratio."""
    ratio = 14.3 / 9.778
    interval = RatioInterval(9_778, 14_300, ratio, low, high, **REST)
    return OverheadRow(metric, 9_778, 14_300, interval)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.46, 1.465, "+4.52"),  # known to 0.05 ms
        (1.42, 1.50, "+4.5"),  # to 0.8 ms
        (1.2, 1.8, "+5"),  # to 6 ms
    ],
)
def test_a_difference_has_no_more_digits_than_its_interval_supports(low, high, said):
    table = overhead_table("k", "T", [row("mean", low, high), row("p95", 1.1, 2)], None, "")
    for each in table.rows:
        baseline, candidate, difference, *_ = (cell.text for cell in each.cells)
        assert (baseline, candidate, difference) == ("9.78", "14.30", said)


def test_a_row_of_a_smaller_difference_than_the_average_s_does_not_read_0_0():
    """Such as of the minimum: 0.108 ms against 0.149 ms."""
    least = OverheadRow("min", 108, 149, None)
    mean, shown = overhead_table("k", "T", [row("mean", 1.2, 1.8), least], None, "").rows
    assert [each.cells[2].text for each in (mean, shown)] == ["+5", "+0.04"]


def test_a_small_difference_is_never_0_0_however_wide_its_interval_is():
    interval = RatioInterval(481, 522, 522 / 481, 0.62, 1.91, **REST)
    mean = OverheadRow("mean", 481, 522, interval)
    (shown,) = overhead_table("k", "T", [mean], None, "").rows
    assert shown.cells[2].text == "+0.04"

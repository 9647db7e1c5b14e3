import json
from collections import Counter
from decimal import ROUND_DOWN, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.analysis.ratio import (
    mean_interval,
    one_request_explains,
    outlier_flags,
    ratio_interval,
    typical_interval,
)
from campaigns.domain.metrics.figures import Figures, figures_of
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.units import rounded

GOLDEN = Path(__file__).parents[2] / "golden" / "uniserve_repeats.json"
TABLES = {table["key"]: table for table in json.loads(GOLDEN.read_text())["tables"]}


def column(key: str, index: int) -> list[float]:
    return [float(row[index]) for row in TABLES[key]["rows"]]


def how_printed(mean: float, text: str) -> str:
    """exact, rounded, truncated or wrong: what the study did with this mean."""
    figure, exact = Decimal(text), Decimal(repr(mean))
    decimals = -figure.as_tuple().exponent
    if mean == pytest.approx(float(text), rel=1e-12):
        return "exact"
    if rounded(mean, decimals) == figure:
        return "rounded"
    if exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_DOWN) == figure:
        return "truncated"
    return "wrong"


def test_the_mean_rows_are_those_of_the_study_in_all_sixty_cells():
    counts = Counter(
        how_printed(mean_interval(column(table["key"], index)).mean, text)
        for table in TABLES.values()
        for index, text in enumerate(table["printed_mean_row"])
    )
    assert counts == {"exact": 30, "rounded": 29, "truncated": 1}


def test_the_interval_between_runs_is_the_t_interval():
    for key, cv, low, high in [
        ("P1.L1.uni.local", 15.33, 3.7809, 5.5581),
        ("P1.L2.uni.local", 16.88, 19.5426, 29.9085),
        ("P1.R1.uni.pc", 8.41, 60.7812, 74.9572),
        ("P1.R2.uni.blade", 0.14, 17.4371, 17.4989),
        ("P1.R2.apache", 3.67, 11.6447, 12.7553),
        ("P2.R1.uni.ml370", 2.78, 3.7310, 3.9974),
        ("P2.R2.uni.isoblade", 0.66, 18.6075, 19.2282),
    ]:
        interval = mean_interval(column(key, 0))
        assert interval.cv * 100 == pytest.approx(cv, abs=0.005)
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-5)


def test_of_unsteady_runs_only_the_interval_of_a_difference_reaches_0():
    values = [10.0, 10.2, 2.0]
    assert mean_interval(values).low == pytest.approx(0.73, abs=0.01)
    assert mean_interval(values, is_signed=True).low == pytest.approx(-4.22, abs=0.01)
    assert mean_interval([3.0, 4.0, 0.0]).low == 0, "an amount that a run had"


def test_typical_values_divide_out_to_the_ratio_of_the_comparison():
    before, after = [10.0, 11.0, 60.0], [20.0, 24.0, 22.0]
    first, second = typical_interval(before), typical_interval(after)
    ratio = ratio_interval(before, after, paired=True).ratio
    assert second.mean / first.mean == pytest.approx(ratio)
    assert 0 < first.low < first.mean < first.high
    assert typical_interval([3.5]).ends == (None, None)


def test_a_single_run_has_a_mean_and_no_interval():
    interval = mean_interval([3.5])
    assert (interval.mean, interval.k, interval.low, interval.cv) == (3.5, 1, None, None)


def test_the_flagged_rows_are_those_that_need_a_look():
    for key, rows in [
        ("P1.L1.uni.local", [3, 5]),
        ("P1.L2.uni.local", [2, 4]),
        ("P1.R1.uni.pc", [4]),
        ("P1.R2.uni.pc", [3, 4]),
    ]:
        flags = outlier_flags(column(key, 0))
        assert [number for number, flag in enumerate(flags, 1) if flag] == rows


def test_one_request_explains_the_fifth_row_of_l1_but_not_the_third():
    totals, maxima = column("P1.L1.uni.local", 0), column("P1.L1.uni.local", 3)
    counts = [1000] * len(totals)
    means = [total / 1000 for total in totals]
    assert one_request_explains(means, counts, maxima, 4)
    assert not one_request_explains(means, counts, maxima, 2)


def test_a_closed_load_s_equal_sums_are_no_explanation():
    """Each run lasted 4 s, so a run of half as many requests was twice as slow."""
    means, counts = [1.0, 1.01, 0.99, 2.0], [4000, 3960, 4040, 2000]
    assert not one_request_explains(means, counts, [10.0] * 4, 3)


def test_a_slow_request_explains_no_average_below_the_others():
    assert not one_request_explains([10.0, 10.0, 10.0, 5.0], [100] * 4, [20.0] * 4, 3)


def test_a_request_explains_nothing_where_most_of_it_stays_without_it():
    """5.1 % off, and 4.9 % without its slowest request: both sides of a limit, and the same."""
    assert not one_request_explains([10.0, 10.0, 10.0, 10.51], [1000] * 4, [30.0] * 4, 3)


def test_figures_count_what_succeeded_apart_from_what_did_not():
    total = Total(
        counters={"ok": 3, "failed": 1, "dropped": 2},
        timings={"response": Timing.of([1000, 2000, 3000])},
    )
    figures = figures_of(total, 2.0)
    assert (figures.n, figures.attempts, figures.errors) == (3, 6, 3)
    assert figures.error_share == 0.5
    assert figures.rate_per_s == 1.5
    assert (figures.mean_us, figures.min_us, figures.max_us) == (2000, 1000, 3000)
    assert figures.percentiles[50_000] == 2000


def test_a_run_in_which_nothing_succeeded_has_no_times_instead_of_zeros():
    figures = figures_of(Total(counters={"failed": 5}), 0.0)
    assert figures == Figures(n=0, failed=5, dropped=0, duration_s=0.0)
    assert figures.rate_per_s is None


@given(st.lists(st.floats(0.001, 1e6), min_size=2, max_size=12), st.randoms())
def test_the_order_of_the_runs_does_not_matter(values, random):
    other_order = random.sample(values, len(values))
    assert mean_interval(other_order) == mean_interval(values)

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.analysis.pair import (
    PairResult,
    RunCost,
    cost_difference,
    increase,
    overhead_rows,
    part_means_us,
    ratio_over_plans,
    share,
    widened,
)
from campaigns.domain.analysis.ratio import Word, ratio_interval
from campaigns.domain.metrics.figures import Figures, figures_of
from campaigns.domain.metrics.snapshot import PARTS, Timing, Total
from campaigns.domain.units import rounded

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "gcube_overhead.json").read_text())
CELLS = [(metric, column) for metric in ("mean", "min", "max", "p90") for column in (0, 1)]
PRINTED = {**GOLDEN["printed_share_percent"], "p90": GOLDEN["share_p90_percent"]}
us = st.floats(1, 1e7)


def test_every_figure_of_the_gcube_study():
    for metric, column in CELLS:
        http, https = GOLDEN["http"][metric][column], GOLDEN["https"][metric][column]
        digits = 4 if metric == "p90" else 2
        assert float(rounded(100 * share(http, https), digits)) == PRINTED[metric][column]
        percent = float(rounded(100 * increase(http, https), 4))
        assert percent == GOLDEN["increase_percent"][metric][column]


def one_run(column: int, arm: str) -> Figures:
    of = {metric: GOLDEN[arm][metric][column] * 1000 for metric in ("mean", "min", "max", "p90")}
    return Figures(
        n=100,
        failed=0,
        dropped=0,
        duration_s=100,
        mean_us=of["mean"],
        min_us=of["min"],
        max_us=of["max"],
        percentiles={90_000: of["p90"], 50_000: of["mean"], 95_000: of["max"], 99_000: of["max"]},
    )


def test_a_percentile_that_the_runs_are_too_short_for_is_left_out_with_a_reason():
    rows = overhead_rows([{1: one_run(0, "http")}, {1: one_run(0, "https")}], paired=True)
    by_metric = {row.metric: row for row in rows}
    assert by_metric["p95"].weak
    assert by_metric["p99"].ratio is None
    assert "needs 1,000 requests" in by_metric["p99"].why


def run_of(mean_us: float) -> Figures:
    return Figures(n=10, failed=0, dropped=0, duration_s=1, mean_us=mean_us, min_us=1, max_us=1)


def test_whole_blocks_stay_paired_where_a_run_is_missing():
    http = {1: 10_000, 2: 15_000, 3: 20_000, 4: 25_000, 5: 30_000}
    https = {1: 11_000, 3: 22_020, 4: 27_480, 5: 33_010}
    sides = [{block: run_of(us) for block, us in side.items()} for side in (http, https)]
    mean = overhead_rows(sides, paired=True)[0]
    assert mean.interval.k == 4
    assert 1.09 < mean.interval.low < mean.ratio < mean.interval.high < 1.11
    assert mean.increase == pytest.approx(mean.ratio - 1)


def test_a_percentile_at_a_jump_has_no_interval_but_the_reason():
    slow = [[10_000 + n for n in range(990 + off)] + [100_000] * (10 - off) for off in (-3, 0, 4)]
    even = [[10_000 + n for n in range(1000)] for _ in range(3)]
    runs = [
        [Total(counters={"ok": 1000}, timings={"response": Timing.of(times)}) for times in arm]
        for arm in (even, slow)
    ]
    figures = [dict(enumerate(figures_of(run, 10) for run in arm)) for arm in runs]
    totals = [*runs[0], *runs[1]]
    rows = {row.metric: row for row in overhead_rows(figures, paired=True, totals=totals)}
    assert rows["p99"].interval is None
    assert rows["p99"].ratio > 1
    assert "from 11.0 to 100.0" in rows["p99"].why
    assert rows["p95"].interval


def test_a_median_is_as_wide_as_what_failed_may_have_made_it():
    times = Timing.of(range(1000, 2001))
    row = PairResult("p50", 1500, 1500, ratio_interval([1500.0] * 3, [1500.0] * 3, paired=True))
    wide = widened(row, [(0.0, times), (0.05, times)]).interval
    assert (wide.low, wide.high) == pytest.approx((1450 / 1500, 1550 / 1500), rel=2e-3)
    both = widened(row, [(0.05, times), (0.05, times)]).interval
    assert both.high == pytest.approx(1550 / 1450, rel=2e-3)


def test_an_undefined_overhead_is_none_and_a_negative_one_is_allowed():
    assert increase(0, 5) is None
    assert share(5, 0) is None
    assert share(10, 8) == pytest.approx(-0.25)
    assert increase(10, 8) == pytest.approx(-0.2)


@given(us, us)
def test_each_form_of_the_overhead_gives_the_other(http, https):
    o, s = increase(http, https), share(http, https)
    assert o / (1 + o) == pytest.approx(s, rel=1e-6, abs=1e-6)
    assert s / (1 - s) == pytest.approx(o, rel=1e-6, abs=1e-6)


def total(**parts: list[int]) -> Total:
    return Total(timings={name: Timing.of(values) for name, values in parts.items()})


def test_a_part_that_never_happened_is_none_and_one_that_sometimes_did_is_spread():
    means_us = part_means_us([total(response=[1000, 3000], connect=[500], wait=[500, 2900])])
    assert means_us["tls"] is None
    assert means_us["connect"] == 250
    assert means_us["wait"] == 1700
    assert means_us["lateness"] == 50


@given(st.lists(st.dictionaries(st.sampled_from(PARTS), st.integers(0, 10**6)), min_size=1))
def test_the_parts_add_up_to_the_mean(runs):
    totals = [
        total(response=[sum(parts.values()) + 7], **{name: [us] for name, us in parts.items()})
        for parts in runs
    ]
    means_us = part_means_us(totals)
    whole = sum(figures_of(each, 1.0).mean_us for each in totals) / len(totals)
    assert sum(value for value in means_us.values() if value is not None) == pytest.approx(whole)
    assert means_us["lateness"] == pytest.approx(7, abs=1e-3)


def test_it_is_the_geometric_mean_of_the_plans_ratios():
    plans = [
        ({1: 10, 2: 10, 3: 10}, {1: 20, 2: 20, 3: 20}),
        ({1: 80, 2: 80, 3: 80}, {1: 10, 2: 10, 3: 10}),
    ]
    result = ratio_over_plans(plans, in_blocks=True)
    assert result.ratio == pytest.approx(0.5)
    assert (result.baseline, result.candidate) == pytest.approx((800**0.5, 200**0.5))


def test_only_blocks_that_both_have_at_all_plans_make_the_interval():
    whole = {block: 10.0 + block for block in range(1, 6)}
    result = ratio_over_plans(
        [(whole, whole), ({**whole, 9: 7.0}, {2: 12, 3: 13, 4: 14})], in_blocks=True
    )
    assert result.interval.k == 3


def test_without_enough_blocks_there_is_a_ratio_and_no_interval():
    for blocks, in_blocks in [(2, True), (5, False)]:
        runs = dict.fromkeys(range(blocks), 10.0)
        result = ratio_over_plans([(runs, runs)] * 2, in_blocks=in_blocks)
        assert (result.ratio, result.interval) == (1.0, None)
        assert result.why


def test_the_interval_holds_what_it_says_although_plans_of_a_block_share_its_conditions():
    random = np.random.default_rng(7)
    n_right = 0
    for _ in range(400):
        of_block = random.normal(0, 0.05, (5, 1))
        logs = np.log(1.1) + of_block + random.normal(0, 0.03, (5, 6))
        plans = [
            (dict.fromkeys(range(5), 1000.0), dict(enumerate(1000 * np.exp(logs[:, plan]))))
            for plan in range(6)
        ]
        interval = ratio_over_plans(plans, in_blocks=True).interval
        n_right += interval.low <= 1.1 <= interval.high
    assert 0.92 <= n_right / 400 <= 0.99


def arm(*amounts: float) -> dict[int, RunCost]:
    return {block: RunCost(each, 0.001) for block, each in enumerate(amounts, start=1)}


def test_a_wild_run_leaves_the_cost_open_and_says_why():
    baseline, candidate = arm(6.0, 6.1, 48.2, 5.9, 6.05), arm(7.0, 7.1, 7.05, 6.9, 7.02)
    result = cost_difference(baseline, candidate, paired=True, threshold=0.05)
    assert result.word is Word.OPEN
    assert result.text


def test_a_clear_word_without_such_a_run_needs_no_words():
    result = cost_difference(arm(6, 6.1, 5.9), arm(7, 7.1, 6.9), paired=True, threshold=0.05)
    assert (result.word, result.text) == (Word.SLOWER, "")

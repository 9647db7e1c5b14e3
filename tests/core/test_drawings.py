"""Where the marks of drawings lie, small lines, and the cells of tables."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from django.template import engines

from campaigns.core.drawings import (
    TREND_HEIGHT,
    RatioAxis,
    broken_line,
    parts_bar,
    sparks_of,
    split_bars,
    trend_of,
)
from campaigns.core.plots import difference_panel
from campaigns.domain.analysis.pair import shift_of
from campaigns.domain.plan.load import load_curve, stored_load
from campaigns.domain.presentation.overhead_table import SplitAnswer
from campaigns.domain.presentation.tables import Cell, Column, Row, Table, count_cell
from campaigns.plans.views import load_charts
from campaigns.probes.queries.probes import ProbePhase
from campaigns.targets.views import waterfall_charts
from tests.domain.analysis.test_comparison import side
from tests.values import make_point

MACROS = engines["jinja"].env.globals
td, column_heads, table_rows = (MACROS[name] for name in ("td", "column_heads", "table_rows"))


def row(ratio, low, high, primary=False):
    return {"metric": "p50", "ratio": ratio, "low": low, "high": high, "primary": primary}


def test_the_axis_holds_one_the_band_and_every_interval():
    axis = RatioAxis([[row(1.5, 1.4, 1.6)], [row(0.9, 0.7, 1.1)]], threshold=0.05)
    marks = [axis.at(value) for value in (0.7, 1 / 1.05, 1, 1.05, 1.6)]
    assert marks == sorted(marks)
    assert marks[0] > 0
    assert marks[-1] < 100


def test_the_axis_is_logarithmic():
    axis = RatioAxis([[row(1, 0.5, 2)]], threshold=0.05)
    assert axis.at(2) - axis.at(1) == pytest.approx(axis.at(1) - axis.at(0.5), abs=0.02)


def test_ticks_keep_their_distance_and_one_is_among_them():
    axis = RatioAxis([[row(3, 0.2, 15)]], threshold=0.05)
    places = [tick.at for tick in axis.ticks]
    assert "1" in [tick.text for tick in axis.ticks]
    assert all(right - left >= 6.9 for left, right in pairwise(places))


def overhead(plan: str, *arms: tuple[str, tuple]) -> Any:
    """What is drawn of a comparison; each arm with its connect, tls and wait in ms."""
    rows = [
        {"label": name, "parts": dict(zip(("connect", "tls", "wait"), parts, strict=True)),
         "total_ms": sum(value or 0 for value in parts)}
        for name, parts in arms
    ]  # fmt: skip
    return SimpleNamespace(plan_label=plan, split=SplitAnswer(rows, 1))


def test_each_arm_has_one_bar_of_its_parts_end_to_end():
    http = ("HTTP new", (4.0, None, 14.0))
    pairs = [
        overhead("a", http, ("HTTPS new", (4.0, 10.0, 14.0))),
        overhead("a", http, ("HTTPS resumed", (4.0, 5.0, 14.0))),
    ]
    bars = split_bars(pairs)
    assert [row["label"] for row in bars["rows"]] == ["HTTP new", "HTTPS new", "HTTPS resumed"]
    connect, tls, wait = bars["rows"][1]["pieces"]
    assert (tls.x, wait.x) == (connect.width, pytest.approx(connect.width + tls.width, abs=0.01))
    assert wait.x + wait.width <= 84.1, "beside the longest bar is room for its text"


def test_arms_of_several_plans_keep_their_bars():
    arms = ("HTTP new", (1.0, None, 1.0)), ("HTTPS new", (1.0, 1.0, 1.0))
    bars = split_bars([overhead("a", *arms), overhead("b", *arms)])
    assert [row["plan"] for row in bars["rows"]] == ["a", "a", "b", "b"]


def test_the_bar_of_a_run_is_its_parts_end_to_end_and_leaves_the_sums_out():
    def part_row(part, mean_ms: int):
        return Row(part, (count_cell(mean_ms),), part)

    rows = [part_row("wait", 75), part_row("tls", 25), part_row("response", 100)]
    pieces = parts_bar(Table("parts", "Parts", (), tuple(rows)))
    assert [(piece.part, piece.x, piece.width) for piece in pieces] == [
        ("wait", 0, 75),
        ("tls", 75, 25),
    ]


def load_chart(warm_up_s=0, **load):
    (chart,) = load_charts(load_curve(stored_load(load), warm_up_s), "per s", "A load.").panels
    return chart


def test_an_even_load_is_one_line_from_edge_to_edge_with_its_arrivals():
    chart = load_chart(model="over", requests=100, over_s=10)
    line, arrivals = chart.series
    assert (list(line.x), list(line.y)) == ([0, 10], [10, 10])
    assert (chart.x.low, chart.x.high) == (0, 10)
    assert (len(arrivals.x), arrivals.x[:2]) == (100, [0, 0.1])
    assert chart.y.high > 10


def test_a_warm_up_is_hatched_before_zero():
    chart = load_chart(5, model="over", requests=100, over_s=15)
    ((low, high),) = [(band.low, band.high) for band in chart.bands]
    assert (low, high, chart.x.low) == (-5, 0, -5)


def test_an_open_end_is_dotted():
    (line,) = load_chart(model="closed", connections=50, requests=1000).series
    assert list(line.weak) == [False, False, True]
    assert list(line.y) == [50, 50, 50]


LINES = [{"curve": [{"x": 2000}], "label": name, "scheme": "https"} for name in ("old", "new")]


def test_a_difference_is_within_its_axis_however_wide_its_intervals_are():
    chart = difference_panel(shift_of(side(), side(tail=3), paired=False), 0.05, LINES, "")
    _, line, labels = chart.series
    for value in (*line.y, *line.low, *line.high, *labels.y):
        assert chart.y.low <= value <= chart.y.high


def test_percentiles_are_named_by_their_difference_in_ms():
    before, after = side(), side(1.1)
    chart = difference_panel(shift_of(before, after, paired=False), 0.05, LINES, "")
    *_, names = chart.series
    medians = [each[0].percentile_us(50_000) / 1000 for each in (before, after)]
    assert float(names.labels[0]) == pytest.approx(medians[1] - medians[0], rel=0.05)
    assert difference_panel({}, 0.05, LINES, "") is None


pytestmark = pytest.mark.pure


def test_none_breaks_it_and_a_point_alone_is_a_dot():
    for heights, path in [
        ((5, 6, 7), "M0 5L1 6L2 7"),
        ((5, 6, None, 7, 8), "M0 5L1 6M3 7L4 8"),
        ((None, 5, 6, None), "M1 5L2 6"),
        ((5, None, 6, None, 7), "M0 5h0M2 6h0M4 7h0"),
        ((None, None), ""),
        ((), ""),
    ]:
        assert broken_line(list(enumerate(heights))) == path


def heights(path: str) -> list[float]:
    return [float(point.split(" ")[1]) for point in path[1:].split("L")]


def test_a_change_below_a_tenth_stays_small():
    small, large = (heights(trend_of([100, 100, last]).path) for last in (101, 150))
    middle = TREND_HEIGHT / 2
    assert small[0] == large[0] == middle
    assert 0 < middle - small[-1] < 1
    assert middle - large[-1] > 5


def test_its_title_has_the_extremes():
    assert trend_of([10, 12, None, 31]).title == "p95 of the last 3: from 10.0 to 31.0 ms"


def test_a_reply_every_other_second_is_seen_in_a_tile():
    """Between two seconds without a reply there is no line to a figure."""
    seconds = [make_point(n, p50_ms=None if n % 2 else 10.0 + n) for n in range(5)]
    spark = sparks_of(seconds)["p50"]
    assert spark.path.count("M") == spark.path.count("h0") == 3
    assert (spark.end, spark.title) == ((93.0, 3.0), "from 10.0 to 14.0")


def phase(name, start_us, duration_us):
    return ProbePhase(name, start_us, duration_us, "", f"{duration_us / 1000:.2f}", "")


PHASES = [phase("connect", 0, 1000), phase("wait", 1000, 3000)]


def test_each_part_begins_where_the_one_before_ends():
    (chart,) = waterfall_charts(PHASES).panels
    connect, wait = chart.series
    assert list(connect.right) == list(wait.left) == [1]
    assert (wait.right, wait.end) == ([4], "3.00 ms")
    assert chart.y.ticks == [(1, "connect"), (2, "wait")]
    assert waterfall_charts([]) is None


def test_a_cell_has_its_text_and_says_why_it_is_weak():
    weak = Cell(1.5, "1.50", weak=True, why="Fewer than 10 requests.", tone="warn")
    assert td(weak) == ('<td class="num weak tone-warn" title="Fewer than 10 requests.">~1.50</td>')


def test_what_people_typed_is_escaped():
    cell = Cell(None, "<b>&'\"", why='"><script>')
    assert td(cell) == (
        '<td class="num" title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#x27;&quot;</td>'
    )


def table(*rows: Row) -> Table:
    columns = (Column("n", "n", help="How <many>"), Column("why", "Why", "ms", is_text=True))
    return Table("key", "Title", columns, rows)


def test_a_row_leads_to_what_it_is_about_where_links_are_wanted():
    cells = (Cell(1, "1"), Cell("x", "<x>"))
    run = table(Row("Repeat 1", cells, "run", "a & b", {"run": 7, "trust": "no_answer"}))
    tds = '<td class="num">1</td><td class="">&lt;x&gt;</td></tr>'
    note = ' <span class="second-line">a &amp; b</span></th>'
    start = '<tr class="row-run row-grey"><th scope="row">'
    assert table_rows(run, True).strip() == f'{start}<a href="/runs/7/">Repeat 1</a>{note}{tds}'
    assert table_rows(run, False).strip() == f"{start}Repeat 1{note}{tds}"


def test_a_head_has_its_unit_and_says_what_it_means():
    assert column_heads(table()) == (
        '<th scope="col" class="num" title="How &lt;many&gt;">n</th>'
        '<th scope="col">Why<br><span class="unit">ms</span></th>'
    )


def test_the_title_of_a_table_is_escaped():
    html = MACROS["figures_table"](replace(table(), title="<of>"), None)
    assert "&lt;of&gt;" in html


def test_a_row_without_a_kind_has_no_class_and_what_people_typed_is_escaped():
    row = Row('<b>"', (Cell(1, "1"), Cell(None, "")))
    assert table_rows(table(row), True).startswith('<tr><th scope="row">&lt;b&gt;&quot;</th>')

"""The runs on a campaign's page: a page of their list, and the tables of every repeat. Of many
tests it has the one table that its address asks for. The repeats of one plan, all targets of a
matrix side by side: the few figures that tables of studies have. The cells are those of each test's
own table, which has all figures. What the charts of a campaign's page draw."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from statistics import fmean
from typing import Any

from django.db.models import F

from campaigns.campaigns.queries.campaigns import runs_of
from campaigns.core.pages import Page, page_of, sorted_by
from campaigns.core.plots import block_charts, percentile_charts
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.figures import MOST_SMOOTH, usual_points
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.presentation.charts import LineStyle, line_style
from campaigns.domain.presentation.results import Answer, TestAnswer
from campaigns.domain.presentation.sentences import what_is_timed
from campaigns.domain.presentation.tables import Cell, Row, Table
from campaigns.domain.presentation.target_matrix import MatrixRow
from campaigns.models import Campaign, Run

_MOST_GROUPS = 12  # plans with charts of their own
_MOST_LINES = 8  # of a chart that names each: more names would not fit beside it
_NAMED = 6  # of those with more lines


@dataclass(frozen=True, slots=True)
class TestGroup:
    """Tests that are shown together, with the labels that tell them apart there."""

    __test__ = False  # pytest: not a test case

    name: str
    tests: Sequence[TestAnswer]
    labels: Mapping[int, str]

    @property
    def is_crowded(self) -> bool:
        return len(self.tests) > _MOST_LINES


def groups_of(answer: Answer, tests: Sequence[TestAnswer]) -> list[TestGroup]:
    """A group for each plan; one for all where the plans are very many."""
    arms = arm_labels(answer)
    plans = dict.fromkeys(test.plan_label for test in tests)
    if answer.matrix is None and len(plans) > _MOST_GROUPS:
        labels = {each.test_id: f"{each.plan_label}, {arms[each.test_id]}" for each in tests}
        return [TestGroup(f"All {len(plans)} plans", tests, told_apart(labels))]
    groups = []
    for plan in plans:
        mine = [test for test in tests if test.plan_label == plan]
        labels = {test.test_id: arms[test.test_id] for test in mine}
        groups.append(TestGroup(plan, mine, labels if answer.matrix else told_apart(labels)))
    return groups


def told_apart(labels: Mapping[int, str]) -> dict[int, str]:
    """Without the parts at their beginnings and ends that all of them share: ":9000" of "HTTP new
    connection, :9000"."""
    if len(set(labels.values())) < 2:
        return dict(labels)
    parts = [label.split(", ") for label in labels.values()]
    start = _n_shared(parts)
    end = _n_shared([each[start:][::-1] for each in parts])
    return {
        test: ", ".join(each[start : len(each) - end]) or label
        for (test, label), each in zip(labels.items(), parts, strict=True)
    }


def _n_shared(parts: Sequence[Sequence[str]]) -> int:
    """How many parts all have in common at their beginnings."""
    columns = list(zip_longest(*parts))
    return next((n for n, column in enumerate(columns) if len(set(column)) > 1), len(columns))


def drawn_tests(answer: Answer) -> list[TestGroup]:
    """The groups that have charts. Sweeps have their own curves: their many arms would be
    indistinguishable here."""
    swept = {sweep.plan_label for sweep in answer.sweeps}
    return groups_of(answer, [test for test in answer.tests if test.plan_label not in swept])


def drawn_plots(
    answer: Answer, curves: dict[int, list], repeats: int, first: Sequence[int]
) -> list[dict[str, Any]]:
    """[{"plan", "index", "percentiles", "blocks": charts or None, "names_few": only some of its
    lines have a name}]. Of several targets each plan has the chart of its repeats alone, so that
    one page can show the plans side by side, all on one logarithmic scale. `curves`: the curve so
    far of a test's run, which is shown until the test has its own. `first`: the tests that are
    named first where not all can be."""
    lines = [(group, _lines(answer, group, curves, first)) for group in drawn_tests(answer)]
    shared_ms = [
        mean
        for _, some in lines
        for line in some
        for mean in (*line["means"], *line.get("apart", ()))
        if mean is not None and answer.matrix
    ]
    return [
        {
            "plan": group.name,
            "index": index,
            "names_few": _names_few(answer, group),
            "percentiles": percentile_charts(
                f"percentiles-{index}",
                some,
                f"each arm of {group.name}",
                "all runs of a test pooled",
                what=what_is_timed(group.tests[0].nouns),
            ),
            "blocks": None
            if repeats < 2
            else block_charts(
                f"blocks-{index}",
                some,
                repeats,
                group.name,
                shared_ms,
                title=group.name if answer.matrix else "Every block",
                note="" if answer.matrix else _note_of_blocks(answer, group),
            ),
        }
        for index, (group, some) in enumerate(lines)
    ]


def _note_of_blocks(answer: Answer, group: TestGroup) -> str:
    if _names_few(answer, group):
        return "one mark = one run"
    plain, tls = ("WS", "WSS") if group.tests[0].scheme in WEBSOCKET_SCHEMES else ("HTTP", "HTTPS")
    return f"one mark = one run · hollow = {plain}, filled = {tls}"


def _names_few(answer: Answer, group: TestGroup) -> bool:
    return group.is_crowded and answer.matrix is None


def are_crowded(answer: Answer) -> bool:
    """Whether some of the page's charts name only some of their lines."""
    return any(_names_few(answer, group) for group in drawn_tests(answer))


def arm_labels(answer: Answer) -> dict[int, str]:
    """A short label for each test; the long one where two of a plan would look the same."""
    if answer.matrix:
        columns = answer.matrix.columns
        label_by_test = {pk: columns[number] for pk, number in answer.matrix.column_of.items()}
        return {test.test_id: label_by_test.get(test.test_id, test.label) for test in answer.tests}
    short = {test.test_id: f"{test.scheme.upper()} {test.connection_mode}" for test in answer.tests}
    n_alike = Counter((test.plan_label, short[test.test_id]) for test in answer.tests)
    if max(n_alike.values(), default=0) < 2:
        return short
    return {test.test_id: test.label for test in answer.tests}


def _lines(
    answer: Answer, group: TestGroup, curves: dict[int, list], first: Sequence[int]
) -> list[dict[str, Any]]:
    lines = [_line(answer, test, group.labels[test.test_id], curves) for test in group.tests]
    if not _names_few(answer, group):
        return lines
    means_ms = {
        test.test_id: fmean(values)
        for test in group.tests
        if (values := [each for each in test.means_ms if each is not None])
    }
    slowest = sorted(means_ms, key=means_ms.__getitem__, reverse=True)
    by_interest = dict.fromkeys([*(each for each in first if each in means_ms), *slowest])
    ranks = {test: rank for rank, test in enumerate(list(by_interest)[:_NAMED])}
    return [
        line
        | ({"style": line_style(ranks[test.test_id])} if test.test_id in ranks else {"grey": True})
        for test, line in zip(group.tests, lines, strict=True)
    ]


def _line(answer: Answer, test: TestAnswer, label: str, curves: dict[int, list]) -> dict[str, Any]:
    line = {
        "label": label,
        "scheme": test.scheme,
        "mode": test.connection_mode,
        "means": test.means_ms,
        "texts": test.means_text,
    }
    if answer.matrix is None:
        curve = test.curve or curves.get(test.test_id, [])
        is_smooth = len(answer.tests) <= MOST_SMOOTH
        return {**line, "curve": curve if is_smooth else usual_points(curve)}
    style = line_style(answer.matrix.column_of.get(test.test_id, len(answer.matrix.columns)))
    return {**line, "style": style, "apart": test.apart_ms, "curve": []}


RUNS = 100  # of a page of the list
_MOST_TABLES = 24
_FIGURES = ("n", "p50", "p95", "p99", "rate", "errors")


def runs_page(campaign: Campaign, params: Mapping[str, str]) -> Page:
    """The page of ?runs=, in the order in which they are run."""
    rows = sorted_by(runs_of(campaign), F("position"), falls=False)
    return page_of(rows, RUNS, params.get("runs", ""))


def headline_run(campaign: Campaign, runs: Page, answer: Answer) -> Run | None:
    """The run of a campaign that has no other, once it has begun; or the one whose partial figures
    are all there is."""
    if runs.count == 1:
        return runs.rows[0] if runs.rows[0].state != RunState.QUEUED else None
    return runs_of(campaign).get(pk=answer.partial_run) if answer.partial_run else None


def has_p99(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether any of `run_rows` has one; short runs have none."""
    place = _FIGURES.index("p99")
    return any(cell and cell.value is not None for row in rows for cell in [row["figures"][place]])


def run_rows(runs: Page, answer: Answer) -> list[dict[str, Any]]:
    """The figures are the same cells as in the tests' tables."""
    arms = arm_labels(answer) | {test.test_id: "Reference" for test in answer.references}
    cells: dict[int, dict[str, Any]] = {}
    pks = {run.pk for run in runs}
    tests = {run.test_id for run in runs}
    for test in (each for each in (*answer.tests, *answer.references) if each.test_id in tests):
        keys = [column.key for column in test.table.columns]
        for row in test.rows_of_runs:
            if row.link.get("run") in pks:
                cells[row.link["run"]] = dict(zip(keys, row.cells, strict=True))
    return [
        {
            "run": run,
            "arm": arms.get(run.test_id, run.test.connection_mode),
            "figures": [cells.get(run.pk, {}).get(key) for key in _FIGURES],
        }
        for run in runs
    ]


def repeats_of(answer: Answer, params: Mapping[str, str]) -> dict[str, Any]:
    """{"tests": those whose table is shown, "plans": {group: [(test id, label)]} to choose from,
    "asked": the id of the chosen test}; nothing to choose from where all tables are shown, and
    {"table": one row a test} of tests with one run each."""
    if "repeats" not in params and (table := _table_of_single_runs(answer.tests)):
        return {"tests": [], "plans": {}, "asked": None, "table": table}
    if len(answer.tests) <= _MOST_TABLES:
        return {"tests": answer.tests, "plans": {}, "asked": None}
    tests = [test for test in answer.tests if str(test.test_id) == params.get("repeats")]
    plans = {group.name: list(group.labels.items()) for group in groups_of(answer, answer.tests)}
    return {"tests": tests, "plans": plans, "asked": tests[0].test_id if tests else None}


def _table_of_single_runs(tests: Sequence[TestAnswer]) -> Table | None:
    """Its mean and pooled rows would say the same again."""
    if not 1 < len(tests) <= _MOST_TABLES or any(len(test.means_ms) != 1 for test in tests):
        return None
    runs = [[row for row in test.table.rows if row.kind == "run"] for test in tests]
    if any(len(rows) != 1 for rows in runs) or len({test.table.columns for test in tests}) > 1:
        return None
    has_plans = len({test.plan_label for test in tests}) > 1
    rows = [
        replace(row, label=", ".join(filter(None, [test.plan_label * has_plans, test.label])))
        for test, (row,) in zip(tests, runs, strict=True)
    ]
    return replace(tests[0].table, title="Every test", rows=tuple(rows), label_title="test")


_HEADS = (
    ("duration", "total", "s"),
    ("mean", "mean", "ms"),
    ("min", "min", "ms"),
    ("max", "max", "ms"),
)
_MEAN = "Mean"


@dataclass(frozen=True, slots=True)
class RepeatCells:
    """A target's figures in one repeat; [] where it has none. `why`: what is wrong with the run."""

    cells: list[Cell]
    why: str = ""
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class RepeatRow:
    label: str
    targets: list[RepeatCells]
    is_mean: bool


@dataclass(frozen=True, slots=True)
class RepeatTable:
    """`plans`: [(number, name, is it shown)]; `targets`: [(name, style)]."""

    plan: str
    plans: list[tuple[int, str, bool]]
    targets: list[tuple[str, LineStyle]]
    rows: list[RepeatRow]

    @property
    def heads(self) -> list[tuple[str, str]]:
        """(title, unit) of each target's figures."""
        return [(title, unit) for _, title, unit in _HEADS]


def repeat_table(answer: Answer, params: Mapping[str, str]) -> RepeatTable | None:
    """Of the plan of ?plan=, counted from 1, or of the first; None without a matrix."""
    if answer.matrix is None:
        return None
    plan = params.get("plan", "")
    number = int(plan) if re.fullmatch("[1-9][0-9]{0,2}", plan) else 1
    rows, choice = answer.matrix.rows, (number if number <= len(answer.matrix.rows) else 1)
    row, tests = rows[choice - 1], {test.test_id: test for test in answer.tests}
    of_targets = [tests[cell.test_id].table if cell else None for cell in row.cells]
    return RepeatTable(
        _name(row),
        [(n, _name(each), n == choice) for n, each in enumerate(rows, 1)],
        [(name, line_style(n)) for n, name in enumerate(answer.matrix.columns)],
        _rows(of_targets),
    )


def _name(row: MatrixRow) -> str:
    return f"{row.plan}, {row.place}" if row.place else row.plan


def _rows(tables: list[Table | None]) -> list[RepeatRow]:
    """The means first, then every repeat that a target has."""
    # Empty for what is not shown here. Means are of fewer runs where some do not count.
    by_label = [
        {{"mean": _MEAN, "run": row.label}.get(row.kind, ""): row for row in table.rows}
        if table
        else {}
        for table in tables
    ]
    labels = dict.fromkeys(label for rows in by_label for label in rows if label)
    labels_in_order = sorted(labels, key=lambda label: label != _MEAN)
    return [
        RepeatRow(
            label,
            [_cells(table, rows.get(label)) for table, rows in zip(tables, by_label, strict=True)],
            label == _MEAN,
        )
        for label in labels_in_order
    ]


def _cells(table: Table | None, row: Row | None) -> RepeatCells:
    if table is None or row is None:
        return RepeatCells([])
    keys = [column.key for column in table.columns]
    is_apart = row.link.get("trust") == "no_answer"
    cells = [row.cells[keys.index(key)] for key, *_ in _HEADS]
    return RepeatCells(cells, row.note, is_apart)

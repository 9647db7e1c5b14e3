import csv
from collections.abc import Sequence
from io import StringIO

from campaigns.core.tables import csv_of_tables, safe, text_of_tables
from campaigns.domain.metrics.series import columns_of
from campaigns.domain.percentiles import P50, why_not_shown
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.tables import (
    Cell,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    text_cell,
)
from campaigns.runs.exports import csv_of_seconds

FEW = Figure(-2.0, why_not_shown(15, P50), weak=True)
AVERAGES = column_cells([Figure(1234.56), Figure(None, "why"), FEW], decimals=1)


def table(label: str = "Repeat 1", note: str = "", averages: Sequence[Cell] = AVERAGES) -> Table:
    counts = [count_cell(60_000), count_cell(None, "why"), count_cell(3)]
    words = [text_cell("slower"), text_cell(""), text_cell("=1+1")]
    labels = (label, "Repeat 2", "Pooled")
    return Table(
        "t",
        "HTTP and HTTPS",
        tuple(METRICS[key].column() for key in ("mean", "n", "word")),
        tuple(
            Row(name, cells, note=note if name == label else "")
            for name, *cells in zip(labels, averages, counts, words, strict=True)
        ),
        label_title="run",
        note="A note.",
    )


def read(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text)))


def test_csv_has_the_figures_of_the_page_with_points_and_units_in_the_header():
    assert read(csv_of_tables([table()])) == [
        ["HTTP and HTTPS", "A note."],
        ["run", "average (ms)", "n", "verdict", "weak"],
        ["Repeat 1", "1234.6", "60000", "slower", ""],
        ["Repeat 2", "", "", "", ""],
        ["Pooled", "-2.0", "3", "'=1+1", "average (ms)"],
    ]


def test_a_lower_end_is_in_a_column_of_its_own_where_the_page_shows_any():
    figures = [Figure(1234.5, low=1230.0), Figure(20.0, low=8.25), Figure(3.0)]
    averages = column_cells(figures, decimals=1)
    assert [cell.text for cell in averages] == ["1,234.5", "8.3 to 20.0", "3.0"]
    _, head, *rows = read(csv_of_tables([table(averages=averages)]))
    assert head[1:] == ["average (ms)", "n", "verdict", "average, lower end (ms)"]
    assert [(row[1], row[4]) for row in rows] == [
        ("1234.5", "1230.0"), ("20.0", "8.3"), ("3.0", ""),
    ]  # fmt: skip


def test_why_there_is_no_interval_is_in_a_column_of_its_own():
    _, head, with_note, other, _ = read(csv_of_tables([table(note="No interval: a jump.")]))
    assert (head[-1], with_note[-1], other[-1]) == ("note", "No interval: a jump.", "")
    assert len(head) == len(with_note) == len(other) == 6


def test_no_name_of_a_plan_becomes_a_formula():
    for text in [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "\uff1d1+1",
        "\uff20SUM(A1)",
    ]:
        assert safe(text) == f"'{text}"
        assert read(csv_of_tables([table(label=text)]))[2][0].startswith("'")


def test_ordinary_text_stays_as_it_is():
    assert safe("GET /a=b") == "GET /a=b"


def test_the_terminal_says_what_else_makes_a_figure_weak():
    busy = column_cells([Figure(value, "The CPU was taken.", weak=True) for value in (1, 2, 3)])
    assert text_of_tables([table(averages=busy)]).splitlines()[-1] == (
        "~ weak: it includes the delays of a busy machine; its page says how much."
    )


def test_the_terminal_aligns_columns_and_marks_weak_figures():
    assert text_of_tables([table(note="Look at this run.")]).splitlines() == [
        "HTTP and HTTPS",
        "run       average       n  verdict",
        "               ms",
        "----------------------------------",
        "Repeat 1  1,234.6  60,000  slower",
        "Repeat 2        –       –  –",
        "Pooled      ~−2.0       3  =1+1",
        "A note.",
        "Repeat 1: Look at this run.",
        "~ weak: fewer than ten lie beyond this percentile.",
    ]


POINT = {
    "second": 0,
    "started": 3,
    "ok": 2,
    "failed": 1,
    "dropped": 0,
    "in_flight": 0,
    "errors": {"reset": 1},
    "mean_ms": 1.5,
    "p50_ms": 1.0,
    "p95_ms": 2.0,
    "p99_ms": 2.0,
    "max_ms": 2.0,
    "lateness_p99_ms": None,
    "cpu_share": 0.2,
    "shards": 1,
    "missing": 0,
}


def test_seconds_have_a_row_each_and_a_column_for_each_kind_of_error():
    parts = [columns_of([POINT]), columns_of([{**POINT, "second": 1, "errors": {}}])]
    head, first, second = read("".join(csv_of_seconds(parts, ["reset"])))
    assert (head[0], head[-1]) == ("second (s)", "error reset")
    assert (first[0], first[-1]) == ("0", "1")
    assert (second[0], second[-1]) == ("1", "0")
    assert first[head.index("lateness p99 (ms)")] == ""

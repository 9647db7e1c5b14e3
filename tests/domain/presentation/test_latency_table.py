from campaigns.domain.metrics.figures import Figures, figures_of
from campaigns.domain.metrics.snapshot import Timing, Total, total_of
from campaigns.domain.presentation.latency_table import Line, latency_table, mean_texts


def total(values_us: list[int], failed: int = 0) -> Total:
    return Total(
        counters={"ok": len(values_us), "failed": failed},
        timings={"response": Timing.of(values_us)},
    )


def run(values_us: list[int], failed: int = 0) -> Figures:
    return figures_of(total(values_us, failed), 10.0)


def cells(table, label: str):
    row = next(row for row in table.rows if row.label.startswith(label))
    return {column.key: cell for column, cell in zip(table.columns, row.cells, strict=True)}


FAST, SLOW = [10_000] * 99 + [30_000], [20_000] * 99 + [50_000]


BUSY = Timing.of([20_000] * 1900 + [80_000] * 100)


def busy_run(quieter_us: int) -> Figures:
    timings = {"response": BUSY, "quieter": Timing.of([quieter_us] * 1000)}
    return figures_of(Total({"ok": 2000}, timings=timings), 10.0)


def two_runs(**options):
    lines = [Line("Repeat 1", run(FAST)), Line("Repeat 2", run(SLOW, failed=3), **options)]
    whole = figures_of(total_of([total(FAST), total(SLOW, 3)]), 20.0)
    return latency_table("t", "T", lines, whole)


def test_the_mean_row_averages_runs_and_the_pooled_row_requests():
    table = two_runs()
    assert cells(table, "Mean")["mean"].value == 15.3
    assert cells(table, "Mean")["p90"].value == 15.0
    assert cells(table, "Pooled")["p90"].value == 20.0
    assert cells(table, "Pooled")["n"].text == "200"
    assert cells(table, "Pooled")["errors"].value == 3


def test_times_of_a_busy_machine_are_weak_however_many_requests_there_are():
    many = run([10_000] * 1980 + [30_000] * 20)
    lines = [Line("Repeat 1", many), Line("Repeat 2", many, why_weak="The machine was busy.")]
    table = latency_table("t", "T", lines, many)
    first, second = cells(table, "Repeat 1"), cells(table, "Repeat 2")
    assert not first["p99"].weak
    assert (second["p99"].weak, second["p99"].why) == (True, "The machine was busy.")
    assert [key for key, cell in second.items() if not cell.weak] == [
        "min", "rate", "duration", "errors", "n",
    ]  # fmt: skip
    assert all("of the runs" in cells(table, row)["p99"].why for row in ("Mean", "Pooled"))


def test_a_run_that_cannot_be_used_is_shown_but_not_averaged():
    table = two_runs(is_counted=False, note="The injector was busy.")
    assert cells(table, "Repeat 2")["mean"].value == 20.3
    assert cells(table, "Mean of 1 run")["mean"].value == 10.2


def test_without_a_usable_run_mean_and_pooled_are_dashes():
    table = latency_table("t", "T", [Line("Repeat 1", why="This run is queued.")], None)
    assert [row.label for row in table.rows] == ["Repeat 1", "Mean", "Pooled"]
    assert {cells(table, row)["mean"].text for row in ("Mean", "Pooled")} == {"–"}


def test_a_run_that_only_failed_does_not_count_as_fast():
    lines = [Line("Repeat 1", run(FAST)), Line("Repeat 2", run([], failed=9), is_counted=False)]
    table = latency_table("t", "T", lines, run(FAST))
    assert cells(table, "Repeat 2")["mean"].value is None
    assert cells(table, "Repeat 2")["errors"].value == 9
    assert cells(table, "Mean of 1 run")["mean"].value == 10.2


def test_means_alone_have_the_texts_of_the_table():
    lines = [
        Line("Repeat 1", run(FAST)),
        Line("Repeat 2", run([123_456] * 50), is_counted=False),
        Line("Repeat 3", why="This run is queued."),
        Line("Repeat 4", busy_run(15_000)),
    ]
    for whole in (run(FAST), None):
        table = latency_table("t", "T", lines, whole)
        mean = [column.key for column in table.columns].index("mean")
        assert mean_texts(lines, whole) == [row.cells[mean].text for row in table.rows[:4]]


def test_a_time_has_both_ends_where_they_differ_by_more_than_a_twentieth():
    lines = [Line("Repeat 1", busy_run(19_900)), Line("Repeat 2", run(FAST))]
    table = latency_table("t", "T", lines, busy_run(15_000))
    first, second, mean, whole = (
        cells(table, label) for label in ("Repeat 1", "Repeat 2", "Mean", "Pooled")
    )
    assert (first["p50"].text, first["p99"].text) == ("20.0", "19.9 to 80.0")
    assert (first["p99"].value, first["p99"].low, first["p50"].low) == (80.0, 19.9, 19.9)
    assert (second["mean"].text, second["mean"].low) == ("10.2", None)
    assert mean["mean"].text == "15.0 to 16.6", "a run without a lower end counts as measured"
    assert whole["p50"].text == "15.0 to 20.0"
    assert "the lower is without the injector's part" in table.note
    assert not two_runs().note


def test_both_ends_take_the_place_of_the_mark_of_a_busy_machine():
    busy = Line("Repeat 1", busy_run(19_900), why_weak="The machine was busy.")
    row = cells(latency_table("t", "T", [busy], None), "Repeat 1")
    assert [key for key, cell in row.items() if cell.weak] == ["p50", "p90", "p95", "max"]
    assert row["mean"].text == "19.9 to 23.0"

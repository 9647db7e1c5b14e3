"""A figure is the same text on the page, in the stream, in both CSV files and by REST, while a run
is made and afterwards.
"""

import csv
import json
import re
from html import unescape
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.units import count, figure
from campaigns.live.hub import BEFORE_ALL, report_of, seconds_after
from campaigns.live.notify import SIGNAL
from campaigns.models import Run
from campaigns.runs.queries.measurements import measurement_of
from tests.factories import begin_run, make_campaign, make_plan, make_run, make_test, store_second
from tests.measured import end_shards
from tests.pages import csv_rows
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db

VITALS = {"cpu_share": 0.21, "hub_lag_max_us": 1234, "rss_bytes": 41_234_567}


@pytest.fixture
def run(project) -> Run:
    """Several steps, failures, a rule, and figures that halves can be rounded either way of."""
    steps = [{"label": name, "method": "GET", "path": "/"} for name in ("look", "buy")]
    rules = [{"metric": "p95", "limit": 15, "unit": "ms"}]
    spec = plan_spec(model="closed", connections=4, duration_s=8)
    version = make_plan(project, spec=spec | {"steps": steps, "thresholds": rules})
    run = make_run(make_test(make_campaign(project), version))
    begin_run(run)
    for second in range(6):
        for step, times_us in enumerate(([18_650] * 1100, [1_005 + second] * 30)):
            failed = second % 2
            row = make_second(
                second,
                times_us,
                step=step,
                counters={"failed": failed, "bytes_received": 4075 * len(times_us)},
                errors={"reset": failed} if failed else {},
                vitals=None if step else VITALS,
            )
            row.timings["sampled"] = row.timings["response"]
            row.timings["undelayed"] = Timing.of([us - 900 for us in times_us])
            store_second(run, row)
    run.refresh_from_db()
    return run


@pytest.fixture(params=["under way", "finished"])
def either_run(request, run) -> Run:
    if request.param == "finished":
        end_shards(run, last_second=5, end={"duration_us": 6_000_000, "outcome": "complete"})
        Run.objects.filter(pk=run.pk).update(state="finalizing")
        end_of(run)
    SIGNAL.notify()
    return Run.objects.get(pk=run.pk)


def end_of(run: Run) -> None:
    from campaigns.runs.services import summarise_run

    run.refresh_from_db()
    run.outcome = Outcome.COMPLETE
    summarise_run(run)
    Run.objects.filter(pk=run.pk).update(state="done", outcome=Outcome.COMPLETE)


def page_of(viewer, run: Run) -> str:
    return viewer.get(reverse("run-detail", args=[run.pk])).content.decode()


def tables_on(page: str) -> dict[str, list[list[str]]]:
    """The texts of all figures' cells by the tables' keys; without the mark of a weak one."""
    return {
        key: [
            [unescape(text).strip().removeprefix("~") for text in re.findall(_CELL, row, re.DOTALL)]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
        ]
        for key, body in re.findall(r'data-table="([^"]+)".*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    }


# What is drawn beside the figures has a class of its own.
_CELL = r"<td(?! class=\"beside)[^>]*>(.*?)</td>"


def as_page_text(value) -> str:
    """A figure of CSV as a page writes it."""
    if value == "":
        return "–"
    whole, point, rest = value.partition(".")
    return f"{int(whole):,}{point}{rest}" if re.fullmatch(r"\d+(\.\d+)?", value) else value


def test_tables_of_page_csv_and_rest_have_the_same_figures(viewer, either_run):
    on_page = tables_on(page_of(viewer, either_run))
    report = report_of(either_run)
    text = viewer.get(reverse("run-csv", args=[either_run.pk])).content.decode()
    lines = iter(csv.reader(StringIO(text)))
    rest = viewer.get(f"/api/v1/runs/{either_run.pk}/tables/").json()["tables"]
    others = [table for table in rest if table["key"] != "limit"]
    limits = [table for table in rest if table["key"] == "limit"]
    assert len(limits) == (either_run.state == "done")
    assert [table["key"] for table in others] == [table.key for table in report.tables]
    n_cells = n_both_ends = 0
    for table, rest_table in zip(report.tables, others, strict=True):
        assert next(lines) == [each for each in (table.title, table.note) if each]
        assert rest_table["note"] == table.note
        _, *heads = next(lines)
        for row, values in zip(table.rows, rest_table["rows"], strict=True):
            _, *csv_texts = next(lines)
            texts = [cell.value_text for cell in row.cells]
            assert [as_page_text(each) for each in csv_texts[: len(texts)]] == texts
            beside = dict(zip(heads[len(texts) :], csv_texts[len(texts) :], strict=True))
            assert beside.get("note", "") == row.note == values["note"]
            weak = zip(heads, row.cells, strict=False)
            lows = {
                column.key: cell.low
                for column, cell in zip(table.columns, row.cells, strict=True)
                if cell.low is not None
            }
            assert values["low"] == lows
            written_lows = {
                float(each) for head, each in beside.items() if each and "lower end" in head
            }
            assert written_lows <= set(lows.values())
            n_both_ends += sum(cell.has_both_ends for cell in row.cells)
            assert beside.get("weak", "") == ", ".join(head for head, cell in weak if cell.weak)
            assert [
                _as_text(cell, value)
                for cell, value in zip(row.cells, values["values"].values(), strict=True)
            ] == texts
            n_cells += len(texts)
        next(lines, None)
        if table.rows:
            assert on_page[table.key] == [[cell.text for cell in row.cells] for row in table.rows]
    assert n_cells > 60
    assert n_both_ends > 4
    for limit in limits:
        assert next(lines)[0] == limit["title"]
        assert len(on_page["limit"]) == len(limit["rows"]) == len([*lines][1:])


def _as_text(cell, value) -> str:
    """A value of REST with as many decimals as its text has."""
    if value is None or isinstance(value, str):
        return cell.text if value == cell.value else f"{value}"
    number, unit = re.fullmatch(r"([\d,.]+)(.*)", cell.value_text).groups()
    decimals = len(number.partition(".")[2])
    return f"{value:,.{decimals}f}{unit}"


def late_run(project) -> Run:
    """Three seconds at 100/s as planned, and a reply that comes 5.5 s after their end."""
    rules = [{"metric": "rate", "limit": 99, "unit": "/s"}]
    spec = plan_spec(model="closed", connections=4, duration_s=3)
    version = make_plan(project, spec=spec | {"thresholds": rules})
    run = make_run(make_test(make_campaign(project), version))
    begin_run(run)
    for second in range(3):
        store_second(run, make_second(second, [10_000] * 100))
    for second in range(3, 8):
        store_second(run, make_second(second))
    return run


@pytest.mark.parametrize("is_over", [False, True], ids=["under way", "finished"])
def test_a_late_reply_divides_no_rate_anywhere(viewer, project, is_over):
    run = late_run(project)
    if is_over:
        late = {"late_ok": 1, "late_us": 5_500_000}
        store_second(run, make_second(8, [5_500_000], counters=late))
        spans = {"duration_us": 8_500_000, "measured_us": 3_000_000, "tail_us": 5_500_000}
        end_shards(run, last_second=8, end=spans | {"outcome": "complete"})
        Run.objects.filter(pk=run.pk).update(state="finalizing")
        end_of(run)
    SIGNAL.notify()
    run = Run.objects.get(pk=run.pk)
    page = page_of(viewer, run)
    rest = viewer.get(f"/api/v1/runs/{run.pk}/tables/").json()["tables"]
    [steps] = [table for table in rest if table["key"] == "steps"]
    assert {row["values"]["rate"] for row in steps["rows"]} == {100.0}
    tile = next(each for each in report_of(run).tiles if each["key"] == "rate")
    assert float(tile["value"]) == 100
    text = viewer.get(reverse("run-csv", args=[run.pk])).content.decode()
    heads, values, *_ = list(csv.reader(StringIO(text)))[1:]
    assert dict(zip(heads, values, strict=False))["ok requests/s"] == "100"
    assert "FAILED" not in page
    assert ("1 reply came up to 5.5 s" in page) is is_over
    if is_over:
        assert [each.passed for each in measurement_of(run).thresholds] == [True]


def test_the_points_of_page_stream_and_csv_have_the_same_figures(viewer, either_run):
    stream = seconds_after(either_run.pk, BEFORE_ALL)
    columns = stream["points"]
    if either_run.is_done:
        _, _, block = page_of(viewer, either_run).partition('<script id="points" ')
        assert json.loads(block.partition(">")[2].partition("</script>")[0]) == columns
    rows = csv_rows(viewer.get(reverse("run-seconds-csv", args=[either_run.pk])))
    assert [int(row["second (s)"]) for row in rows] == columns["second"] == list(range(6))
    for row, requests, response in zip(
        rows, columns["requests_text"], columns["response_text"], strict=True
    ):
        failed = int(row["failed"])
        completion = f", completed {count(int(row['ok']) + failed)}" if failed else ""
        assert requests == f"ok {count(int(row['ok']))}{completion}"
        ms = {name: figure(float(row[f"{name} (ms)"])) for name in ("p50", "p95", "p99")}
        assert response == "  ".join(f"{name} {text}" for name, text in ms.items())
    assert stream["now"] == ms | {"rate": count(int(rows[-1]["ok"])), "errors": "2 errors"}


def test_a_page_under_way_and_its_stream_say_how_far_it_is(viewer, run):
    SIGNAL.notify()
    words = seconds_after(run.pk, BEFORE_ALL)["progress"]["words"]
    assert words == "6 of 8 s measured"
    assert words in " ".join(page_of(viewer, run).split())

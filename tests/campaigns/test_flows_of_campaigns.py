"""Flows of a plan in the tables of its campaign, over all runs of a test."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.core.tables import csv_of_tables
from campaigns.domain.presentation.tables import Table
from campaigns.runs.queries.reports import run_report
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
    store_second,
)
from tests.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db
SHOP = {
    "steps": [{"path": "/"}, {"path": "/list"}, {"path": "/pay"}],
    "load": {"model": "closed", "connections": 5, "duration_s": 10},
    "flows": [
        {"name": "browse", "share": 9, "steps": 2},
        {"name": "buy", "share": 1, "steps": 1},
    ],
}


@pytest.fixture
def campaign(project):
    """Two runs of 10 s: 100 requests to each page a second, of 20 ms, and 10 that pay, of 90."""
    test = make_test(make_campaign(project), make_plan(project, "shop", SHOP))
    for repeat in (1, 2):
        run = make_run(test, repeat)
        for second in range(10):
            store_second(run, make_second(second, [20_000] * 100, step=1))
            store_second(run, make_second(second, [90_000] * 10, step=2))
        measure(run, 20_000, n=1000)
    return test.campaign


def rows(table: Table) -> list[tuple]:
    keys = [column.key for column in table.columns]
    return [
        (row.label, row.kind, *(row.cells[keys.index(key)].value for key in ("mean", "rate", "n")))
        for row in table.rows
    ]


def test_the_table_of_a_test_has_a_pooled_row_for_each_flow(campaign):
    [answer] = campaign_answer(campaign).tests
    assert rows(answer.table)[-3:] == [
        ("Pooled, 4,200 requests", "pooled", 23.3, 210.0, 4200),
        ("browse, pooled", "flow", 20.0, 200.0, 4000),
        ("buy, pooled", "flow", 90.0, 10.0, 200),
    ]


def test_the_page_of_a_run_and_its_file_have_flows_above_their_steps(campaign):
    report = run_report(campaign.runs.first())
    assert [row[:2] for row in rows(report.table)] == [
        ("All steps", "total"),
        ("browse", "flow"),
        ("GET /", "step"),
        ("GET /list", "step"),
        ("buy", "flow"),
        ("GET /pay", "step"),
    ]
    lines = csv_of_tables([report.table]).splitlines()
    assert [line.partition(",")[0] for line in lines[2:]] == [row[0] for row in rows(report.table)]


def test_a_comparison_has_a_word_for_each_flow(project):
    """HTTPS makes paying half as slow again, and browsing no slower."""
    campaign, target = make_campaign(project, repeats=3), make_target(project)
    version = make_plan(project, "shop", SHOP)
    for scheme, pay_us in (("http", 60_000), ("https", 90_000)):
        test = make_test(campaign, version, endpoint=make_endpoint(target, scheme))
        for repeat in (1, 2, 3):
            run = make_run(test, repeat)
            for second in range(10):
                store_second(run, make_second(second, [pay_us + repeat] * 10, step=2))
            measure(run, 20_000 + repeat, n=1000)
    (overhead,) = campaign_answer(campaign).overheads
    words = {row.label: row.cells[-1].value for row in overhead.table.rows if row.kind == "flow"}
    assert words == {
        "browse, average": "no practical difference",
        "browse, p95": "no practical difference",
        "buy, average": "slower",
        "buy, p95": "slower",
    }
    (buy,) = [row for row in overhead.table.rows if row.label == "buy, average"]
    assert buy.link == {"flow": "buy"}
    assert buy.cells[3].value == pytest.approx(1.5, abs=0.01)

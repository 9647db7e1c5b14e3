from datetime import timedelta

from django.utils import timezone

from campaigns.models import Run
from campaigns.queries.reports import run_report
from tests.factories import begin_run, make_campaign, make_plan, make_run, make_test, store_second
from tests.queries.measured import measure
from tests.values import make_second, plan_spec

RULES = [
    {"metric": "p95", "limit": 30, "unit": "ms"},
    {"metric": "rate", "limit": 500, "unit": "/s"},
]


def run_with_rules(project) -> Run:
    version = make_plan(project, spec=plan_spec() | {"thresholds": RULES})
    return make_run(make_test(make_campaign(project), version))


def told(table) -> list[list[str]]:
    return [[row.label, *(cell.text for cell in row.cells)] for row in table.rows]


def test_thresholds_are_judged_at_the_end(project):
    run = measure(run_with_rules(project), 20_000)
    assert told(run_report(run).thresholds) == [
        ["p95 < 30 ms", "22 ms", "30 ms", "kept", "–"],
        ["rate > 500 /s", "200 /s", "500 /s", "broken", "0"],
    ]


def test_thresholds_are_judged_while_the_run_goes(project):
    run = run_with_rules(project)
    begin_run(run, t0=timezone.now() - timedelta(seconds=60))
    for second, mean_us in enumerate([20_000, 20_000, 90_000]):
        store_second(run, make_second(second, [mean_us] * 100))
    run.refresh_from_db()
    assert told(run_report(run).thresholds)[0] == ["p95 < 30 ms", "90 ms", "30 ms", "broken", "2"]


def test_a_plan_without_rules_has_no_table_of_them(project):
    report = run_report(measure(make_run(make_test(make_campaign(project))), 20_000))
    assert "thresholds" not in [table.key for table in report.tables]

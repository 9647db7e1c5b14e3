import pytest

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan.plan import Plan
from campaigns.models import Run
from campaigns.queries.comparisons import compare_runs
from tests.factories import make_campaign, make_plan, make_run, make_test
from tests.queries.measured import https_campaign, measure, run_in_blocks, spoil
from tests.values import plan_spec


def row(table, label: str) -> list[str]:
    return [cell.text for cell in next(each for each in table.rows if each.label == label).cells]


def two_runs(project):
    _, tests = https_campaign(project)
    return run_in_blocks(tests, [[10_000], [15_000]])


def test_two_runs_stand_side_by_side_with_difference_and_ratio(project):
    table = compare_runs(*two_runs(project)).table
    assert [column.key for column in table.columns] == [
        "baseline",
        "candidate",
        "difference",
        "ratio",
    ]
    assert row(table, "average, ms") == ["10.0", "15.0", "+5.0", "1.500"]
    assert row(table, "n") == ["2,000", "2,000", "0", "1.000"]
    assert row(table, "errors") == ["0", "0", "0", "–"]


def test_single_runs_get_no_word_and_the_note_says_why(project):
    assert "Two single runs" in compare_runs(*two_runs(project)).note


def ab_and_httperf(project):
    """Seed 000: the same page, 50 at a time by one tool, one after the other by the other."""
    loads = [
        {"model": "closed", "connections": 50, "requests": 2000},
        {"model": "sequential", "requests": 2000},
    ]
    campaign = make_campaign(project)
    tests = [make_test(campaign, make_plan(project, spec=plan_spec(**load))) for load in loads]
    return [measure(make_run(test), 10_000) for test in tests]


def test_runs_that_were_asked_for_different_loads_say_nothing_about_each_other(project):
    note = compare_runs(*ab_and_httperf(project)).note
    assert "plans have different loads: 50 connections, 2,000 requests and one after" in note


def test_runs_that_were_sent_at_different_rates_are_told_apart_by_both_rates(project):
    _, tests = https_campaign(project)
    runs = [measure(make_run(tests[0], n), 10_000, sending_s=s) for n, s in ((1, 10), (2, 12.5))]
    assert "200 and 160 requests/s sent" in compare_runs(*runs).note


def test_runs_of_the_same_load_have_no_such_note(project):
    assert "load" not in compare_runs(*two_runs(project)).note


def test_it_says_what_differs_in_endpoint_and_plan(project):
    differs = compare_runs(*two_runs(project)).differs
    assert differs == [("Scheme", "http", "https"), ("Port", "8081", "8444")]


def test_both_have_a_percentile_curve(project):
    curves = compare_runs(*two_runs(project)).curves
    assert curves["baseline"][0]["q"] == curves["candidate"][0]["q"] == 0.1


def test_secrets_of_a_plan_are_told_apart_but_not_shown(project):
    def run(token: str):
        step = {"method": "GET", "path": "/", "headers": [["Authorization", token]]}
        version = make_plan(project, spec={**plan_spec(), "steps": [{**step, "label": "a"}]})
        return measure(make_run(make_test(make_campaign(project), version)), 10_000, seconds=1)

    differs = compare_runs(run("Bearer one"), run("Bearer two")).differs
    named = {name: (one, two) for name, one, two in differs}
    one, two = named["Headers"]
    assert one != two
    assert "Bearer" not in one + two


def test_a_run_that_measured_nothing_has_dashes_and_the_note_names_it(project):
    first, _ = two_runs(project)
    empty = make_run(make_test(make_campaign(project)))
    found = compare_runs(first, empty)
    assert row(found.table, "average, ms") == ["10.0", "–", "–", "–"]
    assert f"{empty.label}: This run is queued." in found.note
    assert found.curves["candidate"] == []


def test_a_failed_run_is_named_in_the_note(project):
    first, _ = two_runs(project)
    failed = measure(
        make_run(make_test(make_campaign(project))), 10_000, seconds=1, outcome=Outcome.FAILED
    )
    assert f"{failed.label}: Failed" in compare_runs(first, failed).note


@pytest.mark.parametrize("is_baseline", [True, False])
def test_a_run_that_is_not_usable_is_no_baseline_and_is_compared_with_none(project, is_baseline):
    first, second = two_runs(project)
    spoilt = first if is_baseline else second
    spoil(spoilt, cpu=0.9)
    found = compare_runs(*Run.objects.filter(pk__in=[first.pk, second.pk]).order_by("pk"))
    average = next(each for each in found.table.rows if each.label == "average, ms").cells
    assert [cell.text for cell in average] == ["10.0", "15.0", "–", "–"]
    assert average[-1].why == f"Run {spoilt.label} is not usable, so nothing is compared."


def test_it_warns_of_runs_that_cannot_be_believed(project):
    run = two_runs(project)[0]
    spoilt = measure(make_run(run.test, 2), 10_000, lateness_us=15_000)
    busy = measure(make_run(run.test, 3), 10_000, vitals={"cpu_share": 0.7})
    compared = compare_runs(spoilt, busy)
    first, second = compared.warnings
    assert first.startswith(
        f"The measurement of run {spoilt.label} is not usable. The injector sent late"
    )
    assert second.startswith(
        f"The measurement of run {busy.label} is doubtful. The injector was busy"
    )
    assert compare_runs(run, run).warnings == []


def test_headers_of_an_exchange_and_tables_are_told_apart_without_being_shown(project):
    campaign = make_campaign(project)
    runs = []
    for secret in ("alpha", "omega"):
        spec = plan_spec() | {
            "steps": [],
            "exchange": {"path": "/", "headers": [["X-Key", secret]]},
            "variables": {"csv": f"token\n{secret}\n"},
        }
        version = make_plan(project, spec=Plan.from_json(spec).to_json())
        runs.append(measure(make_run(make_test(campaign, version)), 10_000))
    differs = {name: values for name, *values in compare_runs(*runs).differs}
    assert {"WebSocket: headers", "Table (CSV)"} <= set(differs)
    assert not any(secret in str(differs) for secret in ("alpha", "omega"))

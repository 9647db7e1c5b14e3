"""Campaigns, tests and runs against a baseline."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.compare.queries.columns import columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.permissions import Actor
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.compared import Comparison
from campaigns.models import Campaign, PlanVersion, Run, Test, TimeMark
from tests.factories import make_campaign, make_plan, make_run, make_target, make_test
from tests.kept_cast import project as project
from tests.kept_cast import vera as vera
from tests.measured import https_campaign, measure, run_in_blocks, same_again, spoil
from tests.values import plan_spec

FAST = [10_000, 10_100, 9_900]
SLOW = [11_200, 11_250, 11_180]


@pytest.fixture
def compare(vera):
    """The comparison of rows, the first of which is the baseline."""

    def of(*rows, test: str = "") -> Comparison:
        names = (f"{type(row).__name__.lower()}-{row.pk}" for row in rows)
        columns = columns_of(Actor(user=vera), dict(zip("abcdef", names, strict=False)))
        return comparison_of(columns, test)

    return of


@pytest.fixture(scope="module")
def campaign_of_the_file(project_of_the_file):
    campaign, tests = https_campaign(project_of_the_file)
    run_in_blocks(tests, [FAST, [20_000, 20_200, 19_900]])
    return campaign


@pytest.fixture
def earlier(campaign_of_the_file, project):
    """Two tests that ran three times: HTTP and HTTPS."""
    return list(Test.objects.filter(campaign=campaign_of_the_file).order_by("position"))


def later_of(earlier, http=tuple(FAST), https=(20_000, 20_200, 19_900)):
    later = same_again(earlier)
    run_in_blocks(later, [list(http), list(https)])
    return later


def later_version_of(earlier, spec: dict, **fields) -> list[Test]:
    """The same tests with the plan's second version, slower."""
    plan = earlier[0].plan_version.plan
    newer = PlanVersion.objects.create(plan=plan, number=2, spec=spec)
    campaign = make_campaign(plan.project)
    later = [make_test(campaign, newer, endpoint=test.endpoint) for test in earlier]
    run_in_blocks(later, [SLOW, SLOW], **fields)
    return later


def campaigns(*sides):
    return [tests[0].campaign for tests in sides]


def test_a_test_that_became_slower_comes_first_with_its_word(earlier, compare):
    comparison = compare(*campaigns(earlier, later_of(earlier, SLOW)))
    assert [(each.scheme, each.word) for each in comparison.tests] == [
        ("http", "slower"),
        ("https", "no practical difference"),
    ]
    slower = comparison.tests[0]
    assert slower.row.interval.low < 1.12 < slower.row.interval.high
    assert slower.said == "slower, or the environment"


@pytest.fixture
def names(vera, project):
    """What the columns of two campaigns of one target are called, a day and two days ago."""
    now = timezone.now()
    _, tests = https_campaign(project, name="Nightly", started_at=now - timedelta(days=2))
    again = same_again(tests, name="Nightly (2)", started_at=now - timedelta(days=1))
    sides = {
        letter: f"campaign-{t[0].campaign_id}"
        for letter, t in zip("ab", (tests, again), strict=True)
    }

    def column_names() -> list[str]:
        return [column.name for column in columns_of(Actor(user=vera), sides)]

    return tests[0].endpoint.target, column_names


def mark(project, text: str, days: float, target=None) -> None:
    at = timezone.now() - timedelta(days=days)
    TimeMark.objects.create(project=project, target=target, text=text, at=at, key=text)


def test_campaigns_are_called_by_the_releases_that_they_measured(names, project):
    target, names_now = names
    mark(project, "release 1.0", 5)
    mark(project, "disk replaced", 1.5)
    mark(project, "9.9 elsewhere", 1.5, make_target(project))
    assert names_now() == ["“Nightly”", "“Nightly (2)”"]  # both measured the same
    mark(project, "v1.1-rc2 is out", 1.4, target)
    assert names_now() == ["release 1.0", "release 1.1-rc2"]


def test_campaigns_that_nothing_else_tells_apart_are_called_by_their_numbers(names):
    _, names_now = names
    Campaign.objects.update(name="Nightly")
    assert all(re.fullmatch(r"campaign #\d+", name) for name in names_now())


def test_a_run_that_hung_decides_nothing_and_the_rest_is_bounded(earlier, compare):
    later = later_of(earlier, (11_200, 900_000, 11_180))
    test = next(t for t in compare(*campaigns(earlier, later)).tests if t.scheme == "http")
    assert test.word == "too close to call"
    assert "settle it" in test.why


def test_a_newer_version_that_asks_for_another_load_gets_no_word(earlier, compare):
    spec = plan_spec(model="over", requests=4000, over_s=10)
    later = later_version_of(earlier, spec, n=4000)
    comparison = compare(*campaigns(earlier, later))
    assert [each.word for each in comparison.tests] == ["", ""]
    assert (comparison.differs[0].name, comparison.differs[0].forbids) == ("Requests", True)
    assert comparison.differs[0].tests == ()


def test_a_newer_version_that_sends_another_request_gets_no_word(earlier, compare):
    spec = plan_spec(model="over", requests=2000, over_s=10)
    spec["steps"][0]["path"] = "/other"
    later = later_version_of(earlier, spec)
    comparison = compare(*campaigns(earlier, later))
    assert {each.name for each in comparison.differs if each.forbids} == {"Path"}
    assert [each.word for each in comparison.tests] == ["", ""]


def test_a_newer_version_with_other_thresholds_is_alike(earlier, compare):
    spec = plan_spec(model="over", requests=2000, over_s=10) | {
        "thresholds": [{"metric": "p95", "limit": 900}]
    }
    later = later_version_of(earlier, spec)
    comparison = compare(*campaigns(earlier, later))
    assert {each.word for each in comparison.tests} == {"slower", "faster"}
    thresholds = [each for each in comparison.differs if each.name.startswith("Threshold")]
    assert thresholds
    assert not any(each.forbids for each in thresholds)


def test_what_changed_in_the_environment_is_named_once_for_all_tests(earlier, compare):
    target = earlier[0].endpoint.target
    target.environment = [["version", "4.21"]]
    target.save()
    for test in earlier:
        test.endpoint.target.environment = target.environment
    comparison = compare(*campaigns(earlier, later_of(earlier, SLOW)))
    differs = {each.name: each for each in comparison.differs}
    assert (differs["Version"].baseline, differs["Version"].candidate) == ("–", "4.21")
    assert not differs["Version"].forbids
    assert comparison.tests[0].word == "slower"


def test_runs_that_alternated_are_not_blamed_on_the_environment(earlier, compare):
    later = later_of(earlier, SLOW)
    now = timezone.now()
    for offset, side in enumerate((earlier, later)):
        for test in side:
            for run in test.runs.all():
                t0 = now + timedelta(minutes=2 * run.repeat + offset)
                Run.objects.filter(pk=run.pk).update(t0=t0)
    comparison = compare(*campaigns(earlier, later))
    assert comparison.tests[0].said == "slower"
    assert comparison.warnings == []


def test_campaigns_with_nothing_in_common_are_told_what_each_has(project, earlier, compare):
    other = make_test(make_campaign(project))
    comparison = compare(earlier[0].campaign, other.campaign)
    assert comparison.tests == []
    assert comparison.detail is None
    assert other.plan_version.plan.name in str(comparison.alone)


def test_three_columns_have_a_sentence_each_and_one_baseline(earlier, compare):
    second, third = later_of(earlier, SLOW), later_of(earlier)
    comparison = compare(*campaigns(earlier, second, third))
    assert [each.column for each in comparison.tests] == ["b", "b", "c", "c"]
    assert len(comparison.sentences) == 2


def test_two_tests_are_compared_by_choice_whatever_their_arm(earlier, compare):
    (test,) = compare(*earlier).tests
    assert test.word == "slower"
    assert not test.or_environment


def test_runs_that_cannot_be_trusted_have_no_word(earlier, compare):
    later = later_of(earlier, SLOW)
    for run in later[0].runs.all():
        spoil(run, missing_seconds=0.5)
    test = next(t for t in compare(*campaigns(earlier, later)).tests if t.scheme == "http")
    assert (test.word, test.increase) == ("", None)


def test_injectors_on_another_host_forbid_a_word(earlier, compare):
    later = later_of(earlier, SLOW)
    for test in later:
        for run in test.runs.all():
            run.shards.update(host="inj-2")
    comparison = compare(*campaigns(earlier, later))
    assert [each.word for each in comparison.tests] == ["", ""]
    (hosts,) = [each for each in comparison.differs if each.name == "Injector hosts"]
    assert hosts.forbids


class TestTwoRuns:
    """Single runs: figures beside each other, never a word."""

    @pytest.fixture
    def runs(self, project):
        _, tests = https_campaign(project)
        return run_in_blocks(tests, [[10_000], [15_000]])

    def test_the_figures_stand_beside_each_other_without_a_word(self, runs, compare):
        comparison = compare(*runs)
        mean = comparison.detail.times.rows[0]
        assert [cell.text for cell in mean.cells[:4]] == ["10.0", "15.0", "+5.0", "1.500"]
        assert comparison.tests[0].word == ""

    def test_rate_and_counts_have_difference_and_ratio(self, runs, compare):
        rows = {row.label: row.cells for row in compare(*runs).detail.counts.rows}
        assert [cell.text for cell in rows["n"]] == ["2,000", "2,000", "0", "1.000"]
        assert [cell.text for cell in rows["errors"]] == ["0", "0", "0", "–"]

    def test_secrets_are_told_apart_but_not_shown(self, project, compare):
        def run(token: str):
            step = {"method": "GET", "path": "/", "headers": [["Authorization", token]]}
            version = make_plan(project, spec={**plan_spec(), "steps": [{**step, "label": "a"}]})
            return measure(make_run(make_test(make_campaign(project), version)), 10_000, seconds=1)

        comparison = compare(run("Bearer one"), run("Bearer two"))
        (headers,) = [each for each in comparison.differs if each.name == "Headers"]
        assert headers.baseline != headers.candidate
        assert "Bearer" not in str(comparison.differs)

    def test_headers_of_an_exchange_and_tables_are_told_apart(self, project, compare):
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
        differs = compare(*runs).differs
        assert {"WebSocket: headers", "Table (CSV)"} <= {each.name for each in differs}
        assert not any(secret in str(differs) for secret in ("alpha", "omega"))

    @pytest.mark.parametrize("is_baseline", [True, False])
    def test_a_run_that_is_not_usable_has_nothing_to_compare(self, runs, is_baseline, compare):
        spoilt = runs[0] if is_baseline else runs[1]
        spoil(spoilt, missing_seconds=0.5)
        comparison = compare(*runs)
        assert [cell.text for cell in comparison.table.rows[0].cells[:4]] == ["–"] * 4


def test_a_sweep_beside_the_plan_as_it_is_compares_the_value_that_the_plan_has(project, compare):
    version = make_plan(project, spec=plan_spec(model="open", rate_per_s=100, duration_s=10))
    plain = make_test(make_campaign(project), version)
    sweep = make_campaign(project)
    points = [
        make_test(sweep, version, endpoint=plain.endpoint, swept="rate_per_s", swept_value=rate)
        for rate in (50, 100, 200)
    ]
    run_in_blocks([plain], [FAST])
    run_in_blocks(points, [FAST, FAST, FAST])
    comparison = compare(plain.campaign, sweep)
    assert [each.candidate_test_id for each in comparison.tests] == [points[1].pk]
    ((name, alone),) = comparison.alone
    assert (name, len(alone)) == (f"“{sweep.name}”", 2)

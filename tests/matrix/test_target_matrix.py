"""Several targets at several plans: who is the fastest where, and what cannot be told."""

from types import SimpleNamespace

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.compare.queries.side_by_side import Pass
from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound
from campaigns.domain.plan.turns import TurnsOrder
from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import Run
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
from tests.measured import run_in_blocks, spoil
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
SPEC = plan_spec(model="over", requests=2000, over_s=10)


@pytest.fixture
def ask(project):
    """A finished campaign of these targets and plans; `means_us` by plan has a list per target."""

    def ask(means_us: dict[str, list[list[float]]], names=("apache", "nginx")):
        repeats = len(next(iter(means_us.values()))[0])
        campaign = make_campaign(project, repeats=repeats, order="blocks", **just_now())
        endpoints = [make_endpoint(make_target(project, name)) for name in names]
        runs = []
        for plan, means in means_us.items():
            version = make_plan(project, plan, spec=SPEC)
            tests = [make_test(campaign, version, endpoint=endpoint) for endpoint in endpoints]
            runs += run_in_blocks(tests, means)
        return campaign, runs, lambda: campaign_answer(campaign)

    return ask


def around(mean_us: float) -> list[float]:
    return [mean_us * factor for factor in (0.99, 1.01, 1.0, 0.995, 1.005)]


@pytest.fixture
def study(project):
    """Two servers, each measured on its own host and from elsewhere; by default at L1 to L3 and at
    R1 to R3, in µs."""

    def study(
        near=(1000, 2000), far=(1900, 2880), order="blocks", plans=("L1", "R1"), far_spec=SPEC
    ):
        campaign = make_campaign(project, repeats=5, order=order, **just_now())
        specs = {plans[1]: far_spec, plans[0]: SPEC}
        versions = {name: make_plan(project, name, spec=spec) for name, spec in specs.items()}
        targets = [make_target(project, name) for name in ("apache", "nginx")]
        for plan, host, means in zip(plans, ("127.0.0.1", "10.0.0.7"), (near, far), strict=True):
            endpoints = [
                make_endpoint(target, host=host, port=9000 + n) for n, target in enumerate(targets)
            ]
            tests = [make_test(campaign, versions[plan], endpoint=each) for each in endpoints]
            run_in_blocks(tests, [around(mean) for mean in means])
        return campaign_answer(campaign).matrix

    return study


def test_a_server_is_one_column_near_and_far(study):
    matrix = study()
    assert matrix.columns == ("apache", "nginx")
    assert [(row.place, row.plan) for row in matrix.rows] == [("local", "L1"), ("remote", "R1")]


@pytest.mark.parametrize(
    ("plans", "label"),
    [(("L1", "R1"), "R1 \u2212 L1"), (("one file", "one file"), "one file, remote \u2212 local")],
)
def test_what_the_network_adds_is_the_difference_within_blocks(study, plans, label):
    (row,) = study(plans=plans).network
    assert row.label == label
    apache, nginx = row.columns
    assert (apache.mean, nginx.mean) == (pytest.approx(900, abs=2), pytest.approx(880, abs=2))
    assert apache.low < 900 < apache.high
    assert apache.high - apache.low < 30


def test_without_blocks_the_network_has_a_difference_and_no_interval(study):
    table = study(order="listed").network_table
    assert [cell.text for cell in table.rows[0].cells][:3] == ["apache", "+0.900", "\u2013"]


def test_other_requests_from_elsewhere_are_not_the_network(study):
    assert study(far_spec=plan_spec(model="over", requests=4000, over_s=10)).network == ()


def test_a_target_near_and_another_far_share_a_row(project):
    campaign = make_campaign(project, repeats=5, order="blocks", **just_now())
    version = make_plan(project, "L1", spec=SPEC)
    hosts = {"apache": "127.0.0.1", "nginx": "10.0.0.7"}
    endpoints = [
        make_endpoint(make_target(project, name), host=host) for name, host in hosts.items()
    ]
    tests = [make_test(campaign, version, endpoint=endpoint) for endpoint in endpoints]
    run_in_blocks(tests, [around(1000), around(2000)])
    matrix = campaign_answer(campaign).matrix
    (row,) = matrix.rows
    assert (row.place, row.best, matrix.network) == ("", "apache", ())


def test_the_best_of_a_row_is_named_with_its_interval_against_the_second(ask):
    _, _, answer = ask({"L1": [around(20_000), around(10_000)]})
    (row,) = answer().matrix.rows
    assert row.best == "nginx"
    assert row.best_words.startswith("\u221250.0\u202f% [")


def test_three_targets_come_in_the_order_of_their_times(ask):
    means = [around(20_000), around(10_000), around(30_000)]
    _, _, answer = ask({"L1": means}, names=("apache", "nginx", "caddy"))
    sentence = plain_text(answer().sentence)
    assert sentence.startswith("nginx is the fastest, then apache, then caddy at L1, by ")


def test_targets_that_took_turns_are_ordered_by_their_rounds(ask):
    """One run of each, whose rounds decide, although their averages say the opposite."""
    campaign, runs, answer = ask({"L1": [[10_000], [20_000]]})
    arms = [ArmRound(10, p50_us=us, mean_us=us) for us in (9000.0, 7000.0)]
    rounds = [ArmsRound(n, n, (0, 1), tuple(arms)) for n in range(40)]
    frozen_run = SimpleNamespace(turns=TurnsOrder(), pace={})
    fields = {"frozen": frozen_run, "t0": None, "outcome": "complete"}
    of_pass = [SimpleNamespace(pk=run.pk, test_id=run.test_id, **fields) for run in runs]
    for run in runs:
        turns = {"turns": TurnsOrder().to_json()}
        Run.objects.filter(pk=run.pk).update(snapshot={**run.snapshot, **turns})
    campaign.passes = [Pass(of_pass, rounds)]
    matrix = answer().matrix
    (row,) = matrix.rows
    assert row.best == "nginx"
    assert row.order[0].row.ratio == pytest.approx(7 / 9)
    assert row.cells[1].against.interval.ratio == pytest.approx(7 / 9), "as the plot shows it"
    assert matrix.in_turns


def test_targets_that_cannot_be_told_apart_have_no_best(ask):
    wide = [10_000, 13_000, 9_000, 12_000, 11_000]
    _, _, answer = ask({"L1": [wide, list(reversed(wide))]})
    (row,) = answer().matrix.rows
    assert row.best == ""
    assert "0.0\u202f% [" in row.best_words
    assert row.why
    assert row.why_no_best == "", "the interval says it"


def test_a_difference_of_a_few_microseconds_makes_no_best(ask):
    _, _, answer = ask({"L1": [around(29), around(21)]})
    (row,) = answer().matrix.rows
    assert row.best == ""


def test_differences_are_relative_to_the_chosen_column(ask):
    campaign, _, answer = ask({"L1": [around(20_000), around(10_000)]})
    first, second = answer().matrix.rows[0].cells
    assert first.against is None
    assert second.against.ratio == pytest.approx(0.5, rel=0.01)
    first, second = campaign_answer(campaign, relative=2).matrix.rows[0].cells
    assert first.against.ratio == pytest.approx(2, rel=0.01)
    assert second.against is None


def test_a_run_that_cannot_be_used_is_in_no_mean_and_in_no_best(ask):
    _, runs, answer = ask({"L1": [around(20_000), around(10_000)]})
    for run in runs:
        if run.target.name == "nginx":
            spoil(run, missing_seconds=0.5)
    assert answer().matrix.rows[0].cells[1].mean is None
    assert answer().matrix.rows[0].best == ""


def test_busy_runs_make_a_best_by_their_medians_and_their_cell_says_so(ask):
    _, runs, answer = ask({"L1": [around(20_000), around(10_000)]})
    nginx = [run for run in runs if run.target.name == "nginx"]
    for run in nginx:
        spoil(run, cpu=0.9)
    (row,) = answer().matrix.rows
    apache, nginx_cell = row.cells
    assert (bool(apache.doubt), bool(nginx_cell.doubt)) == (False, True)
    assert nginx_cell.mean.k == 5, "means count them, as everywhere"
    assert row.best == "nginx"
    assert answer().matrix.table.rows[1].cells[1].weak


def test_the_last_row_has_geometric_means_over_the_plans_with_an_interval_over_the_blocks(ask):
    _, _, answer = ask(
        {
            "L1": [around(10_000), around(20_000)],
            "L2": [around(90_000), around(45_000)],
        }
    )
    (overall,) = answer().matrix.overall
    first, second = overall.cells
    assert overall.plan == "All 2 plans"
    assert first.mean.mean == pytest.approx(30_000, rel=0.01)
    assert first.against is None
    assert second.against.ratio == pytest.approx(1.0, rel=0.01), "twice at one, half at the other"
    assert second.against.interval.k == 5
    assert overall.best == ""


def test_one_target_has_no_matrix(project):
    campaign = make_campaign(project)
    target = make_target(project)
    for scheme in ("http", "https"):
        make_test(campaign, endpoint=make_endpoint(target, scheme))
    assert campaign_answer(campaign).matrix is None

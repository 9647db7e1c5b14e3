"""Tests that differ in one number are a sweep: a row for each value, and curves."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.presentation.charts import DOUBT
from campaigns.models import Run, TestFigures
from campaigns.runs.services import keep_figures
from campaigns.sweep.views import drawn_sweeps
from tests.charts import points
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import measure, run_in_blocks, spoil
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
OPEN = plan_spec(model="open", rate_per_s=10, duration_s=10)


@pytest.fixture
def campaign(project):
    return make_campaign(project, repeats=1, **just_now())


def sweep(campaign, counts, endpoint=None, version=None):
    version = version or make_plan(campaign.project)
    endpoint = endpoint or make_endpoint(make_target(campaign.project))
    return [make_test(campaign, version, endpoint=endpoint, injectors=n) for n in counts]


def sweep_of_rate(campaign, rates, target="apache", version=None):
    version = version or make_plan(campaign.project, spec=OPEN)
    endpoint = make_endpoint(make_target(campaign.project, target))
    return [
        make_test(campaign, version, endpoint=endpoint, swept="rate_per_s", swept_value=rate)
        for rate in rates
    ]


def measure_each(tests, counts, mean_us=10_000):
    """A run of each test, with so many requests; trusted."""
    runs = []
    for test, n in zip(tests, counts, strict=True):
        runs.append(measure(make_run(test, repeat=test.runs.count() + 1), mean_us, n=n))
        spoil(runs[-1])
    return runs


def column(table, key):
    index = [each.key for each in table.columns].index(key)
    return [row.cells[index].text for row in table.rows]


def rows_of(group) -> list[str]:
    """Of the table of several arms: value and arm."""
    return [f"{row.label} {row.cells[0].text}" for row in group["table"].rows]


def panels_of(campaign):
    (group,) = drawn_sweeps(campaign_answer(campaign).sweeps)
    return {panel.title: panel for panel in group["charts"].panels}


def test_a_sweep_has_a_row_for_each_number_of_injectors_in_their_order(campaign):
    twelve, one = sweep(campaign, [12, 1])
    measure_each([twelve], [2000], 20_000)
    measure_each([one], [2000], 10_000)
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert [row.label for row in the_sweep.table.rows] == [
        "1 injector process",
        "12 injector processes",
    ]
    assert [float(text) for text in column(the_sweep.table, "mean")] == pytest.approx(
        [10, 20], rel=0.1
    )
    for key in ("n", "duration", "interval", "min", "p50", "p95", "max", "rate", "errors"):
        assert "–" not in column(the_sweep.table, key), key
    assert [float(text) for text in column(the_sweep.table, "speed_up")] == [1, 1]
    assert [point.value for point in the_sweep.points] == [1, 12]


def test_efficiency_and_requests_under_way_follow_from_throughput(campaign):
    measure_each(sweep(campaign, [1, 2]), [1000, 1500])
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert [float(text) for text in column(the_sweep.table, "speed_up")] == [1, 1.5]
    assert [float(text) for text in column(the_sweep.table, "efficiency")] == [100, 75]
    rates, under_way = (column(the_sweep.table, key) for key in ("rate", "under_way"))
    for rate, figure in zip(rates, under_way, strict=True):
        assert float(figure) == pytest.approx(float(rate) * 0.010, rel=0.05), "X × R"


def test_where_runs_differ_the_table_says_of_what_its_averages_and_its_intervals_are(campaign):
    for test in sweep(campaign, [1, 2]):
        for n, mean_us in ((3000, 10_000), (3000, 11_000), (300, 30_000)):
            measure_each([test], [n], mean_us)
    table = campaign_answer(campaign).sweeps[0].table
    average, low, high = (float(column(table, key)[0]) for key in ("mean", "mean_low", "mean_high"))
    assert average == pytest.approx(11.4, abs=0.1), "of 6,300 requests"
    assert (max(0, low) + high) / 2 > 20, "around the average of three runs, 17 ms"


def test_a_row_without_a_usable_run_says_so_and_is_not_drawn(campaign):
    one, _, four = sweep(campaign, [1, 2, 4])
    measure_each([one, four], [2000, 2000])
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert column(the_sweep.table, "rate")[1] == "–"
    throughput = panels_of(campaign)["Throughput"]
    assert [y is None for y in throughput.series[1].y] == [False, True, False]


def test_an_untrusted_run_is_drawn_apart_and_is_in_no_speed_up_no_line_and_no_word(campaign):
    runs = measure_each(sweep(campaign, [1, 2, 4]), [1000, 1900, 9000])
    spoil(runs[2], cpu=0.99)
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert column(the_sweep.table, "speed_up") == ["1.00", "1.90", "–"]
    assert column(the_sweep.table, "trusted") == ["1 of 1", "1 of 1", "0 of 1"]
    assert [row.kind for row in the_sweep.table.rows] == ["sweep", "sweep-end", "sweep-apart"]
    _, line, apart = panels_of(campaign)["Throughput"].series
    assert [x for x, _ in points(line)] == [1, 2]
    assert (apart.style, apart.x) == (DOUBT, [4])


def test_one_untrusted_repeat_makes_its_point_untrusted(campaign):
    one, two = sweep(campaign, [1, 2])
    runs = measure_each([one, two, two], [1000, 2000, 2000])
    spoil(runs[2], cpu=0.99)
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert [point.is_trusted for point in the_sweep.points] == [True, False]
    assert column(the_sweep.table, "rate_low")[1] == "–"


def test_three_trusted_repeats_give_an_interval(campaign):
    one, two = sweep(campaign, [1, 2])
    measure_each([one] * 3, [1000, 1010, 990])
    measure_each([two] * 2, [2000, 2010])
    (the_sweep,) = campaign_answer(campaign).sweeps
    low, high = (column(the_sweep.table, key)[0] for key in ("rate_low", "rate_high"))
    assert float(low) < 100 < float(high)
    assert column(the_sweep.table, "rate_low")[1] == "–", "two repeats have none"


def test_one_number_of_injectors_is_no_sweep(campaign):
    (test,) = sweep(campaign, [3])
    measure(make_run(test, n_shards=3), 10_000)
    answer = campaign_answer(campaign)
    assert answer.sweeps == ()
    assert answer.tests[0].label == "HTTP new connection"


def test_a_number_of_the_plan_is_swept_without_a_speed_up(campaign):
    measure_each(sweep_of_rate(campaign, [400, 100]), [4000, 1000])
    (the_sweep,) = campaign_answer(campaign).sweeps
    assert the_sweep.table.label_title == "rate, requests/s"
    assert [row.label for row in the_sweep.table.rows] == ["100", "400"]
    assert not {"speed_up", "efficiency"} & {each.key for each in the_sweep.table.columns}
    assert set(panels_of(campaign)) == {"Throughput", "Response time"}


def test_several_targets_stand_side_by_side_with_why_a_point_is_not_trusted(campaign):
    version = make_plan(campaign.project, spec=OPEN)
    apache = measure_each(sweep_of_rate(campaign, [10, 20], "apache", version), [100, 200])
    measure_each(sweep_of_rate(campaign, [20, 40], "nginx", version), [200, 400])
    spoil(apache[1], cpu=0.9)
    (group,) = drawn_sweeps(campaign_answer(campaign).sweeps)
    assert rows_of(group) == ["10 apache", "20 apache", "20 nginx", "40 nginx"]
    assert [row.kind == "sweep-apart" for row in group["table"].rows] == [False, True, False, False]
    ((where, why),) = group["untrusted"]
    assert (where, "90" in why) == ("20, apache", True)


def test_the_points_of_a_sweep_are_in_no_history(campaign):
    tests = sweep_of_rate(campaign, [100, 200])
    measure_each(tests, [1000, 2000])
    keep_figures([test.pk for test in tests])
    assert not TestFigures.objects.exists()


def test_https_is_compared_with_http_at_the_same_value(campaign):
    target, version = make_target(campaign.project), make_plan(campaign.project)
    for scheme in ("http", "https"):
        sweep(campaign, [1, 2], make_endpoint(target, scheme), version)
    answer = campaign_answer(campaign)
    pairs = [(each.baseline_test_id, each.candidate_test_id) for each in answer.overheads]
    tests = list(campaign.tests.order_by("position").values_list("pk", flat=True))
    assert pairs == [(tests[0], tests[2]), (tests[1], tests[3])]


def two_servers(campaign, means_us):
    """A sweep of connections over two servers in blocks; mean µs by value, for each server."""
    version = make_plan(campaign.project)
    ends = [make_endpoint(make_target(campaign.project, name)) for name in means_us]
    tests = [
        make_test(campaign, version, endpoint=end, injectors=n)
        for end, means in zip(ends, means_us.values(), strict=True)
        for n in means
    ]
    values = [us for means in means_us.values() for us in means.values()]
    runs_by_block = run_in_blocks(tests, [[us, 1.01 * us, 1.005 * us] for us in values], n=200)
    for run in Run.objects.filter(campaign=campaign):
        spoil(run)
    return runs_by_block


@pytest.fixture
def in_blocks(project):
    return make_campaign(project, repeats=3, **just_now())


SERVERS = {"apache": {1: 10_000, 2: 20_000, 4: 40_000}, "nginx": {1: 8_000, 2: 16_000, 4: 52_000}}


def test_one_server_is_said_against_the_other_at_each_value(in_blocks):
    two_servers(in_blocks, SERVERS)
    apache, nginx = campaign_answer(in_blocks).sweeps
    assert (apache.reference, nginx.reference) == ("", "apache")
    assert "difference" not in {each.key for each in apache.table.columns}
    assert column(nginx.table, "difference") == ["−20.0", "−20.0", "+30.0"]
    assert column(nginx.table, "word") == ["faster", "faster", "slower"]
    lows, highs = (column(nginx.table, f"difference_{end}") for end in ("low", "high"))
    assert all(low != "–" != high for low, high in zip(lows, highs, strict=True))
    (group,) = drawn_sweeps([apache, nginx])
    assert column(group["table"], "word") == ["–", "faster", "–", "faster", "–", "slower"]


def test_the_reader_chooses_what_they_are_relative_to(in_blocks):
    two_servers(in_blocks, SERVERS)
    apache, nginx = campaign_answer(in_blocks, None, 2).sweeps
    assert (apache.reference, nginx.reference) == ("nginx", "")
    assert column(apache.table, "word") == ["slower", "slower", "faster"]
    assert campaign_answer(in_blocks, None, 9).sweeps[0].reference == "", "unknown: the first"


def test_a_point_of_a_busy_machine_has_a_word_and_one_without_an_answer_has_none(in_blocks):
    two_servers(in_blocks, SERVERS)
    for run in in_blocks.runs.filter(test__endpoint__target__name="apache"):
        if run.test.injectors > 1:
            spoil(run, **{2: {"cpu": 0.99}, 4: {"missing_seconds": 0.5}}[run.test.injectors])
    _, nginx = campaign_answer(in_blocks).sweeps
    assert column(nginx.table, "word") == ["faster", "faster", "–"]
    assert column(nginx.table, "difference")[2] == "–"

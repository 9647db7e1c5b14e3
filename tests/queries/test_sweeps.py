"""Tests that differ in the number of injectors are a sweep: a row for each, and a curve."""

import pytest
from django.urls import reverse

from campaigns.queries.answers import campaign_answer
from campaigns.views.campaign_tiles import tiles_of
from campaigns.views.sweep_curve import sweep_panels
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(project):
    return make_campaign(project, repeats=1)


def sweep(campaign, counts, endpoint=None, version=None):
    version = version or make_plan(campaign.project)
    endpoint = endpoint or make_endpoint(make_target(campaign.project))
    return [make_test(campaign, version, endpoint=endpoint, injectors=n) for n in counts]


def column(table, key):
    index = [each.key for each in table.columns].index(key)
    return [row.cells[index].text for row in table.rows]


def test_a_sweep_has_a_row_for_each_number_of_injectors_in_their_order(campaign):
    twelve, one = sweep(campaign, [12, 1])
    measure(make_run(twelve), 20_000)
    measure(make_run(one, position=2), 10_000)
    (found,) = campaign_answer(campaign).sweeps
    assert [row.label for row in found.table.rows] == [
        "1 injector process",
        "12 injector processes",
    ]
    assert [float(text) for text in column(found.table, "mean")] == pytest.approx([10, 20], rel=0.1)
    for key in ("n", "duration", "interval", "min", "p50", "p95", "max", "rate", "errors"):
        assert "–" not in column(found.table, key), key
    assert [float(text) for text in column(found.table, "speed_up")] == [1, 1]
    assert [point["injectors"] for point in found.points] == [1, 12]


def test_a_row_without_a_usable_run_says_so_and_is_not_drawn(campaign):
    one, _, four = sweep(campaign, [1, 2, 4])
    measure(make_run(one), 10_000)
    measure(make_run(four, position=2), 10_000)
    (found,) = campaign_answer(campaign).sweeps
    assert column(found.table, "rate")[1] == "–"
    throughput, _ = sweep_panels(found)
    assert len(throughput.curves[0].dots) == 2
    assert throughput.curves[0].pieces == [], "nothing is drawn across a gap"


def test_one_number_of_injectors_is_no_sweep(campaign):
    (test,) = sweep(campaign, [3])
    measure(make_run(test, n_shards=3), 10_000)
    answer = campaign_answer(campaign)
    assert answer.sweeps == ()
    assert answer.tests[0].label == "HTTP new connection"


def test_https_is_compared_with_http_by_as_many_injectors(campaign):
    target, version = make_target(campaign.project), make_plan(campaign.project)
    for scheme in ("http", "https"):
        sweep(campaign, [1, 2], make_endpoint(target, scheme), version)
    answer = campaign_answer(campaign)
    pairs = [(each.baseline_test_id, each.candidate_test_id) for each in answer.overheads]
    tests = list(campaign.tests.order_by("position").values_list("pk", flat=True))
    assert pairs == [(tests[0], tests[2]), (tests[1], tests[3])]


def test_the_campaign_page_has_table_and_curves(client, bob, campaign):
    one, two = sweep(campaign, [1, 2])
    type(campaign).objects.filter(pk=campaign.pk).update(started_at=campaign.created_at)
    for position, test in enumerate((one, two), 1):
        measure(make_run(test, position=position), 10_000)
    client.force_login(bob)
    page = client.get(reverse("campaign-detail", args=[campaign.pk])).content.decode()
    assert "by number of injector processes" in page
    assert "2 injector processes" in page
    assert page.count('class="sweep-dot"') == 6, "two of throughput, of average and of p95 each"


def test_sweeps_of_several_targets_are_named_by_their_target(campaign):
    version = make_plan(campaign.project)
    for name in ("apache", "nginx"):
        sweep(campaign, [1, 2], make_endpoint(make_target(campaign.project, name)), version)
    titles = [each.title for each in campaign_answer(campaign).sweeps]
    assert ["apache" in titles[0], "nginx" in titles[1]] == [True, True]


def test_tests_without_a_tile_are_counted_in_the_last_one(campaign):
    endpoint = make_endpoint(make_target(campaign.project))
    for _ in range(7):
        make_test(campaign, endpoint=endpoint)
    tiles = tiles_of(campaign_answer(campaign))
    assert len(tiles) == 5
    assert (tiles[-1]["value"], tiles[-1]["unit"]) == ("3", "more tests")

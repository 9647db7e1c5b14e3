from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models import Run, RunSummary
from campaigns.runs.queries.measurements import (
    measurement_of,
    measurement_so_far,
    points_of,
    whole_seconds,
)
from tests.factories import (
    begin_run,
    begin_shards,
    make_campaign,
    make_run,
    make_test,
    store_second,
)
from tests.measured import measure
from tests.values import make_second

T0 = timezone.now()


def points_at(run: Run, now) -> list:
    return measurement_so_far(run, now=now).series


def seconds_later(seconds: float):
    return T0 + timedelta(seconds=seconds)


@pytest.fixture
def running(project) -> Run:
    """Two shards that send; the first has delivered second 1, the other second 0."""
    run = make_run(make_test(make_campaign(project)), n_shards=2)
    begin_run(run, t0=T0)
    begin_shards(run)
    store_second(run, make_second(0, [1000, 3000]), shard=0)
    store_second(run, make_second(0, [5000], errors={"reset": 1}), shard=1)
    store_second(run, make_second(1, [2000]), shard=0)
    run.shards.filter(number=0).update(last_second=1)
    run.shards.filter(number=1).update(last_second=0)
    run.refresh_from_db()
    return run


def test_a_point_merges_all_shards_of_a_second(running):
    (point,) = points_at(running, seconds_later(2))
    assert (point["second"], point["ok"], point["mean_ms"]) == (0, 3, 3.0)
    assert (point["p50_ms"], point["max_ms"]) == (pytest.approx(3.0, rel=1e-3), 5.0)
    assert (point["errors"], point["shards"], point["missing"]) == ({"reset": 1}, 2, 0)


def test_a_second_that_a_live_shard_still_owes_waits_for_it(running):
    assert [each["second"] for each in points_at(running, seconds_later(4.9))] == [0]


def test_a_second_of_several_steps_waits_for_its_last_step(running):
    plan = running.snapshot["plan"]
    steps = [*plan["steps"], {**plan["steps"][0], "label": "again"}]
    Run.objects.filter(pk=running.pk).update(
        snapshot={**running.snapshot, "plan": {**plan, "steps": steps}}
    )
    running.refresh_from_db()
    assert points_at(running, seconds_later(2)) == []
    for shard in (0, 1):
        store_second(running, make_second(0, [7000], step=1), shard=shard)
        store_second(running, make_second(2, [7000]), shard=shard)
    running.shards.update(last_second=2)
    points = points_at(running, seconds_later(2))
    assert [(point["second"], point["ok"]) for point in points] == [(0, 5), (1, 1)]


def test_a_second_that_is_three_seconds_old_is_shown_with_what_is_missing(running):
    points = points_at(running, seconds_later(5.0))
    assert [(each["second"], each["missing"]) for each in points] == [(0, 0), (1, 1)]


def test_it_goes_on_after_the_second_that_was_seen(running, django_assert_num_queries):
    measurement = measurement_so_far(running, now=seconds_later(2))
    first = measurement.series[0]
    running.seconds.filter(second=0).delete()
    assert measurement_so_far(running, measurement, seconds_later(9)) is measurement
    assert measurement.series[0] is first
    assert [each["second"] for each in measurement.series] == [0, 1]
    assert (measurement.total.count("ok"), measurement.duration_s) == (4, 2.0)


def test_a_second_that_comes_late_leaves_what_was_shown_as_it_is(running):
    measurement = measurement_so_far(running, now=seconds_later(9))
    store_second(running, make_second(1, [9000] * 5), shard=1)
    measurement_so_far(running, measurement, seconds_later(10))
    assert [(each["second"], each["missing"]) for each in measurement.series] == [(0, 0), (1, 1)]
    assert measurement.total.count("ok") == sum(each["ok"] for each in measurement.series)


def test_a_finished_run_is_read_from_its_summary(project, django_assert_num_queries):
    run = measure(make_run(make_test(make_campaign(project))), 10_000)
    run.seconds.all().delete()
    with django_assert_num_queries(1):
        points = points_of(run)
    assert [each["second"] for each in points] == list(range(10))
    assert measurement_of(run).total.count("ok") == 2000


def test_a_finished_run_without_a_summary_is_read_from_its_rows(project):
    run = measure(make_run(make_test(make_campaign(project))), 10_000, seconds=2)
    RunSummary.objects.filter(run=run).delete()
    assert [each["second"] for each in points_of(run)] == [0, 1]


@pytest.mark.parametrize(("duration_s", "whole"), [(10.004, 10), (9.97, 10), (9.5, 9), (0.3, 1)])
def test_the_part_of_a_second_after_the_last_whole_one_is_no_rate(project, duration_s, whole):
    run = measure(make_run(make_test(make_campaign(project))), 10_000)
    RunSummary.objects.filter(run=run).update(duration_s=duration_s)
    assert whole_seconds(run) == whole

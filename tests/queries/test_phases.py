"""A run whose injectors do not work together throughout has a table of its phases."""

import pytest

from campaigns.models import Shard
from campaigns.queries.phases import phases_of
from campaigns.queries.reports import run_report
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.queries.measured import end
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db


def run_of_two(project, ends_s, offset_s=0.0):
    load = {"model": "closed", "connections": 2, "requests": 600, "start_offset_s": offset_s}
    test = make_test(make_campaign(project), make_plan(project, spec=plan_spec(**load)))
    run = make_run(test, n_shards=2)
    for shard, end_s in enumerate(ends_s):
        for second in range(int(shard * offset_s), int(end_s)):
            store_second(run, make_second(second, [5000] * 100), shard=shard)
        row = Shard.objects.get(run=run, number=shard)
        row.end = {"duration_us": int(end_s * 1e6), "peers": {}}
        row.save()
    return end(run, "complete")


def labels(run):
    return [row.label for row in phases_of(run, run.frozen.plan).rows]


def test_injectors_that_begin_apart_have_phases(project):
    run = run_of_two(project, (3, 4), offset_s=1)
    table = run_report(run).phases
    assert labels(run) == ["I: 1", "II: 1 + 2", "III: 2", "All phases"]
    assert [row.cells[2].value for row in table.rows] == [100, 400, 100, 600]
    assert [row.cells[-1].value for row in table.rows] == [100, 200, 100, 150]
    assert table in run_report(run).tables


def test_injectors_that_begin_and_end_together_have_none(project):
    assert labels(run_of_two(project, (3, 3.4))) == []


def test_an_injector_that_ends_a_second_earlier_makes_a_phase(project):
    assert labels(run_of_two(project, (2, 4))) == ["I: 1 + 2", "II: 2", "All phases"]


def test_without_every_injector_s_end_there_are_none(project):
    run = run_of_two(project, (2, 4))
    run.shards.filter(number=1).update(end=None)
    assert labels(run) == []

"""How busy everyone was in each trial of a search, from what agents and injectors told."""

import pytest

from campaigns.core.database import db_now
from campaigns.domain.analysis.limit import MachineLoad
from campaigns.domain.metrics.machine import machine_use
from campaigns.machines.queries.machine_runs import measured_machines
from campaigns.models import MachineSecond, Run, RunUse, Search
from campaigns.search.queries import (
    SearchReport,
    busy_by_run,
    busy_near,
    limiter_beside,
    near_the_answer,
    report_of_search,
)
from tests.kept_cast import project as project
from tests.machines.test_queries import tell
from tests.searches import end_trial, limit_of, search_through, searching

pytestmark = pytest.mark.django_db
# In a second, of two cores.
BUSY = {"user_s": 1.5, "system_s": 0.3, "idle_s": 0.2}
IDLE = {"user_s": 0.0, "system_s": 0.0, "idle_s": 2.0}


@pytest.fixture
def trial(project) -> tuple[Run, SearchReport]:
    """The only one of its search so far; it measured 20 s."""
    campaign = searching(project)
    run = end_trial(campaign, 100)
    return run, report_of_search(campaign.search)


@pytest.fixture(scope="module")
def search_of_the_file(project_of_the_file) -> Search:
    return search_through(searching(project_of_the_file), limit_of(1850))


@pytest.fixture
def search_report(search_of_the_file, project) -> SearchReport:
    return report_of_search(Search.objects.get(pk=search_of_the_file.pk))


def test_a_trial_is_as_busy_as_its_run_s_own_table_says(trial):
    run, report = trial
    tell(run, [-1, 20, 21], **IDLE)
    tell(run, range(12), **BUSY, received_bytes=10, sent_bytes=300, link_bytes_per_s=1000)
    tell(run, range(12, 20), sent_bytes=200, link_bytes_per_s=1000)
    (points,) = measured_machines(run, 20.0).values()
    load = MachineLoad.of_use(machine_use("shop-1", points))
    busy = busy_by_run(report.made)[run.pk]
    assert (busy.target_cpu, busy.target_link) == pytest.approx((load.cpu, load.link))
    assert (busy.target_cores, busy.injector_cpu) == (2, 0.46)
    assert busy.network == pytest.approx(0.26)


def test_of_a_machine_with_chosen_processes_their_cpu_counts(trial):
    run, report = trial
    tell(run, range(20), **BUSY, processes={"nginx": {"cpu_s": 0.5}})
    (points,) = measured_machines(run, 20.0).values()
    load = MachineLoad.of_use(machine_use("shop-1", points))
    assert busy_by_run(report.made)[run.pk].target_cpu == pytest.approx(0.25) == load.cpu


def test_without_an_agent_only_the_injector_is_known(trial):
    run, report = trial
    busy = busy_by_run(report.made)[run.pk]
    assert (busy.target_cpu, busy.injector_cpu, busy.network) == (None, 0.46, None)


def test_it_is_known_after_retention_removed_the_seconds(trial):
    run, report = trial
    tell(run, range(20), **BUSY)
    (points,) = measured_machines(run, 20.0).values()
    use = machine_use("shop-1", points).to_json()
    MachineSecond.objects.all().delete()
    RunUse.objects.filter(run=run).update(thinned_at=db_now(), kept={"machines": [use]})
    assert busy_by_run(report.made)[run.pk].target_cpu == pytest.approx(0.9)


def test_a_machine_that_is_busy_near_the_answer_is_likely_the_limit(search_report):
    near = near_the_answer(search_report)
    assert 0 < len(near) < len(search_report.made)
    for each in search_report.made:
        tell(each.run, range(20), **(BUSY if each in near else IDLE))
    busy = busy_near(search_report, busy_by_run(search_report.made))
    assert busy.target_cpu == pytest.approx(0.9)
    limiter = limiter_beside(search_report, busy)
    assert limiter.word == "target CPU"

    assert limiter.rows[0].was_it == "likely"


def test_readers_who_may_not_see_machines_get_the_answer_without_them(search_report):
    for each in search_report.made:
        tell(each.run, range(20), **BUSY)
    busy = busy_by_run(search_report.made, with_machines=False)
    assert {each.target_cpu for each in busy.values()} == {None}
    limiter = limiter_beside(search_report, busy_near(search_report, busy), with_machines=False)
    assert limiter.word == "target side"
    assert "CPU" not in " ".join(row.figure for row in limiter.rows if row.who == "Target")

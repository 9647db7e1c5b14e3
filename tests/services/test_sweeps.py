"""A campaign that measures a plan with several values of one of its numbers."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.plan.sweep import Sweep
from campaigns.services.campaigns import CampaignCell, repeat_campaign, start_campaign
from tests.factories import make_endpoint, make_plan, make_target
from tests.services.engine import create, host
from tests.values import plan_spec


def of_injectors(*counts):
    return Sweep("injectors", counts)


def sequential_of_each(project):
    spec = plan_spec(model="sequential", requests=5000, per_injector=True)
    return CampaignCell(make_plan(project, spec=spec), make_endpoint(make_target(project)), "new")


def test_a_sweep_has_a_test_for_each_number_of_injectors(project, as_bob):
    campaign = create(
        as_bob, project, cells=[sequential_of_each(project)], sweep=of_injectors(1, 2, 12)
    )
    assert list(campaign.tests.values_list("position", "injectors")) == [(0, 1), (1, 2), (2, 12)]
    assert campaign.injectors == 12


def test_each_run_of_a_sweep_has_its_shards_and_the_load_of_all_of_them(project, as_bob):
    cells = [sequential_of_each(project)]
    campaign = create(
        as_bob, project, cells=cells, sweep=of_injectors(1, 3), repeats=1, order="listed"
    )
    start_campaign(by=as_bob, campaign=campaign)
    alone, three = campaign.runs.order_by("position")
    loads = [run.snapshot["plan"]["load"] for run in (alone, three)]
    assert [load["requests"] for load in loads] == [5000, 15_000]
    assert (loads[1]["model"], loads[1]["connections"]) == ("closed", 3)
    assert [run.shards.count() for run in (alone, three)] == [1, 3]


def test_each_run_of_a_sweep_sends_the_plan_with_one_number_replaced(project, as_bob):
    version = make_plan(project, spec=plan_spec(model="open", rate_per_s=10, duration_s=5))
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    rates = Sweep("rate_per_s", (100, 250.5))
    made = create(as_bob, project, cells=[cell], sweep=rates, repeats=1, order="listed")
    again = repeat_campaign(by=as_bob, campaign=made)
    start_campaign(by=as_bob, campaign=again)
    runs = again.runs.order_by("position")
    assert [run.snapshot["plan"]["load"]["rate_per_s"] for run in runs] == [100, 250.5]
    assert [run.frozen.plan.load.rate_per_s for run in runs] == [100, 250.5]
    assert [run.frozen.swept for run in runs] == [
        "rate of 100 requests/s",
        "rate of 250.5 requests/s",
    ]
    assert version.plan.versions.count() == 1, "the plan itself has not changed"


def test_a_sweep_of_values_that_the_plan_cannot_have_is_refused(project, as_bob):
    cells = [sequential_of_each(project)]
    with pytest.raises(Refused, match="cannot be measured at a rate of 100 requests/s"):
        create(as_bob, project, cells=cells, sweep=Sweep("rate_per_s", (100, 200)))
    with pytest.raises(Refused, match="at most 20 values"):
        create(as_bob, project, cells=cells, sweep=Sweep("requests", tuple(range(1, 22))))
    with pytest.raises(Refused, match="listed twice"):
        create(as_bob, project, cells=cells, sweep=Sweep("requests", (7, 7)))


def test_starting_refuses_more_injectors_than_there_are_and_says_what_to_do(project, as_bob):
    host(slots=2)
    campaign = create(
        as_bob, project, cells=[sequential_of_each(project)], sweep=of_injectors(1, 12)
    )
    with pytest.raises(Refused, match="needs 12 injector slots at once, but there are 2"):
        start_campaign(by=as_bob, campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == "draft"

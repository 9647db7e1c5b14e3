import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.machines.queries import machine_runs as queries
from campaigns.machines.queries.machine_runs import machine_runs, target_side
from campaigns.models import MachineSecond
from tests.factories import make_run, make_test
from tests.measured import measure

pytestmark = pytest.mark.django_db
DID = {
    "user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "stolen_s": 0.0, "idle_s": 1.6,
    "memory_bytes": 8e9, "memory_used_bytes": 2e9, "received_bytes": 1e6, "sent_bytes": 4e6,
}  # fmt: skip


def tell(run, seconds, source: str = "shop-1", busy_s: float = 0.4, **did) -> None:
    MachineSecond.objects.bulk_create(
        MachineSecond(
            run=run, source=source, second=second, lasted_s=1, busy_s=busy_s, did={**DID, **did}
        )
        for second in seconds
    )


@pytest.fixture
def runs(campaign):
    """Two repeats of a test, of ten seconds each."""
    test = make_test(campaign)
    return [measure(make_run(test, repeat), 10_000) for repeat in (1, 2)]


def test_runs_follow_each_other_in_the_order_of_their_campaign(campaign, runs):
    for run in reversed(runs):
        tell(run, range(10))
    machine = machine_runs(campaign)
    assert (machine.source, machine.step_s) == ("shop-1", 1)
    assert [run.run for run in machine.runs] == [run.pk for run in runs]
    assert [run.n_steps for run in machine.runs] == [10, 10]
    step = machine.runs[0].steps[0]
    assert (step.cpu, step.system, step.memory) == (pytest.approx(20), pytest.approx(5), 25)
    assert (step.received, step.sent, step.loopback, step.watched) == (1, 4, None, None)


def test_the_warm_up_and_seconds_that_nobody_told_are_not_there(campaign, runs):
    tell(runs[0], [-2, -1, 0, 1, 4])
    (run,) = machine_runs(campaign).runs
    assert [step.number for step in run.steps] == [0, 1, 4]


def test_what_the_agent_told_after_the_measurement_is_not_there(campaign, runs):
    tell(runs[0], range(10))
    tell(runs[0], range(10, 15), busy_s=2.0)
    (run,) = machine_runs(campaign).runs
    assert run.n_steps == 10
    assert run.mean("cpu") == pytest.approx(20)


def test_many_seconds_are_put_together_as_their_mean(campaign, runs, monkeypatch):
    monkeypatch.setattr(queries, "MOST_STEPS", 5)
    tell(runs[0], range(5), busy_s=0.2)
    tell(runs[0], range(5, 10), busy_s=0.6)
    machine = machine_runs(campaign)
    assert machine.step_s == 2
    assert [round(step.cpu) for step in machine.runs[0].steps] == [10, 10, 20, 30, 30]


def test_of_several_machines_it_is_the_first_by_name(campaign, runs):
    tell(runs[0], range(3), source="shop-2")
    tell(runs[1], range(3), source="shop-1")
    machine = machine_runs(campaign)
    assert (machine.source, [run.run for run in machine.runs]) == ("shop-1", [runs[1].pk])


def test_a_figure_that_was_not_told_is_none_and_not_0(campaign, runs):
    for second in range(2):
        MachineSecond.objects.create(
            run=runs[0], source="shop-1", second=second, lasted_s=1, did={}
        )
    step = machine_runs(campaign).runs[0].steps[0]
    assert (step.cpu, step.memory, step.sent) == (None, None, None)


def test_servers_stand_beside_one_another_with_their_resources(campaign):
    packets = {"sent_packets": 300, "received_packets": 200}
    shares = ((0.3, 0.1, "shop-1"), (0.6, 0.4, "shop-2"))
    for user_s, system_s, source in shares:
        run = measure(make_run(make_test(campaign)), 10_000, n=1000)
        did = {"user_s": user_s, "system_s": system_s, "idle_s": 2 - user_s - system_s}
        tell(run, range(10), source=source, **did, **packets)
    tables = {each.key: each for each in target_side(campaign, campaign_answer(campaign)).resources}
    per_second, per_1000 = tables["resources"], tables["resources-1000"]
    first, second = (row["values"] for row in per_second.to_json()["rows"])
    assert (first["user"], first["system"]) == (15, 5)
    assert (second["user"], second["system"]) == (30, 20)
    assert (first["memory"], first["sent_packets"], first["sent"]) == (25, 300, 32)
    assert "loopback" not in first, "nobody told it"
    # 100 requests/s
    first, second = (row["values"] for row in per_1000.to_json()["rows"])
    assert (first["user"], second["system"]) == (3, 4)
    assert (first["sent_packets"], first["received"]) == (3000, 80)


def test_one_server_alone_has_no_table_of_servers(campaign, runs):
    for run in runs:
        tell(run, range(10))
    assert target_side(campaign, campaign_answer(campaign)).resources == []

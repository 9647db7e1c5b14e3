"""What injector hosts are told of exporters, and what they tell."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.measured.machine import AgentReport
from campaigns.models import Agent, Exporter, MachineSecond, Run
from campaigns.models.machines import EXPORTER_PROBLEM
from campaigns.queries.runs import happenings
from campaigns.services import scrapes
from campaigns.services.agents import take_report
from campaigns.services.scrapes import (
    Scraped,
    exporters_to_scrape,
    finish_exporter_check,
    machine_second,
    take_scraped,
    what_to_scrape_once,
)
from campaigns.services.vault import encrypt
from tests.factories import make_endpoint, make_plan, make_run, make_target, make_test
from tests.values import plan_spec

URL = "http://10.0.0.5:9100/metrics"
DID = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0, "idle_s": 1.25, "cores": [38]}


@pytest.fixture
def run(campaign) -> Run:
    """A run of a target with an exporter, that is sending."""
    endpoint = make_endpoint(make_target(campaign.project, "shop"))
    version = make_plan(campaign.project, spec=plan_spec() | {"warm_up_s": 5})
    run = make_run(make_test(campaign, version, endpoint=endpoint), t0=timezone.now())
    Exporter.objects.create(target=run.target, name="shop-1", url=URL)
    return run


def order(run: Run):
    (found,) = exporters_to_scrape(run_id=run.pk)
    return found


def told(run: Run, *seconds: int, name: str = "shop-1") -> list[Scraped]:
    return [
        Scraped(
            order(run),
            machine_second(run=run.pk, source=name, second=second, lasted_s=1.0, did=DID),
            ("CPU",),
        )
        for second in seconds
    ]


def test_a_runs_host_is_told_the_exporters_of_its_target_alone(run, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    Exporter.objects.create(target=make_target(run.target.project), name="another", url=URL)
    found = order(run)
    assert (found.name, found.url, found.token, found.fault) == ("shop-1", URL, "", "")
    assert found.allowed == ("10.0.0.0/8",)
    assert found.address.origin.port == 9100


def test_a_run_without_exporters_costs_its_host_one_statement(run, django_assert_num_queries):
    Exporter.objects.all().delete()
    with django_assert_num_queries(1):
        assert exporters_to_scrape(run_id=run.pk) == []


def test_a_token_is_in_the_order_and_not_in_its_words(run):
    Exporter.objects.update(token=encrypt("s3cret"))
    found = order(run)
    assert found.token == "s3cret"
    assert "s3cret" not in repr(found)


def test_a_token_that_no_key_decrypts_is_a_fault_of_this_exporter_alone(run, settings):
    Exporter.objects.create(target=run.target, name="shop-2", url=URL, token=encrypt("s3cret"))
    settings.VAULT_KEYS = ["another key"]
    found = exporters_to_scrape(run_id=run.pk)
    assert [(each.name, bool(each.fault)) for each in found] == [
        ("shop-1", False),
        ("shop-2", True),
    ]


def test_seconds_are_stored_as_an_agents_are(run):
    take_scraped(run_id=run.pk, scraped=told(run, -5, 0, 1))
    rows = MachineSecond.objects.filter(run=run).order_by("second")
    assert [(row.source, row.second, row.busy_s, row.did) for row in rows] == [
        ("shop-1", second, 0.75, DID) for second in (-5, 0, 1)
    ]
    stored = Exporter.objects.get()
    assert stored.told_at
    assert (stored.offers, stored.problem) == (["CPU"], "")


def test_the_same_seconds_may_be_stored_twice(run):
    take_scraped(run_id=run.pk, scraped=told(run, 0, 1))
    take_scraped(run_id=run.pk, scraped=told(run, 0, 1, 2))
    assert run.machine_seconds.count() == 3


def test_a_problem_is_on_the_pages_of_target_and_run(run):
    problem = "http://10.0.0.5:9100 refuses connections. Start the exporter there."
    take_scraped(run_id=run.pk, scraped=[Scraped(order(run), problem=problem)])
    assert Exporter.objects.get().problem == problem
    (said,) = happenings(run, [], shows_machines=True)
    assert said.text == f"the exporter shop-1 tells nothing. {problem}"
    assert said.tone == "bad"


def test_who_may_not_see_machines_reads_nothing_of_their_exporters(run):
    take_scraped(run_id=run.pk, scraped=[Scraped(order(run), problem="10.0.0.5 refuses.")])
    assert happenings(run, [], shows_machines=False) == []


def test_the_target_shows_what_came_last(run):
    fault = Scraped(order(run), problem="It is away.")
    take_scraped(run_id=run.pk, scraped=[fault, *told(run, 3)])
    assert Exporter.objects.get().problem == ""
    take_scraped(run_id=run.pk, scraped=[*told(run, 4), fault])
    assert Exporter.objects.get().problem == "It is away."
    assert run.events.filter(kind=EXPORTER_PROBLEM).count() == 2
    assert run.machine_seconds.count() == 2


def test_what_an_address_told_that_was_replaced_meanwhile_does_not_count_as_the_new_ones(run):
    before = told(run, 0)
    Exporter.objects.update(url="http://10.0.0.6:9100/metrics")
    take_scraped(run_id=run.pk, scraped=before)
    assert Exporter.objects.get().told_at is None
    assert run.machine_seconds.count() == 1


def test_a_check_is_answered_once(run):
    exporter = Exporter.objects.get()
    assert what_to_scrape_once(exporter_id=exporter.pk) is None
    asked_at = timezone.now()
    Exporter.objects.update(asked_at=asked_at)
    found, since = what_to_scrape_once(exporter_id=exporter.pk)
    assert since == asked_at
    earlier = asked_at - timedelta(seconds=1)
    assert not finish_exporter_check(order=found, asked_at=earlier, offers=["memory"])
    assert finish_exporter_check(order=found, asked_at=since, offers=["CPU", "memory"])
    assert not finish_exporter_check(order=found, asked_at=since, problem="too late")
    exporter.refresh_from_db()
    assert (exporter.offers, exporter.problem, exporter.asked_at) == (["CPU", "memory"], "", None)


BOOTED = {**DID, "booted_s": 1_795_315_615, "memory_bytes": 8e9}


def scraped(run: Run, *seconds: int, name: str = "shop-1", **did) -> list[Scraped]:
    orders = {each.name: each for each in exporters_to_scrape(run_id=run.pk)}
    rows = (
        machine_second(
            run=run.pk,
            source=name,
            second=second,
            lasted_s=1.0,
            did={**BOOTED, **did},
            is_scraped=True,
        )
        for second in seconds
    )
    return [Scraped(orders[name], row, ("CPU",)) for row in rows]


def agent_tells(run: Run, *seconds: int, **did) -> None:
    """The agent of the target on the same machine, which it calls by its host's name."""
    agent, _ = Agent.objects.get_or_create(target=run.target, lookup="0" * 16)
    zero = (run.t0 + timedelta(seconds=5)).timestamp()
    report = {
        "host": "server-1",
        "seconds": [
            {"at_s": zero + second + 0.5, "did": {**BOOTED, "open_files": 9, **did}}
            for second in seconds
        ],
    }
    take_report(agent=agent, report=AgentReport.from_json(report))


def sources(run: Run) -> list[tuple[str, int, bool]]:
    rows = MachineSecond.objects.filter(run=run).order_by("second", "source")
    return list(rows.values_list("source", "second", "is_scraped"))


def agent_falls_silent() -> None:
    Agent.objects.update(heard_at=timezone.now() - timedelta(seconds=30))


def test_a_machine_that_an_agent_watches_is_not_counted_twice(run):
    agent_tells(run, 0)
    take_scraped(run_id=run.pk, scraped=scraped(run, 0, 1))
    agent_tells(run, 1)
    assert sources(run) == [("server-1", 0, False), ("server-1", 1, False)]


def test_while_the_agent_is_silent_the_exporter_tells_under_its_machine_s_name(run):
    agent_tells(run, 0)
    agent_falls_silent()
    take_scraped(run_id=run.pk, scraped=scraped(run, 1, 2))
    assert sources(run) == [("server-1", 0, False), ("server-1", 1, True), ("server-1", 2, True)]


def test_what_the_agent_sends_later_takes_the_place_of_what_was_scraped(run):
    agent_tells(run, 0)
    agent_falls_silent()
    take_scraped(run_id=run.pk, scraped=scraped(run, 1, 2))
    agent_tells(run, 1)
    assert sources(run) == [("server-1", 0, False), ("server-1", 1, False), ("server-1", 2, True)]
    assert MachineSecond.objects.get(run=run, second=1).did["open_files"] == 9


def test_an_agent_that_comes_during_a_run_joins_the_exporter_of_its_machine(run):
    take_scraped(run_id=run.pk, scraped=scraped(run, 0, 1))
    assert {source for source, *_ in sources(run)} == {"shop-1"}
    agent_tells(run, 2)
    assert sources(run) == [("server-1", 0, True), ("server-1", 1, True), ("server-1", 2, False)]


def test_a_machine_more_than_a_run_may_have_costs_the_others_nothing(run, monkeypatch):
    take_scraped(run_id=run.pk, scraped=told(run, 0))
    monkeypatch.setattr(scrapes, "MOST_SOURCES", 1)
    take_scraped(run_id=run.pk, scraped=[*told(run, 1, name="one more"), *told(run, 1, 2)])
    assert sources(run) == [("shop-1", second, False) for second in (0, 1, 2)]
    assert Exporter.objects.get().told_at


def test_several_new_machines_at_once_are_no_more_than_a_run_may_have(run, monkeypatch):
    monkeypatch.setattr(scrapes, "MOST_SOURCES", 3)
    take_scraped(run_id=run.pk, scraped=told(run, 0, name="known"))
    new = [row for name in ("a", "b", "c") for row in told(run, 1, name=name)]
    take_scraped(run_id=run.pk, scraped=[*new, *told(run, 1, name="known")])
    assert {source for source, *_ in sources(run)} == {"known", "a", "b"}


def test_two_exporters_of_one_machine_are_one_source(run):
    Exporter.objects.create(target=run.target, name="shop-2", url=URL + "?collect[]=cpu")
    both = [*scraped(run, 0), *scraped(run, 0, 1, name="shop-2")]
    take_scraped(run_id=run.pk, scraped=both)
    assert sources(run) == [("shop-1", 0, True), ("shop-1", 1, True)]
    agent_tells(run, 1)
    assert sources(run) == [("server-1", 0, True), ("server-1", 1, False)]


@pytest.mark.parametrize("other", [{"booted_s": 1_795_315_616}, {"memory_bytes": 16e9}])
def test_another_machine_stays_another_source(run, other):
    agent_tells(run, 0)
    take_scraped(run_id=run.pk, scraped=scraped(run, 0, **other))
    assert sources(run) == [("server-1", 0, False), ("shop-1", 0, True)]


def test_the_exporter_of_a_process_tells_of_no_machine_and_stays_its_own_source(run):
    agent_tells(run, 0)
    take_scraped(run_id=run.pk, scraped=told(run, 0))
    assert {source for source, *_ in sources(run)} == {"server-1", "shop-1"}

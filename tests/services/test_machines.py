"""What is told of the machine of a target: by its agent, and by exporters that a host scrapes."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.machine import AgentReport
from campaigns.models import Agent, AuditEntry, Exporter, MachineSecond, Run, RunProfile
from campaigns.models.machines import EXPORTER_PROBLEM
from campaigns.queries.runs import happenings
from campaigns.services import scrapes
from campaigns.services.agents import authenticate_agent, create_agent, revoke_agent, take_report
from campaigns.services.endings import summarise_late_runs
from campaigns.services.scrapes import (
    Scraped,
    exporters_to_scrape,
    finish_exporter_check,
    machine_second,
    take_scraped,
    what_to_scrape_once,
)
from campaigns.services.vault import encrypt
from tests.factories import make_endpoint, make_plan, make_run, make_target, make_test, store_second
from tests.kept_rows import undone
from tests.queries.measured import end, end_shards
from tests.values import make_second, plan_spec

RULE = {"metric": "target_cpu", "limit": 80, "unit": "%"}


@pytest.fixture
def target(project):
    return make_target(project, "shop")


@pytest.fixture
def made(as_bob, target):
    return create_agent(by=as_bob, target=target)


def test_a_token_is_shown_once_and_stored_as_a_hash(made):
    agent, text = made
    assert re.fullmatch(r"bs_agent_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", text)
    stored_seconds = repr(Agent.objects.filter(pk=agent.pk).values().get())
    assert text not in stored_seconds
    assert text.removeprefix(f"bs_agent_{agent.lookup}_") not in stored_seconds
    assert authenticate_agent(text=text) == agent


def test_a_revoked_token_is_not_recognised_and_both_are_in_the_audit_log(made, as_bob, project):
    agent, text = made
    revoke_agent(by=as_bob, agent=agent)
    revoke_agent(by=as_bob, agent=agent)
    assert authenticate_agent(text=text) is None
    deeds = AuditEntry.objects.filter(project=project.pk, what="agent of shop").order_by("pk")
    assert list(deeds.values_list("deed", "who")) == [
        (AuditEvent.TOKEN_CREATED, "bob"),
        (AuditEvent.TOKEN_REVOKED, "bob"),
    ]


@pytest.fixture
def watched(campaign, made) -> Run:
    """A run of the agent's target that began to send 20 s ago, with 5 s of warm-up."""
    version = make_plan(campaign.project, spec=plan_spec() | {"warm_up_s": 5, "thresholds": [RULE]})
    test = make_test(campaign, version)
    run = make_run(test, t0=timezone.now().replace(microsecond=0) - timedelta(seconds=20))
    Run.objects.filter(pk=run.pk).update(target=made[0].target)
    return run


def told_by_agent(run: Run, *seconds: float, host: str = "shop-1", **did) -> AgentReport:
    """Of seconds whose middle is so long after the run began to send."""
    did = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0, **did}
    rows = [{"at_s": run.t0.timestamp() + second, "did": did} for second in seconds]
    return AgentReport.from_json({"host": host, "seconds": rows, "clock_ahead_s": 90})


def stored_seconds(run: Run) -> list[tuple[str, int]]:
    return sorted(MachineSecond.objects.filter(run=run).values_list("source", "second"))


def test_seconds_go_to_the_run_and_second_in_which_their_middle_is(made, watched):
    agent, _ = made
    given = told_by_agent(watched, -1, 0.5, 5.5, 6.4, 7.6, processes={"nginx": {"cpu_s": 0.5}})
    assert take_report(agent=agent, report=given) == 4
    assert stored_seconds(watched) == [("shop-1", -5), ("shop-1", 0), ("shop-1", 1), ("shop-1", 2)]
    row = MachineSecond.objects.filter(run=watched).first()
    assert (row.busy_s, row.watched_s) == (0.75, 0.5)


def test_a_profile_goes_to_the_run_in_which_it_was_recorded_once(made, watched):
    agent, _ = made
    at_s = watched.t0.timestamp()

    def told(began_s: float) -> AgentReport:
        profile = {"of": "machine", "began_s": at_s + began_s, "ended_s": at_s + began_s + 10}
        profile |= {"samples": 9, "functions": [[9, "nginx", "nginx", "serve"]]}
        return AgentReport.from_json({"host": "shop-1", "profiles": [profile]})

    for began_s in (-60, 5, 5):
        take_report(agent=agent, report=told(began_s))
    row = RunProfile.objects.get()
    assert (row.run, row.source) == (watched, "shop-1")
    assert row.value() == told(5).profiles[0]


def test_samples_that_are_late_now_and_then_stay_one_a_second(made, watched):
    for begins_s in [0.0, 0.49, 0.5, 0.51, 0.99]:
        with undone():
            whole = watched.t0
            Run.objects.filter(pk=watched.pk).update(t0=whole + timedelta(seconds=begins_s))
            late_s = (0.5, 0.53, 0.502, 0.52, 0.501, 0.54)
            given = told_by_agent(
                watched, *(7 + second + late for second, late in enumerate(late_s))
            )
            assert take_report(agent=made[0], report=given) == 6
            seconds = [second for _, second in stored_seconds(watched)]
            assert seconds == list(range(seconds[0], seconds[0] + 6))


def test_a_report_may_arrive_twice_and_late_and_two_machines_keep_apart(made, watched):
    agent, _ = made
    take_report(agent=agent, report=told_by_agent(watched, 6.5, 7.5))
    take_report(agent=agent, report=told_by_agent(watched, 6.5, 7.5, 8.5))
    take_report(agent=agent, report=told_by_agent(watched, 6.5, host="shop-2"))
    assert stored_seconds(watched) == [*(("shop-1", n) for n in (1, 2, 3)), ("shop-2", 1)]


def test_a_run_that_has_ended_is_judged_again_by_what_came_late(made, watched):
    agent, _ = made
    for second in range(20):
        store_second(watched, make_second(second, [10_000] * 200))
    end_shards(watched, last_second=19, end={"duration_us": 20_000_000})
    run = end(watched, Outcome.COMPLETE)
    assert run.target_state == "healthy"
    assert run.verdicts[0].lacks_agent
    Run.objects.filter(pk=run.pk).update(ended_at=timezone.now())
    given = told_by_agent(watched, *(second + 0.5 for second in range(13, 20)), idle_s=0)
    assert take_report(agent=agent, report=given) == 7
    assert summarise_late_runs() == 1
    again = Run.objects.get(pk=run.pk)
    assert again.judged.target.text.endswith("from 0:08 on.")
    assert (again.verdicts[0].measured, again.verdicts[0].since) == (100, 8)
    assert summarise_late_runs() == 0


def test_an_agent_with_ever_another_name_is_refused(made, watched):
    agent, _ = made
    for number in range(20):
        take_report(agent=agent, report=told_by_agent(watched, 6.5, host=f"shop-{number}"))
    with pytest.raises(Refused, match="20 machines"):
        take_report(agent=agent, report=told_by_agent(watched, 6.5, host="shop-20"))
    assert take_report(agent=agent, report=told_by_agent(watched, 7.5, host="shop-3")) == 1


def test_what_belongs_to_no_run_of_the_target_is_not_kept(made, watched):
    agent, _ = made
    ended = watched.t0 + timedelta(seconds=10)
    Run.objects.filter(pk=watched.pk).update(state="done", outcome="complete", ended_at=ended)
    assert take_report(agent=agent, report=told_by_agent(watched, 9.5, 10.5)) == 1
    Run.objects.filter(pk=watched.pk).update(target=make_target(agent.target.project))
    assert take_report(agent=agent, report=told_by_agent(watched, 8.5)) == 0


@pytest.mark.parametrize("off_s", [-3 * 3600, 60])
def test_seconds_that_cannot_be_of_now_are_not_kept(made, watched, off_s):
    Run.objects.filter(pk=watched.pk).update(t0=timezone.now() - timedelta(hours=4))
    at_s = timezone.now().timestamp() + off_s
    given = AgentReport.from_json({"host": "shop-1", "seconds": [{"at_s": at_s, "did": {}}]})
    assert take_report(agent=made[0], report=given) == 0


@pytest.mark.parametrize("off_s", [-120, 3 * 3600])
def test_the_clock_of_the_sites_host_does_not_matter(made, watched, monkeypatch, off_s):
    """An agent tells its seconds by the database's."""
    there = timezone.now() + timedelta(seconds=off_s)
    monkeypatch.setattr(timezone, "now", lambda: there)
    assert take_report(agent=made[0], report=told_by_agent(watched, 6.5)) == 1


def test_it_is_known_since_when_an_agent_is_heard_and_how_its_clock_is_set(made, watched):
    agent, _ = made
    take_report(agent=agent, report=told_by_agent(watched, 6.5))
    first = Agent.objects.get(pk=agent.pk)
    take_report(agent=agent, report=told_by_agent(watched, 7.5))
    again = Agent.objects.get(pk=agent.pk)
    assert again.heard_since == first.heard_since < again.heard_at
    assert again.clock_words == "1 min 30 s ahead, corrected"
    old = timezone.now() - timedelta(minutes=5)
    Agent.objects.filter(pk=agent.pk).update(heard_at=old, heard_since=old)
    take_report(agent=agent, report=told_by_agent(watched, 8.5))
    assert Agent.objects.get(pk=agent.pk).heard_since > again.heard_at


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


def test_what_the_agent_tells_comes_first_and_what_is_scraped_while_it_is_silent(run):
    """Under the name that the agent gave the machine; nothing is counted twice."""
    agent_tells(run, 0)
    take_scraped(run_id=run.pk, scraped=scraped(run, 0))
    assert sources(run) == [("server-1", 0, False)]
    Agent.objects.update(heard_at=timezone.now() - timedelta(seconds=30))
    take_scraped(run_id=run.pk, scraped=scraped(run, 1, 2))
    assert sources(run) == [("server-1", 0, False), ("server-1", 1, True), ("server-1", 2, True)]
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

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.machine import AgentReport
from campaigns.models import Agent, AuditEntry, MachineSecond, Run
from campaigns.services.agents import (
    authenticate_agent,
    create_agent,
    revoke_agent,
    take_report,
)
from campaigns.services.endings import summarise_late_runs
from tests.factories import make_plan, make_run, make_target, make_test, store_second
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
    stored = repr(Agent.objects.filter(pk=agent.pk).values().get())
    assert text not in stored
    assert text.removeprefix(f"bs_agent_{agent.lookup}_") not in stored
    assert authenticate_agent(text=text) == agent


@pytest.mark.parametrize("change", ["secret", "lookup", "kind", "nothing"])
def test_no_other_text_is_recognised(made, change):
    agent, text = made
    other = {
        "secret": text[:-1] + ("A" if text[-1] != "A" else "B"),
        "lookup": text.replace(agent.lookup, "0" * 16),
        "kind": text.replace("bs_agent_", "bs_pat_"),
        "nothing": "",
    }[change]
    assert authenticate_agent(text=other) is None


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
def running(campaign, made) -> Run:
    """A run of the agent's target that began to send 20 s ago, with 5 s of warm-up."""
    version = make_plan(campaign.project, spec=plan_spec() | {"warm_up_s": 5, "thresholds": [RULE]})
    test = make_test(campaign, version)
    run = make_run(test, t0=timezone.now().replace(microsecond=0) - timedelta(seconds=20))
    Run.objects.filter(pk=run.pk).update(target=made[0].target)
    return run


def report(run: Run, *seconds: float, host: str = "shop-1", **did) -> AgentReport:
    """Of seconds whose middle is so long after the run began to send."""
    did = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0, **did}
    rows = [{"at_s": run.t0.timestamp() + second, "did": did} for second in seconds]
    return AgentReport.from_json({"host": host, "seconds": rows, "clock_ahead_s": 90})


def stored(run: Run) -> list[tuple[str, int]]:
    return sorted(MachineSecond.objects.filter(run=run).values_list("source", "second"))


def test_seconds_go_to_the_run_and_second_in_which_their_middle_is(made, running):
    agent, _ = made
    given = report(running, -1, 0.5, 5.5, 6.4, 7.6, processes={"nginx": {"cpu_s": 0.5}})
    assert take_report(agent=agent, report=given) == 4
    assert stored(running) == [("shop-1", -5), ("shop-1", 0), ("shop-1", 1), ("shop-1", 2)]
    row = MachineSecond.objects.filter(run=running).first()
    assert (row.busy_s, row.watched_s) == (0.75, 0.5)


@pytest.mark.parametrize("begins_s", [0.0, 0.49, 0.5, 0.51, 0.99])
def test_samples_that_are_late_now_and_then_stay_one_a_second(made, running, begins_s):
    whole = running.t0
    Run.objects.filter(pk=running.pk).update(t0=whole + timedelta(seconds=begins_s))
    late_s = (0.5, 0.53, 0.502, 0.52, 0.501, 0.54)
    given = report(running, *(7 + second + late for second, late in enumerate(late_s)))
    assert take_report(agent=made[0], report=given) == 6
    seconds = [second for _, second in stored(running)]
    assert seconds == list(range(seconds[0], seconds[0] + 6))


def test_a_report_may_arrive_twice_and_late(made, running):
    agent, _ = made
    take_report(agent=agent, report=report(running, 6.5, 7.5))
    take_report(agent=agent, report=report(running, 6.5, 7.5, 8.5))
    assert stored(running) == [("shop-1", 1), ("shop-1", 2), ("shop-1", 3)]


def test_a_run_that_has_ended_is_judged_again_by_what_came_late(made, running):
    agent, _ = made
    for second in range(20):
        store_second(running, make_second(second, [10_000] * 200))
    end_shards(running, last_second=19, end={"duration_us": 20_000_000})
    run = end(running, Outcome.COMPLETE)
    assert run.target_state == "healthy"
    assert run.verdicts[0].lacks_agent
    Run.objects.filter(pk=run.pk).update(ended_at=timezone.now())
    given = report(running, *(second + 0.5 for second in range(13, 20)), idle_s=0)
    assert take_report(agent=agent, report=given) == 7
    assert summarise_late_runs() == 1
    again = Run.objects.get(pk=run.pk)
    assert again.judged.target.text.endswith("from 0:08 on.")
    assert (again.verdicts[0].measured, again.verdicts[0].since) == (100, 8)
    assert summarise_late_runs() == 0


def test_two_machines_of_a_target_keep_apart(made, running):
    agent, _ = made
    take_report(agent=agent, report=report(running, 6.5))
    take_report(agent=agent, report=report(running, 6.5, host="shop-2"))
    assert stored(running) == [("shop-1", 1), ("shop-2", 1)]


def test_an_agent_with_ever_another_name_is_refused(made, running):
    agent, _ = made
    for number in range(20):
        take_report(agent=agent, report=report(running, 6.5, host=f"shop-{number}"))
    with pytest.raises(Refused, match="20 machines"):
        take_report(agent=agent, report=report(running, 6.5, host="shop-20"))
    assert take_report(agent=agent, report=report(running, 7.5, host="shop-3")) == 1


def test_what_belongs_to_no_run_of_the_target_is_not_kept(made, running):
    agent, _ = made
    ended = running.t0 + timedelta(seconds=10)
    Run.objects.filter(pk=running.pk).update(state="done", outcome="complete", ended_at=ended)
    assert take_report(agent=agent, report=report(running, 9.5, 10.5)) == 1
    Run.objects.filter(pk=running.pk).update(target=make_target(agent.target.project))
    assert take_report(agent=agent, report=report(running, 8.5)) == 0


@pytest.mark.parametrize("off_s", [-3 * 3600, 60])
def test_seconds_that_cannot_be_of_now_are_not_kept(made, running, off_s):
    Run.objects.filter(pk=running.pk).update(t0=timezone.now() - timedelta(hours=4))
    at_s = timezone.now().timestamp() + off_s
    given = AgentReport.from_json({"host": "shop-1", "seconds": [{"at_s": at_s, "did": {}}]})
    assert take_report(agent=made[0], report=given) == 0


@pytest.mark.parametrize("off_s", [-120, 3 * 3600])
def test_the_clock_of_the_sites_host_does_not_matter(made, running, monkeypatch, off_s):
    """An agent tells its seconds by the database's."""
    there = timezone.now() + timedelta(seconds=off_s)
    monkeypatch.setattr(timezone, "now", lambda: there)
    assert take_report(agent=made[0], report=report(running, 6.5)) == 1


def test_it_is_known_since_when_an_agent_is_heard_and_how_its_clock_is_set(made, running):
    agent, _ = made
    take_report(agent=agent, report=report(running, 6.5))
    first = Agent.objects.get(pk=agent.pk)
    take_report(agent=agent, report=report(running, 7.5))
    again = Agent.objects.get(pk=agent.pk)
    assert again.heard_since == first.heard_since < again.heard_at
    assert again.clock_words == "1 min 30 s ahead, corrected"
    old = timezone.now() - timedelta(minutes=5)
    Agent.objects.filter(pk=agent.pk).update(heard_at=old, heard_since=old)
    take_report(agent=agent, report=report(running, 8.5))
    assert Agent.objects.get(pk=agent.pk).heard_since > again.heard_at

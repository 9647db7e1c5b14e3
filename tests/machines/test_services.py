"""What is told of the machine of a target, by exporters that a host scrapes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.profiles import PerfOf, Profile
from campaigns.engine.services.endings import summarise_late_runs
from campaigns.machines.models import EXPORTER_PROBLEM
from campaigns.machines.services import (
    Scraped,
    exporters_to_scrape,
    finish_exporter_check,
    machine_second,
    take_profile,
    take_scraped,
    what_to_scrape_once,
)
from campaigns.models import Campaign, Exporter, MachineSecond, Run, RunProfile
from campaigns.projects.services import encrypt
from campaigns.runs.queries.runs import happenings
from tests.factories import make_endpoint, make_plan, make_run, make_target, make_test, store_second
from tests.measured import end, end_shards
from tests.values import make_second, plan_spec

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
    (exporter,) = exporters_to_scrape(run_id=run.pk)
    return exporter


def readings(
    run: Run, *seconds: int, name: str = "shop-1", offers: tuple[str, ...] = ("CPU",), **did
) -> list[Scraped]:
    (by,) = (each for each in exporters_to_scrape(run_id=run.pk) if each.name == name)
    did = {**DID, **did}
    return [
        Scraped(
            by,
            machine_second(run=run.pk, source=name, second=second, lasted_s=1.0, did=did),
            offers,
        )
        for second in seconds
    ]


def test_a_runs_host_is_told_the_exporters_of_its_target_alone(run, settings):
    settings.ALLOWED_NETWORKS = ["10.0.0.0/8"]
    Exporter.objects.create(target=make_target(run.target.project), name="another", url=URL)
    exporter = order(run)
    assert (exporter.name, exporter.url, exporter.token, exporter.fault) == ("shop-1", URL, "", "")
    assert exporter.allowed == ("10.0.0.0/8",)
    assert exporter.address.origin.port == 9100


def test_a_runs_host_is_told_what_an_agent_is_to_count(run):
    assert (order(run).perf, order(run).profile) == ("", "")
    for fields, told_to_it in [
        ({"perf": "machine"}, (PerfOf.MACHINE, PerfOf.NONE)),
        ({"perf": "", "profile": True}, (PerfOf.NONE, PerfOf.PROCESSES)),
        ({"perf": "machine", "profile": True}, (PerfOf.MACHINE, PerfOf.MACHINE)),
    ]:
        Campaign.objects.update(**fields)
        assert (order(run).perf, order(run).profile) == told_to_it


def test_a_run_without_exporters_costs_its_host_one_statement(run, django_assert_num_queries):
    Exporter.objects.all().delete()
    with django_assert_num_queries(1):
        assert exporters_to_scrape(run_id=run.pk) == []


def test_a_token_is_in_the_order_and_not_in_its_words(run):
    Exporter.objects.update(token=encrypt("s3cret"))
    exporter = order(run)
    assert exporter.token == "s3cret"
    assert "s3cret" not in repr(exporter)


def test_a_token_that_no_key_decrypts_is_a_fault_of_this_exporter_alone(run, settings):
    Exporter.objects.create(target=run.target, name="shop-2", url=URL, token=encrypt("s3cret"))
    settings.VAULT_KEYS = ["another key"]
    exporters = exporters_to_scrape(run_id=run.pk)
    assert [(each.name, bool(each.fault)) for each in exporters] == [
        ("shop-1", False),
        ("shop-2", True),
    ]


def test_seconds_are_stored_with_their_cpu_time(run):
    take_scraped(run_id=run.pk, scraped=readings(run, -5, 0, 1))
    rows = MachineSecond.objects.filter(run=run).order_by("second")
    assert [(row.source, row.second, row.busy_s, row.did) for row in rows] == [
        ("shop-1", second, 0.75, DID) for second in (-5, 0, 1)
    ]
    stored = Exporter.objects.get()
    assert stored.told_at
    assert (stored.offers, stored.problem) == (["CPU"], "")


def test_the_same_seconds_may_be_stored_twice(run):
    take_scraped(run_id=run.pk, scraped=readings(run, 0, 1))
    take_scraped(run_id=run.pk, scraped=readings(run, 0, 1, 2))
    assert run.machine_seconds.count() == 3


def test_a_problem_is_on_the_pages_of_target_and_run(run):
    problem = "http://10.0.0.5:9100 refuses connections. Start the exporter there."
    take_scraped(run_id=run.pk, scraped=[Scraped(order(run), problem=problem)])
    assert Exporter.objects.get().problem == problem
    (event,) = happenings(run, [], shows_machines=True)
    assert event.text == f"the exporter shop-1 tells nothing. {problem}"
    assert event.tone == "bad"


def test_who_may_not_see_machines_reads_nothing_of_their_exporters(run):
    take_scraped(run_id=run.pk, scraped=[Scraped(order(run), problem="10.0.0.5 refuses.")])
    assert happenings(run, [], shows_machines=False) == []


def test_the_target_shows_what_came_last(run):
    fault = Scraped(order(run), problem="It is away.")
    take_scraped(run_id=run.pk, scraped=[fault, *readings(run, 3)])
    assert Exporter.objects.get().problem == ""
    take_scraped(run_id=run.pk, scraped=[*readings(run, 4), fault])
    assert Exporter.objects.get().problem == "It is away."
    assert run.events.filter(kind=EXPORTER_PROBLEM).count() == 2
    assert run.machine_seconds.count() == 2


def test_what_an_address_told_that_was_replaced_meanwhile_does_not_count_as_the_new_ones(run):
    before = readings(run, 0)
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


def test_a_profile_may_be_stored_twice(run):
    profile = Profile(PerfOf.MACHINE, 1.0, 9.0, 4)
    for _ in range(2):
        take_profile(run_id=run.pk, source="shop-1", profile=profile)
    assert RunProfile.objects.get().value() == profile


def test_a_run_that_has_ended_is_judged_again_by_what_came_late(run):
    for second in range(20):
        store_second(run, make_second(second, [10_000] * 200))
    end_shards(run, last_second=19, end={"duration_us": 20_000_000})
    latest = end(run, Outcome.COMPLETE)
    assert latest.target_state == "healthy"
    take_scraped(run_id=run.pk, scraped=readings(run, *range(8, 15), user_s=1.75, idle_s=0))
    assert summarise_late_runs() == 1
    again = Run.objects.get(pk=run.pk)
    assert again.judged.target.text.endswith("from 0:08 on.")
    assert summarise_late_runs() == 0


BOOTED = {"booted_s": 1_795_315_615, "memory_bytes": 8e9}
CHOSEN = ("CPU", "process nginx")


def sources(run: Run) -> list[tuple[str, int]]:
    rows = MachineSecond.objects.filter(run=run).order_by("second", "source")
    return list(rows.values_list("source", "second"))


@pytest.fixture
def both(run) -> Run:
    """A run of a machine that a node_exporter and an agent watch."""
    Exporter.objects.create(target=run.target, name="zoo-agent", url="http://10.0.0.5:9800/metrics")
    return run


def test_of_two_that_watch_one_machine_that_with_the_chosen_processes_counts(both):
    of_agent = readings(both, 0, 1, name="zoo-agent", offers=CHOSEN, **BOOTED)
    take_scraped(run_id=both.pk, scraped=[*readings(both, 0, 1, **BOOTED), *of_agent])
    assert sources(both) == [("zoo-agent", 0), ("zoo-agent", 1)]


def test_while_it_tells_nothing_the_other_stands_in_under_its_name(both):
    take_scraped(
        run_id=both.pk, scraped=readings(both, 0, name="zoo-agent", offers=CHOSEN, **BOOTED)
    )
    ago = timezone.now() - timedelta(seconds=30)
    Exporter.objects.filter(name="zoo-agent").update(told_at=ago)
    take_scraped(run_id=both.pk, scraped=readings(both, 0, 1, **BOOTED))
    assert sources(both) == [("zoo-agent", 0), ("zoo-agent", 1)]


def test_of_two_alike_the_first_by_name_counts(both):
    alike = [*readings(both, 0, name="zoo-agent", **BOOTED), *readings(both, 0, **BOOTED)]
    take_scraped(run_id=both.pk, scraped=alike)
    assert sources(both) == [("shop-1", 0)]


@pytest.mark.parametrize(
    "other", [{"booted_s": 1_795_315_616, "memory_bytes": 8e9}, {"booted_s": 1_795_315_615}, {}]
)
def test_another_machine_and_a_process_of_its_own_stay_another_source(both, other):
    of_agent = readings(both, 0, name="zoo-agent", offers=CHOSEN, **BOOTED)
    take_scraped(run_id=both.pk, scraped=[*readings(both, 0, **other), *of_agent])
    assert sources(both) == [("shop-1", 0), ("zoo-agent", 0)]

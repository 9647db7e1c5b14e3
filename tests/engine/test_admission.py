"""Which runs may start now, and why the others wait. All load off and on: by an administrator, from
the console, and after a backup was restored."""

import subprocess
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from campaigns.core.database import db_now
from campaigns.core.permissions import NOBODY, Actor
from campaigns.domain.errors import Forbidden, Refused
from campaigns.engine.queries.engine import waiting_reason
from campaigns.engine.services import dispatch
from campaigns.engine.services.endings import stop_any_run
from campaigns.engine.services.shards import LOST_IN_COPY, claim_shard
from campaigns.models import Campaign, LoadControl, Run
from campaigns.operations.queries import active_runs, why_load_is_off
from campaigns.operations.services.load_control import (
    RESTORED,
    allow_load,
    announce_host,
    stay_off_if_restored,
    stop_all_load,
)
from local.servers import binaries
from tests.engine.scenes import at_once, finish, host, owner_of, running, settle, started, states
from tests.factories import make_endpoint, make_target
from tests.stuck import stuck_runs


class TestAdmission:
    def test_nothing_is_admitted_without_an_injector(self, project):
        campaign = started(project)
        assert dispatch.admit_runs() == 0
        assert states(campaign) == ["queued"]

    def test_all_shards_are_admitted_or_none(self, project):
        campaign = started(project, injectors=4)
        host(slots=3)
        assert dispatch.admit_runs() == 0
        host(slots=1, name="host 2")
        assert dispatch.admit_runs() == 1
        assert states(campaign) == ["preparing"]

    def test_a_queued_run_loses_the_networks_that_are_no_longer_allowed(self, project, settings):
        settings.ALLOWED_NETWORKS = ["10.0.0.0/8", "127.0.0.0/8"]
        campaign = started(project)
        settings.ALLOWED_NETWORKS = ["127.0.0.0/8", "192.168.0.0/16"]
        host(slots=1)
        assert dispatch.admit_runs() == 1
        assert campaign.runs.get().frozen.allowed_networks == ("127.0.0.0/8",)

    def test_slots_that_others_were_promised_are_not_free(self, project):
        host(slots=3)
        first, second_ = started(project, injectors=2), started(project, injectors=2)
        assert dispatch.admit_runs() == 1
        assert (states(first), states(second_)) == (["preparing"], ["queued"])

    def test_a_campaign_makes_one_run_at_a_time_in_its_order(self, project):
        host(slots=9)
        campaign = started(project, n_tests=3)
        dispatch.admit_runs()
        dispatch.admit_runs()
        assert states(campaign) == ["preparing", "queued", "queued"]

    def test_a_target_is_measured_by_one_run_at_a_time(self, project):
        host(slots=9)
        target = make_target(project)
        endpoints = [make_endpoint(target, scheme) for scheme in ("http", "https")]
        campaigns = [started(project, endpoint=endpoint) for endpoint in endpoints]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]

    def test_different_targets_are_measured_side_by_side(self, project):
        host(slots=2)
        started(project), started(project)
        assert dispatch.admit_runs() == 2

    @pytest.mark.parametrize(
        ("first", "second_"),
        [("10.0.0.5", "10.0.0.5"), ("127.0.0.1", "::1"), ("::ffff:10.0.0.5", "10.0.0.5")],
    )
    def test_two_targets_on_one_machine_are_measured_one_after_the_other(
        self, project, first, second_
    ):
        host(slots=9)
        campaigns = [campaign_on(project, each) for each in (first, second_)]
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["preparing"], ["queued"]]
        withdraw(Run.objects.get(state="preparing"))
        assert dispatch.admit_runs() == 1
        assert [states(campaign) for campaign in campaigns] == [["done"], ["preparing"]]

    def test_the_injector_hosts_own_address_is_the_loopback_of_its_targets(self, project):
        announce_host(name="host 1", slots=9, facts={"addresses": "127.0.0.1 192.168.7.2"})
        campaign_on(project, "127.0.0.1"), campaign_on(project, "192.168.7.2")
        assert dispatch.admit_runs() == 1

    def test_a_name_holds_each_of_its_addresses(self, project):
        host(slots=9)
        campaign = campaign_on(project, "shop.example")
        assert dispatch.admit_runs() == 0
        assert waiting_reason(campaign) == "Looking up the addresses of shop.example."
        run = campaign.runs.get()
        assert dispatch.note_machines(run_id=run.pk, addresses=["10.0.0.5", "fd00::5"])
        assert dispatch.admit_runs() == 1
        campaign_on(project, "10.0.0.5"), campaign_on(project, "fd00::5")
        campaign_on(project, "10.0.0.6")
        assert dispatch.admit_runs() == 1
        assert not dispatch.note_machines(run_id=run.pk, addresses=[])

    def test_a_name_without_an_address_is_left_to_the_injector_to_refuse(self, project):
        host(slots=9)
        run = campaign_on(project, "nowhere.invalid").runs.get()
        dispatch.note_machines(run_id=run.pk, addresses=[])
        assert dispatch.admit_runs() == 1

    def test_the_pause_counts_from_the_end_of_the_run_before(self, project):
        host(slots=1)
        first = started(project, n_tests=2, pause_s=60).runs.first()
        finish(first, ended_ago_s=50)
        assert dispatch.admit_runs() == 0
        Run.objects.filter(pk=first.pk).update(ended_at=db_now(-61))
        assert dispatch.admit_runs() == 1

    def test_campaigns_take_turns(self, project):
        host(slots=1)
        endpoint = make_endpoint(make_target(project))
        many = started(project, n_tests=3, endpoint=endpoint)
        few = started(project, n_tests=1, endpoint=endpoint)
        order = []
        for _ in range(4):
            dispatch.admit_runs()
            run = Run.objects.get(state="preparing")
            order.append(run.campaign)
            withdraw(run)
        assert order == [many, few, many, many]

    def test_a_large_run_is_not_overtaken_for_ever_by_small_ones(self, project):
        host(slots=2)
        started(project, injectors=1)
        assert dispatch.admit_runs() == 1
        large = started(project, injectors=2)
        small = started(project, injectors=1)
        assert dispatch.admit_runs() == 0
        withdraw(Run.objects.get(state="preparing"))
        dispatch.admit_runs()
        assert (states(large), states(small)) == (["preparing"], ["queued"])

    def test_no_more_runs_at_once_than_the_hosts_have_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaigns = [started(project) for _ in range(3)]
        assert dispatch.admit_runs() == 2
        assert "leave too few cores" in waiting_reason(campaigns[2])
        withdraw(Run.objects.filter(state="preparing").first())
        assert dispatch.admit_runs() == 1

    def test_one_run_may_have_more_injectors_than_cores(self, project):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        campaign = started(project, injectors=12)
        dispatch.admit_runs()
        assert states(campaign) == ["preparing"]

    @pytest.mark.parametrize(("first", "second"), [(6, 1), (1, 2), (2, 1)])
    def test_beside_another_run_each_injector_has_a_core(self, project, first, second):
        announce_host(name="host 1", slots=12, facts={"usable_cores": 2})
        active, waits = started(project, injectors=first), started(project, injectors=second)
        assert dispatch.admit_runs() == 1
        assert (states(active), states(waits)) == (["preparing"], ["queued"])
        assert "leave too few cores" in waiting_reason(waits)
        withdraw(Run.objects.get(state="preparing"))
        assert dispatch.admit_runs() == 1

    def test_a_run_that_no_host_could_hold_keeps_nobody_waiting(self, project):
        too_large = started(project, injectors=5)
        host(slots=1)
        small = started(project)
        dispatch.admit_runs()
        assert (states(too_large), states(small)) == (["queued"], ["preparing"])

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("n_targets", [1, 5], ids=["of a target", "of a machine"])
    def test_ten_dispatchers_at_once_admit_one_run(self, project, n_targets):
        host(slots=20)
        endpoints = [make_endpoint(make_target(project), host="10.0.0.5") for _ in range(n_targets)]
        for number in range(5):
            started(project, endpoint=endpoints[number % n_targets])
        assert sum(at_once(*[dispatch.admit_runs] * 10)) == 1
        assert Run.objects.filter(state="preparing").count() == 1

    def test_a_run_that_was_next_for_an_hour_expires_and_says_why(self, project):
        campaign = started(project, n_tests=2)
        Campaign.objects.update(started_at=db_now(-3700), opened_at=db_now(-3700))
        Run.objects.update(state_at=db_now(-3700))
        assert stuck_runs()
        assert dispatch.expire_runs() == 1
        first, next_ = campaign.runs.all()
        assert (first.state, first.outcome, next_.state) == ("done", "expired", "queued")
        assert first.reason.startswith(
            "Could not start within an hour. No injector host is online."
        )
        assert not stuck_runs()


def campaign_on(project, address: str) -> Campaign:
    """A started campaign on a target of its own at this address."""
    return started(project, endpoint=make_endpoint(make_target(project), host=address))


def withdraw(run) -> None:
    """End an admitted run."""
    Run.objects.filter(pk=run.pk).update(stop_requested="user")
    settle(run)


def test_it_says_which_run_has_the_target(project):
    host(slots=4)
    endpoint = make_endpoint(make_target(project))
    first = started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    assert waiting_reason(second, owner_of(project)) == (
        "Waits for run 1 of \u201cstudy\u201d on 127.0.0.1."
    )
    assert waiting_reason(first) == ""


def test_it_names_no_campaign_that_the_reader_may_not_see(project, charlie):
    host(slots=4)
    endpoint = make_endpoint(make_target(project))
    started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    for stranger in (Actor(user=charlie), NOBODY):
        assert waiting_reason(second, stranger) == (
            "Waits for another campaign's run on 127.0.0.1."
        )


@pytest.fixture
def campaign(project):
    """A campaign of three runs, the first of which is active."""
    campaign = started(project, n_tests=3)
    host(slots=9)
    dispatch.admit_runs()
    return campaign


def test_everything_that_is_active_is_told_to_stop_and_the_rest_is_cancelled(as_adam, campaign):
    assert stop_all_load(by=as_adam) == 1
    assert states(campaign) == ["preparing", "done", "done"]
    assert campaign.runs.first().stop_requested == "administrator"
    campaign.refresh_from_db()
    assert "adam stopped all load" in campaign.stop_reason


def test_nothing_is_admitted_until_an_administrator_allows_it(as_adam, project):
    stop_all_load(by=as_adam)
    host(slots=9)
    later = started(project)
    assert dispatch.admit_runs() == 0
    assert "adam stopped all load" in waiting_reason(later)
    allow_load(by=as_adam)
    assert dispatch.admit_runs() == 1


def test_only_an_administrator_may_and_no_token_of_one(as_adam, as_alice, campaign):
    for actor in (as_alice, Actor(user=as_adam.user, token=object())):
        for attempt in (stop_all_load, allow_load):
            with pytest.raises(Forbidden, match="Only an administrator"):
                attempt(by=actor)
        with pytest.raises(Forbidden, match="Only an administrator"):
            stop_any_run(by=actor, run=campaign.runs.first())
    assert states(campaign) == ["preparing", "queued", "queued"]


def test_an_administrator_stops_a_run_of_any_project(as_adam, campaign):
    run = active_runs().get()
    stop_any_run(by=as_adam, run=run)
    run.refresh_from_db()
    assert run.stop_requested == "administrator"
    assert run.stop_requested_by == as_adam.user
    Run.objects.filter(pk=run.pk).update(state="stopping")
    Run.objects.filter(pk=run.pk).update(state="finalizing")
    with pytest.raises(Refused, match="has already ended"):
        stop_any_run(by=as_adam, run=run)


def test_the_console_stops_and_allows_as_well(campaign, capsys):
    call_command("stop_load")
    assert "1 active run told to stop" in capsys.readouterr().out
    assert "stop_load" in why_load_is_off()
    call_command("stop_load", undo=True)
    assert why_load_is_off() == ""


def test_draining_lets_active_runs_end_and_keeps_queued_ones_however_long(campaign, capsys):
    call_command("stop_load", drain=True)
    assert "1 active run to go" in capsys.readouterr().out
    assert states(campaign) == ["preparing", "queued", "queued"]
    assert campaign.runs.first().stop_requested is None
    waiting = started(campaign.project)
    Campaign.objects.filter(pk=waiting.pk).update(opened_at=db_now(-7200))
    Run.objects.filter(campaign=waiting).update(state_at=db_now(-7200))
    assert dispatch.admit_runs() == 0
    assert dispatch.expire_runs() == 0
    call_command("stop_load", undo=True)
    assert dispatch.expire_runs() == 0
    LoadControl.objects.update(changed_at=db_now(-7200))
    assert dispatch.expire_runs() == 1


class TestRestored:
    def test_the_first_dispatcher_only_notes_what_it_sees(self, db):
        assert not stay_off_if_restored()
        assert not stay_off_if_restored()
        assert why_load_is_off() == ""

    def test_a_restored_table_sends_nothing_by_itself(self, as_adam, campaign):
        stay_off_if_restored()
        # What a dump holds of the row is what another cluster's table wrote.
        LoadControl.objects.update(identity="7412345678901234567/16999")
        assert stay_off_if_restored()
        assert why_load_is_off() == RESTORED
        assert states(campaign) == ["queued", "queued", "queued"]
        assert claim_shard(worker="w", host="h") is None
        allow_load(by=as_adam)
        assert not stay_off_if_restored()
        assert why_load_is_off() == ""

    def test_a_run_that_was_sending_says_that_the_database_is_a_copy(self, project):
        run, _ = running(project)
        LoadControl.objects.update_or_create(pk=1, defaults={"identity": "7/16999"})
        stay_off_if_restored()
        settle(run)
        assert (run.state, run.reason) == ("done", LOST_IN_COPY)


@pytest.mark.django_db(transaction=True)
def test_a_dump_that_was_really_restored_keeps_load_off():
    stay_off_if_restored()
    dump = program("pg_dump", "--clean", "--if-exists", "--table", LoadControl._meta.db_table)
    connection.close()
    program("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", text=dump)
    assert stay_off_if_restored()
    assert why_load_is_off() == RESTORED


def program(name: str, *options: str, text: str = "") -> str:
    """The output of one of PostgreSQL's programs on the test's database."""
    url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}")
    command = [binaries() / name, *options, url.geturl()]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout

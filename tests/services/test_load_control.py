"""All load off and on: by an administrator, from the console, and after a backup was restored."""

import subprocess
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import Campaign, LoadControl, Run
from campaigns.models.dbtime import db_now
from campaigns.permissions import Actor
from campaigns.queries.engine import waiting_reason
from campaigns.queries.load_control import active_runs, why_load_is_off
from campaigns.services import dispatch
from campaigns.services.endings import stop_any_run
from campaigns.services.load_control import (
    RESTORED,
    allow_load,
    stay_off_if_restored,
    stop_all_load,
)
from campaigns.services.shards import LOST_IN_COPY, claim_shard
from local.servers import binaries
from tests.services.engine import host, running, settled, started, states


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
    with pytest.raises(Refused, match="nothing to stop"):
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
        settled(run)
        assert (run.state, run.reason) == ("done", LOST_IN_COPY)


@pytest.mark.django_db(transaction=True)
def test_a_dump_that_was_really_restored_keeps_load_off():
    stay_off_if_restored()
    dumped = program("pg_dump", "--clean", "--if-exists", "--table", LoadControl._meta.db_table)
    connection.close()
    program("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", given=dumped)
    assert stay_off_if_restored()
    assert why_load_is_off() == RESTORED


def program(name: str, *options: str, given: str = "") -> str:
    """The output of one of PostgreSQL's programs on the test's database."""
    url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}")
    command = [binaries() / name, *options, url.geturl()]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout

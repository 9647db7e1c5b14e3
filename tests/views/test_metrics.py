"""/metrics: what Prometheus reads of the installation, and from where."""

import pytest
from django.test import override_settings
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from campaigns.models import Run
from campaigns.models.dbtime import db_now
from campaigns.services.load_control import (
    announce_host,
    note_dispatcher,
    stay_off_if_restored,
    stop_all_load_from_console,
)
from tests.factories import make_campaign, make_run, make_test

pytestmark = pytest.mark.django_db


@pytest.fixture
def read(client):
    """{name: {labels: value}} of the page, by the library's own parser."""

    def read(**headers):
        answer = client.get(reverse("metrics"), **headers)
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
        families = text_string_to_metric_families(answer.content.decode())
        return {
            family.name.removeprefix("benchsite_"): {
                tuple(sample.labels.values()): sample.value for sample in family.samples
            }
            for family in families
        }

    return read


def test_a_new_installation_has_load_on_and_nothing_else_to_tell(read):
    told = read()
    assert told["load_on"] == {(): 1}
    assert sum(told["runs"].values()) == told["campaigns_waiting"][()] == 0
    assert told["database_bytes"][()] > 1_000_000
    assert "dispatcher_silent_seconds" not in told


def test_runs_hosts_and_the_dispatcher_are_told(read, project):
    make_run(make_test(make_campaign(project)), state="queued")
    make_run(make_test(make_campaign(project)), state="done", outcome="complete")
    announce_host(name="one", slots=12, facts={"spool_bytes": 4096})
    stay_off_if_restored()
    note_dispatcher()
    told = read()
    assert told["runs"][("queued",)] == told["campaigns_waiting"][()] == 1
    assert ("done",) not in told["runs"]
    assert told["injector_host_slots"] == {("one",): 12}
    assert told["injector_host_busy_slots"] == {("one",): 0}
    assert told["injector_host_spool_bytes"] == {("one",): 4096}
    assert 0 <= told["injector_host_silent_seconds"][("one",)] < 60
    assert 0 <= told["dispatcher_silent_seconds"][()] < 60


def test_how_long_the_next_run_has_waited_is_told(read, project):
    assert read()["queue_age_seconds"] == {(): 0}
    run = make_run(make_test(make_campaign(project, opened_at=db_now(-90))), state="queued")
    Run.objects.filter(pk=run.pk).update(state_at=db_now(-90))
    assert 90 <= read()["queue_age_seconds"][()] < 150


def test_load_that_was_stopped_is_told(read):
    stop_all_load_from_console()
    assert read()["load_on"] == {(): 0}


@override_settings(METRICS_FOR=["127.0.0.0/8"])
def test_other_addresses_find_nothing(client):
    assert client.get(reverse("metrics"), REMOTE_ADDR="10.1.2.3").status_code == 404
    assert client.get(reverse("metrics"), REMOTE_ADDR="127.0.0.2").status_code == 200


@pytest.mark.parametrize("trusted", [["127.0.0.1"], []])
def test_nobody_reads_them_through_a_proxy_of_this_machine(client, settings, trusted):
    settings.TRUSTED_PROXIES = trusted
    behind = client.get(reverse("metrics"), headers={"X-Forwarded-For": "203.0.113.7"})
    assert behind.status_code == 404

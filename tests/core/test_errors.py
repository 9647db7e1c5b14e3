"""What goes wrong has a page and a status; health and /metrics are for machines."""

import threading

import psycopg_pool
import pytest
import redis
from django.conf import settings
from django.db import OperationalError
from django.test import override_settings
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from campaigns.core.context import database_away
from campaigns.core.database import db_now
from campaigns.domain.errors import Refused
from campaigns.items.views import lists
from campaigns.models import Run
from campaigns.operations import views as health
from campaigns.operations.services.load_control import (
    announce_host,
    note_dispatcher,
    stay_off_if_restored,
    stop_all_load_from_console,
)
from tests.factories import make_campaign, make_run, make_test

pytestmark = pytest.mark.django_db


@pytest.fixture
def breaks(monkeypatch):
    def breaking(error):
        def fail(*args, **kwargs):
            raise error

        monkeypatch.setattr(lists, "list_context", fail)

    return breaking


@pytest.mark.parametrize(
    "error", [OperationalError("gone"), psycopg_pool.PoolTimeout("no connection")]
)
def test_a_database_that_is_away_is_said_in_words_and_when_to_try_again(
    error, client, alice, breaks
):
    client.force_login(alice)
    breaks(error)
    answer = client.get("/")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert f"at most {settings.DEAD_MAN_S} s" in answer.content.decode()


def test_the_outage_page_itself_asks_the_database_nothing():
    # Without the db mark any query raises.
    assert database_away(OperationalError("gone")).status_code == 503


def test_a_form_is_not_loaded_again_because_that_would_lose_it():
    reading = database_away(OperationalError("gone")).content.decode()
    sending = database_away(OperationalError("gone"), is_form=True).content.decode()
    assert 'http-equiv="refresh"' in reading
    assert 'http-equiv="refresh"' not in sending


def test_an_outage_while_the_session_is_read_is_the_same_page(client, alice, monkeypatch):
    client.force_login(alice)

    def fail(*args, **kwargs):
        raise OperationalError("gone")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", fail)
    client.raise_request_exception = False
    assert client.get("/").status_code == 503


@pytest.mark.parametrize(
    ("error", "status", "is_told"),
    [(ValueError("the inside"), 500, False), (Refused("Not while it runs."), 409, True)],
)
def test_what_no_view_took_is_a_page_too_and_a_fault_of_ours_has_no_details(
    client, alice, breaks, error, status, is_told
):
    client.force_login(alice)
    breaks(error)
    client.raise_request_exception = False
    answer = client.get("/")
    assert answer.status_code == status
    assert (str(error) in answer.content.decode()) == is_told


def test_the_process_is_healthy_without_a_database(client):
    assert client.get(reverse("healthz")).content == f"ok {settings.VERSION}\n".encode()


@pytest.mark.parametrize(
    ("redis", "status", "body"),
    [
        (None, 200, {"ready": True, "redis": "ok", "dispatcher": "ok"}),
        ("redis://127.0.0.1:1/0", 503, {"ready": False, "redis": "does not answer"}),
    ],
)
def test_ready_means_that_both_stores_answer_and_names_what_fails_without_addresses(
    client, settings, redis, status, body
):
    settings.REDIS_URL = redis or settings.REDIS_URL
    answer = client.get(reverse("readyz"))
    assert (answer.status_code, answer.json()) == (status, {"postgresql": "ok", **body})


def test_a_frozen_store_is_told_within_seconds(monkeypatch):
    thaw = threading.Event()
    monkeypatch.setattr(health, "ANSWER_WITHIN_S", 0.1)
    assert health._ask(lambda: thaw.wait(30)) == "does not answer"
    thaw.set()


def test_any_error_of_a_store_counts_as_away(monkeypatch):
    def fail():
        raise redis.ConnectionError("refused")

    assert health._ask(fail) == "does not answer"


def test_pages_carry_a_policy_without_inline_code_and_obey_it(client, alice):
    client.force_login(alice)
    answer = client.get("/")
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    page = answer.content.decode()
    assert " style=" not in page
    assert "<script>" not in page
    assert " onclick=" not in page


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
    metrics = read()
    assert metrics["load_on"] == {(): 1}
    assert sum(metrics["runs"].values()) == metrics["campaigns_waiting"][()] == 0
    assert metrics["database_bytes"][()] > 1_000_000
    assert "dispatcher_silent_seconds" not in metrics


def test_runs_hosts_and_the_dispatcher_are_told(read, project):
    make_run(make_test(make_campaign(project)), state="queued")
    make_run(make_test(make_campaign(project)), state="done", outcome="complete")
    announce_host(name="one", slots=12, facts={"spool_bytes": 4096})
    stay_off_if_restored()
    note_dispatcher()
    metrics = read()
    assert metrics["runs"][("queued",)] == metrics["campaigns_waiting"][()] == 1
    assert ("done",) not in metrics["runs"]
    assert metrics["injector_host_slots"] == {("one",): 12}
    assert metrics["injector_host_busy_slots"] == {("one",): 0}
    assert metrics["injector_host_spool_bytes"] == {("one",): 4096}
    assert 0 <= metrics["injector_host_silent_seconds"][("one",)] < 60
    assert 0 <= metrics["dispatcher_silent_seconds"][()] < 60


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


@pytest.mark.parametrize("proxies", [["127.0.0.1"], []])
def test_nobody_reads_them_through_a_proxy_of_this_machine(client, settings, proxies):
    settings.TRUSTED_PROXIES = proxies
    behind = client.get(reverse("metrics"), headers={"X-Forwarded-For": "203.0.113.7"})
    assert behind.status_code == 404

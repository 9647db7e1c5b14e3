"""What histories read of a test is written when a run ends, and again with each summary."""

from dataclasses import replace

import pytest

from campaigns.domain.measured.injector_end import TlsHandshakes
from campaigns.models import TestFigures
from campaigns.services import endings
from campaigns.services.kept_figures import keep_figures
from campaigns.services.shards import mark_done, record_seconds
from tests.services.engine import end, expire, running, second, settled

pytestmark = pytest.mark.django_db


def test_a_run_that_ends_is_in_the_history_of_its_test(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    assert not TestFigures.objects.exists()
    settled(run)
    kept = TestFigures.objects.get(test=run.test)
    assert (kept.n, kept.errors) == (run.n, run.errors)
    assert kept.started_at == run.campaign.started_at


def test_its_facts_say_what_tls_was_agreed_on_and_what_spoke_it(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    handshakes = TlsHandshakes("TLSv1.3", "AES", 3, group="X25519MLKEM768")
    mark_done(lease=lease, end=replace(end(), tls=[handshakes], tls_library="OpenSSL 4.0.3"))
    settled(run)
    facts = TestFigures.objects.get().facts
    assert facts["TLS"] == "TLSv1.3, AES, X25519MLKEM768"
    assert facts["TLS library"] == "OpenSSL 4.0.3"


def test_a_new_revision_of_its_summary_writes_it_again(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    expire(run)
    settled(run)
    before = TestFigures.objects.get().n
    record_seconds(lease=lease, seconds=[second(0), second(1)])
    endings.summarise_late_runs()
    assert TestFigures.objects.get().n == 2 * before


def test_it_may_be_written_any_number_of_times(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    settled(run)
    (before,) = TestFigures.objects.values()
    keep_figures([run.test_id])
    assert list(TestFigures.objects.values()) == [before]


def test_what_cannot_be_written_keeps_no_run_from_ending(project, monkeypatch):
    def fail(tests):
        raise ValueError("no such fact")

    monkeypatch.setattr(endings, "keep_figures", fail)
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    assert (settled(run).outcome, TestFigures.objects.count()) == ("complete", 0)

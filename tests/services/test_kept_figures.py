"""What pages and histories read is kept when a run ends."""

from dataclasses import replace

import pytest

from campaigns.domain.measured.injector_end import TlsHandshakes
from campaigns.models import PooledPercentiles, RunSummary, Test, TestFigures
from campaigns.services import endings
from campaigns.services.shards import mark_done, record_seconds
from campaigns.services.summaries import keep_figures, keep_pooled
from tests.queries.measured import https_campaign, run_in_blocks
from tests.searches import end_trial, searching
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


def test_what_cannot_be_written_keeps_no_run_from_ending(project, monkeypatch):
    def fail(tests):
        raise ValueError("no such fact")

    monkeypatch.setattr(endings, "keep_figures", fail)
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    assert (settled(run).outcome, TestFigures.objects.count()) == ("complete", 0)


def measured(project) -> list[Test]:
    _, tests = https_campaign(project)
    run_in_blocks(tests, [[10_000, 10_100], [13_000, 13_100]])
    return tests


@pytest.fixture
def earlier(project) -> list[Test]:
    tests = [*measured(project), *measured(project)]
    keep_figures([test.pk for test in tests])
    return tests


def kept() -> tuple[list, list]:
    summaries = RunSummary.objects.order_by("pk").values_list("brief", flat=True)
    return list(summaries), list(PooledPercentiles.objects.order_by("pk").values())


def test_a_run_that_ends_has_its_brief_and_is_among_those_of_its_test(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    mark_done(lease=lease, end=end())
    assert not PooledPercentiles.objects.exists()
    settled(run)
    (summary,) = run.summaries.all()
    assert summary.brief["counters"] == summary.total["counters"]
    assert PooledPercentiles.objects.get(test=run.test).of == [summary.pk]


def test_a_new_revision_writes_both_again(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    expire(run)
    settled(run)
    before = kept()
    record_seconds(lease=lease, seconds=[second(0), second(1)])
    endings.summarise_late_runs()
    briefs, pooled = kept()
    assert len(briefs) == 2
    assert briefs[0] == before[0][0] != briefs[1]
    # It ended partial, so it does not count.
    assert [each["of"] for each in pooled] == [[]]


def test_pooled_percentiles_may_be_written_any_number_of_times(earlier):
    before = kept()
    keep_pooled([test.pk for test in earlier])
    assert kept() == before


def test_trials_of_a_search_are_not_pooled(project):
    campaign = searching(project)
    end_trial(campaign, p95_ms=120)
    keep_pooled([campaign.tests.get().pk])
    assert not PooledPercentiles.objects.exists()

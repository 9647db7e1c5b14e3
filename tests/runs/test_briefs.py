"""Pages of what has ended decode no histogram; and whatever is kept, they say the same."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.compare.queries.columns import columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.permissions import Actor
from campaigns.core.tables import csv_of_tables
from campaigns.domain.metrics import histogram
from campaigns.models import Campaign, Run, RunSummary
from campaigns.runs.exports import csv_of_runs
from campaigns.runs.queries.measurements import measured_runs, whole_runs
from campaigns.runs.queries.runs import list_runs, run_rows
from campaigns.runs.services import keep_figures
from tests.kept_cast import alice as alice
from tests.kept_cast import project as project
from tests.kept_rows import forget
from tests.measured import https_campaign, run_in_blocks, same_again

pytestmark = pytest.mark.django_db
MEANS = [[18_900, 19_000, 18_800], [29_100, 29_000, 29_300]]


@pytest.fixture
def decodings(monkeypatch) -> list[str]:
    """Every payload that is decoded."""
    payloads, runs_of = [], histogram.runs_of

    def note_and_read(text: str) -> bytes:
        payloads.append(text)
        return runs_of(text)

    monkeypatch.setattr(histogram, "runs_of", note_and_read)
    return payloads


@pytest.fixture(scope="module")
def campaign_of_the_file(project_of_the_file) -> Campaign:
    campaign, tests = https_campaign(project_of_the_file)
    run_in_blocks(tests, MEANS)
    keep_figures([test.pk for test in tests])
    return campaign


@pytest.fixture
def campaign(campaign_of_the_file, project) -> Campaign:
    """HTTP and HTTPS in three blocks, as the engine leaves them."""
    return Campaign.objects.get(pk=campaign_of_the_file.pk)


def tables_and_curves(campaign: Campaign) -> tuple[str, list]:
    """All tables and curves of its page."""
    answer = campaign_answer(campaign)
    return "".join(csv_of_tables(answer.tables)), [test.curve for test in answer.tests]


def csv_of(campaign: Campaign) -> str:
    return "".join(csv_of_runs(whole_runs(campaign.runs.order_by("position"))))


def test_a_campaign_decodes_no_histogram_and_says_what_they_say(campaign, decodings):
    forget()
    first = tables_and_curves(campaign)
    assert len(decodings) >= 6, "the runs together"
    decodings.clear()
    assert tables_and_curves(campaign) == first
    assert decodings == []


def test_the_file_of_its_runs_decodes_none(campaign, decodings):
    assert csv_of(campaign).count("\n") == 7
    assert decodings == []


def test_the_list_of_runs_decodes_none(project, alice, campaign, decodings):
    runs = list_runs(Actor(user=alice)).filter(campaign__project=project)
    assert len(run_rows(list(runs)).rows) == 6
    assert decodings == []


def test_a_comparison_decodes_none_a_second_time(alice, campaign, decodings):
    later = same_again(list(campaign.tests.order_by("position")))
    run_in_blocks(later, [[each + 900 for each in means] for means in MEANS])
    keep_figures([test.pk for test in later])
    sides = {"a": f"campaign-{campaign.pk}", "b": f"campaign-{later[0].campaign_id}"}
    for _ in range(2):
        decodings.clear()
        comparison = comparison_of(columns_of(Actor(user=alice), sides))
    tables = (
        comparison.table,
        comparison.detail.times,
        comparison.detail.counts,
        *comparison.detail.repeats,
    )
    assert all(csv_of_tables(tables))
    assert decodings == []


def test_a_run_that_counts_no_longer_is_not_among_the_pooled_requests(campaign):
    before, run = tables_and_curves(campaign), campaign.runs.order_by("position").first()
    Run.objects.filter(pk=run.pk).update(outcome="partial")
    now = tables_and_curves(campaign)
    forget()
    assert tables_and_curves(campaign) == now != before


def test_what_is_not_kept_takes_a_statement_for_all_runs(campaign):
    runs = measured_runs(Run.objects.prefetch_related("shards"))
    with CaptureQueriesContext(connection) as queries:
        values = [each.total.timing("response").percentile_us(12_345) for each in runs]
    assert len(values) == 6
    assert None not in values
    assert len(queries) == 1


def test_what_a_release_kept_that_shows_other_percentiles_is_read_as_far_as_it_goes(campaign):
    before = tables_and_curves(campaign)
    for summary in RunSummary.objects.all():
        summary.figures["timings"]["response"][5:] = [[], []]
        summary.save(update_fields=["figures"])
    forget()
    assert tables_and_curves(campaign) == before


def test_the_campaign_s_answer_takes_four_statements(campaign):
    tables_and_curves(campaign)
    with CaptureQueriesContext(connection) as queries:
        campaign_answer(campaign)
    assert len(queries) == 4

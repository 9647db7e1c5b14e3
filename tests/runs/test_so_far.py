"""What runs under way have measured is cached, and what lists say of a campaign: a process that
comes later goes on from it.
"""

import functools
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.campaigns.queries import answers
from campaigns.campaigns.queries.answers import answer_of, gist_of
from campaigns.core import cache
from campaigns.domain.lifecycle import RunState, ShardState
from campaigns.engine.services import dispatch, endings
from campaigns.engine.services.shards import record_seconds
from campaigns.models import Campaign, Run, RunSummary, ShardSecond
from campaigns.runs import services as runs
from campaigns.runs.queries.measurements import cached_so_far, measurement_so_far
from campaigns.runs.services import cache_so_far, summarise_run
from tests.engine.scenes import expire, measuring, second, settle
from tests.factories import (
    begin_run,
    begin_shards,
    make_campaign,
    make_plan,
    make_run,
    make_test,
    store_second,
)
from tests.kept_rows import forget
from tests.measured import https_campaign, run_in_blocks
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db


SECONDS, WARM_UP_S = 100, 5
RULES = [
    {"metric": "mean", "limit": 8, "unit": "ms"},
    {"metric": "errors", "limit": 5, "unit": "%"},
]


@pytest.fixture
def sending(project) -> Run:
    """Two injectors send for so long; the requests get slower, and some fail."""
    spec = plan_spec(model="open", rate_per_s=2, duration_s=600)
    spec |= {"thresholds": RULES, "warm_up_s": WARM_UP_S}
    version = make_plan(project, spec=spec)
    run = make_run(make_test(make_campaign(project), version), n_shards=2)
    began = timezone.now() - timedelta(seconds=WARM_UP_S + SECONDS + 10)
    begin_run(run, t0=began)
    begin_shards(run)
    send(run, range(-WARM_UP_S, SECONDS))
    return Run.objects.get(pk=run.pk)


def send(run: Run, seconds: range) -> None:
    ShardSecond.objects.bulk_create(
        ShardSecond.of(sent(second, shard), run_id=run.pk, shard=shard, epoch=1)
        for second in seconds
        for shard in (0, 1)
    )
    run.shards.update(last_second=seconds[-1])


@functools.cache
def sent(second: int, shard: int) -> dict[str, Any]:
    failed = int(second % 9 == 4)
    more = {"counters": {"failed": failed}, "errors": {"reset": failed} if failed else {}}
    times = [8_000 + 100 * (second + shard), 5_000]
    return make_second(second, times, **more).to_json()


def never() -> bool:
    return False


def all_of(run: Run) -> tuple[dict, dict]:
    measurement = measurement_so_far(run)
    return measurement.to_json(), measurement.state()


def cached_until(run: Run) -> int:
    return cached_so_far(run).last_second


def test_who_goes_on_from_what_is_cached_measures_the_same_as_who_reads_all(sending):
    assert cache_so_far(is_over=never) == 1
    send(sending, range(SECONDS, SECONDS + 20))
    gone_on = all_of(sending)
    forget()
    assert gone_on == all_of(sending)
    first, _ = gone_on
    assert first["failures"]
    of_mean, of_errors = first["thresholds"]
    assert of_mean["since"] == 59, "6.525 ms + 25 µs a second"
    assert of_errors["since"] is not None


def test_seconds_that_are_cached_are_not_read_again(sending):
    before = all_of(sending)
    cache_so_far(is_over=never)
    sending.seconds.all().delete()
    assert all_of(sending) == before


def test_what_another_release_cached_is_not_read(sending, monkeypatch):
    cache_so_far(is_over=never)
    monkeypatch.setattr(cache, "release", lambda: "another")
    sending.seconds.filter(second__lt=50).delete()
    assert measurement_so_far(sending).series[0]["second"] == 50


def test_a_run_is_added_up_again_only_when_it_has_gone_on(sending):
    assert cache_so_far(is_over=never) == 1
    assert cache_so_far(is_over=never) == 0
    send(sending, range(SECONDS, SECONDS + runs.WORTH_S))
    assert cache_so_far(is_over=never) == 1
    assert cached_until(sending) == SECONDS + runs.WORTH_S - 1


def test_what_there_is_no_time_for_goes_on_at_the_next_call(sending):
    answers_of_clock = iter([False, True])
    assert cache_so_far(is_over=lambda: next(answers_of_clock)) == 1
    assert cached_until(sending) == runs.PORTION_S - WARM_UP_S - 1
    assert cache_so_far(is_over=never) == 1
    assert cached_until(sending) == SECONDS - 1


def end_sending(run: Run) -> None:
    end = {"outcome": "complete", "duration_us": 100_000_000}
    run.shards.update(state=ShardState.DONE, end=end)
    Run.objects.filter(pk=run.pk).update(state=RunState.FINALIZING)


def summary_of(run: Run) -> dict[str, Any]:
    """What is stored of it, made anew."""
    RunSummary.objects.filter(run=run).delete()
    summary = summarise_run(Run.objects.get(pk=run.pk))
    fields = Run.objects.filter(pk=run.pk).values().get()
    values = {
        field.name: getattr(summary, field.name) for field in RunSummary._meta.concrete_fields
    }
    return fields | {name: values[name] for name in values if name not in {"id", "made_at"}}


@pytest.fixture
def seconds_read(monkeypatch) -> list[int]:
    """The seconds of the rows whose values are read."""
    seconds, value = [], ShardSecond.value
    monkeypatch.setattr(ShardSecond, "value", lambda row: seconds.append(row.second) or value(row))
    return seconds


def test_the_summary_of_a_run_that_ends_goes_on_from_what_is_kept(sending, seconds_read):
    cache_so_far(is_over=never)
    send(sending, range(SECONDS, SECONDS + 20))
    end_sending(sending)
    seconds_read.clear()
    gone_on = summary_of(sending)
    assert min(seconds_read) == SECONDS
    forget()
    assert gone_on == summary_of(sending)
    assert gone_on["n_seconds"] == 2 * (WARM_UP_S + SECONDS + 20)
    assert min(seconds_read) == -WARM_UP_S


def what_comes_later(run: Run) -> None:
    store_second(run, make_second(50, [7_000], step=1), shard=0)


def what_was_missing(run: Run) -> None:
    store_second(run, make_second(70, [7_000]), shard=1)


def no_more_than_a_point_says(run: Run) -> None:
    """The second injector is lost in the end: of its last seconds nothing comes."""


@pytest.mark.parametrize("happens", [what_comes_later, what_was_missing, no_more_than_a_point_says])
def test_where_more_is_stored_or_a_point_lacks_an_injector_all_is_read(
    sending, seconds_read, happens
):
    if happens is not what_comes_later:
        sending.seconds.filter(second=70, shard=1).delete()
    cache_so_far(is_over=never)
    happens(sending)
    end_sending(sending)
    seconds_read.clear()
    read = summary_of(sending)
    assert min(seconds_read) == -WARM_UP_S
    forget()
    assert read == summary_of(sending)


@pytest.fixture(autouse=True)
def read(monkeypatch) -> list[int]:
    """The campaigns whose results were read for a list; nothing is cached."""
    forget()
    campaigns, real = [], answers.campaign_answers

    def count_and_answer(batch, *selection, **how):
        if not selection:
            campaigns.extend(each.pk for each in batch)
        return real(batch, *selection, **how)

    monkeypatch.setattr(answers, "campaign_answers", count_and_answer)
    return campaigns


def ended_campaign(project) -> Campaign:
    """HTTPS against HTTP, as it was before anything was kept."""
    campaign, tests = https_campaign(project, finished_at="2026-11-21T12:00Z")
    run_in_blocks(tests, [[10_000] * 3, [13_000] * 3])
    return campaign


def test_the_results_of_an_ended_campaign_are_read_once(project, read):
    campaign = ended_campaign(project)
    gist = answer_of(campaign).gist
    assert [gist_of(campaign) for _ in range(2)] == [gist, gist]
    assert gist.found.trust
    assert read == [campaign.pk]


def test_after_late_seconds_it_is_read_again(project, read):
    run, lease = measuring(project)
    expire(run)
    settle(run)
    assert dispatch.finish_campaigns() == 1
    gist_of(Campaign.objects.get())
    record_seconds(lease=lease, seconds=[second(0), second(1)])
    endings.summarise_late_runs()
    campaign = Campaign.objects.get()
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == [campaign.pk, campaign.pk]


@pytest.mark.parametrize("noun", ["plan", "target"])
def test_a_new_name_is_said_at_once(project, read, noun):
    campaign = ended_campaign(project)
    gist_of(campaign)
    test = campaign.tests.first()
    row = test.plan_version.plan if noun == "plan" else test.endpoint.target
    row.name = "Renamed"
    row.save()
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == [campaign.pk, campaign.pk]


def test_of_a_campaign_that_goes_on_a_list_says_what_its_page_says(project, read):
    campaign = ended_campaign(project)
    Campaign.objects.update(finished_at=None)
    campaign.refresh_from_db()
    assert gist_of(campaign) == answer_of(campaign).gist
    assert read == []


def test_the_next_release_reads_the_results_again(project, read, monkeypatch):
    campaign = ended_campaign(project)
    gist_of(campaign)
    monkeypatch.setattr(cache, "release", lambda: "the next one")
    gist_of(campaign)
    assert read == [campaign.pk, campaign.pk]

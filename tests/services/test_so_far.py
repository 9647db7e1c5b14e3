"""What runs under way have measured is kept, and a process that comes later goes on from it."""

from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome, RunState, ShardState
from campaigns.models import MeasuredSoFar, Run, RunSummary, ShardSecond
from campaigns.queries.measurements import measurement_so_far
from campaigns.services import summaries
from campaigns.services.summaries import keep_so_far, summarise_run
from tests.factories import (
    begin_run,
    begin_shards,
    make_campaign,
    make_plan,
    make_run,
    make_test,
    store_second,
)
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
SECONDS, WARM_UP_S = 100, 5
RULES = [
    {"metric": "mean", "limit": 8, "unit": "ms"},
    {"metric": "errors", "limit": 5, "unit": "%"},
]


@pytest.fixture
def running(project) -> Run:
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


@cache
def sent(second: int, shard: int) -> dict[str, Any]:
    failed = int(second % 9 == 4)
    more = {"counters": {"failed": failed}, "errors": {"reset": failed} if failed else {}}
    times = [8_000 + 100 * (second + shard), 5_000]
    return make_second(second, times, **more).to_json()


def never() -> bool:
    return False


def all_of(run: Run) -> tuple[dict, dict]:
    measured = measurement_so_far(run)
    return measured.to_json(), measured.state()


def test_who_goes_on_from_what_is_kept_measures_the_same_as_who_reads_all(running):
    assert keep_so_far(is_over=never) == 1
    send(running, range(SECONDS, SECONDS + 20))
    gone_on = all_of(running)
    MeasuredSoFar.objects.all().delete()
    assert gone_on == all_of(running)
    first, _ = gone_on
    assert first["failures"]
    of_mean, of_errors = first["thresholds"]
    assert of_mean["since"] == 59, "6.525 ms + 25 µs a second"
    assert of_errors["since"] is not None


def test_seconds_that_are_kept_are_not_read_again(running):
    before = all_of(running)
    keep_so_far(is_over=never)
    running.seconds.all().delete()
    assert all_of(running) == before


def test_what_another_release_kept_is_not_read(running):
    keep_so_far(is_over=never)
    MeasuredSoFar.objects.update(release="another")
    running.seconds.filter(second__lt=50).delete()
    assert measurement_so_far(running).series[0]["second"] == 50


def test_a_run_is_kept_again_only_when_it_has_gone_on(running):
    assert keep_so_far(is_over=never) == 1
    assert keep_so_far(is_over=never) == 0
    send(running, range(SECONDS, SECONDS + summaries.WORTH_S))
    assert keep_so_far(is_over=never) == 1
    assert MeasuredSoFar.objects.get().last_second == SECONDS + summaries.WORTH_S - 1


def test_what_there_is_no_time_for_goes_on_at_the_next_call(running):
    asked = iter([False, True])
    assert keep_so_far(is_over=lambda: next(asked)) == 1
    assert MeasuredSoFar.objects.get().last_second == summaries.PORTION_S - WARM_UP_S - 1
    assert keep_so_far(is_over=never) == 1
    assert MeasuredSoFar.objects.get().last_second == SECONDS - 1


def end_sending(run: Run) -> None:
    end = {"outcome": "complete", "duration_us": 100_000_000}
    run.shards.update(state=ShardState.DONE, end=end)
    Run.objects.filter(pk=run.pk).update(state=RunState.FINALIZING)


def summary_of(run: Run) -> dict[str, Any]:
    """What is stored of it, made anew."""
    run.summaries.all().delete()
    made = summarise_run(Run.objects.get(pk=run.pk))
    found = Run.objects.filter(pk=run.pk).values().get()
    stored = {field.name: getattr(made, field.name) for field in RunSummary._meta.concrete_fields}
    return found | {name: stored[name] for name in stored if name not in {"id", "made_at"}}


@pytest.fixture
def decoded(monkeypatch) -> list[int]:
    """The seconds of the rows whose values are read."""
    seen, value = [], ShardSecond.value
    monkeypatch.setattr(ShardSecond, "value", lambda row: seen.append(row.second) or value(row))
    return seen


def test_the_summary_of_a_run_that_ends_goes_on_from_what_is_kept(running, decoded):
    keep_so_far(is_over=never)
    send(running, range(SECONDS, SECONDS + 20))
    end_sending(running)
    decoded.clear()
    gone_on = summary_of(running)
    assert min(decoded) == SECONDS
    MeasuredSoFar.objects.all().delete()
    assert gone_on == summary_of(running)
    assert gone_on["n_seconds"] == 2 * (WARM_UP_S + SECONDS + 20)
    assert min(decoded) == -WARM_UP_S


def what_comes_later(run: Run) -> None:
    store_second(run, make_second(50, [7_000], step=1), shard=0)


def what_was_missing(run: Run) -> None:
    store_second(run, make_second(70, [7_000]), shard=1)


def no_more_than_a_point_says(run: Run) -> None:
    """The second injector is lost in the end: of its last seconds nothing comes."""


@pytest.mark.parametrize("happens", [what_comes_later, what_was_missing, no_more_than_a_point_says])
def test_where_more_is_stored_or_a_point_lacks_an_injector_all_is_read(running, decoded, happens):
    if happens is not what_comes_later:
        running.seconds.filter(second=70, shard=1).delete()
    keep_so_far(is_over=never)
    happens(running)
    end_sending(running)
    decoded.clear()
    read = summary_of(running)
    assert min(decoded) == -WARM_UP_S
    MeasuredSoFar.objects.all().delete()
    assert read == summary_of(running)


def test_nothing_is_kept_of_a_run_that_has_ended(running):
    keep_so_far(is_over=never)
    runs = Run.objects.filter(pk=running.pk)
    runs.update(state=RunState.FINALIZING)
    runs.update(state=RunState.DONE, ended_at=timezone.now(), outcome=Outcome.COMPLETE)
    assert keep_so_far(is_over=never) == 0
    assert not MeasuredSoFar.objects.exists()

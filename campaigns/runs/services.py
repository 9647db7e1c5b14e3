"""A run's summary: derived from its seconds, recomputed when late ones arrive; and what histories
and lists read of it. Caches what runs under way have measured, added up, for the process that shows
one next. Thins the seconds of old runs to minutes; their summaries, with all histograms and series,
stay. `publish_results` is the one place
where it is known that results are new or others than before."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Max, QuerySet, Sum
from django.db.models.functions import Length, Now

from campaigns.core import cache, queue
from campaigns.domain.analysis.judgement import LimitsByCode, judge
from campaigns.domain.analysis.limit import observed_machines, with_noise_noted
from campaigns.domain.analysis.observations import hosts_of, is_loopback, observe
from campaigns.domain.lifecycle import RunState, ShardState
from campaigns.domain.metrics.figures import histograms_of
from campaigns.domain.metrics.injector_end import peers_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import pack
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.threshold import TARGET_METRICS
from campaigns.history.services import judge_by_baselines, note_changes
from campaigns.live.notify import notify_viewers
from campaigns.machines.queries.machine_runs import measured_machines, uses_of
from campaigns.models import (
    Campaign,
    InjectorHost,
    KeptMinute,
    Run,
    RunSummary,
    RunUse,
    Search,
    ShardSecond,
    Test,
    TestFigures,
)
from campaigns.operations.services.caps import measure_use
from campaigns.runs.queries.kept_figures import brief_total, figures_of
from campaigns.runs.queries.measurements import (
    cached_so_far,
    machines_of_run,
    measurement_so_far,
    measurement_to_end,
    new_measurement,
    of_summary,
    rows_of,
    so_far_key,
    summary_of,
)
from campaigns.runs.queries.reports import parts_to_keep, warm_up_of
from campaigns.runs.queries.runs import kept_of, uses_to_thin


@transaction.atomic
def keep_figures(tests: Iterable[int]) -> None:
    """Write the figures of these tests as their runs have them now, for histories.
    May be done any number of times. Trials of a search and points of a sweep have no history: they
    are not the plan."""
    tests_due = Test.objects.filter(pk__in=list(tests), swept="")
    tests_due = tests_due.exclude(campaign__in=Search.objects.values("pk"))
    # Who writes later has read later.
    list(tests_due.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    rows = figures_of(tests_due)
    TestFigures.objects.bulk_create(
        (TestFigures(**row) for row in rows),
        update_conflicts=True,
        unique_fields=["test"],
        update_fields=_WRITTEN,
    )


_WRITTEN = (
    *("n", "errors", "trust", "target_state", "facts"),
    *("mean_us", "typical_us", "p50_us", "p95_us", "p99_us", "ends_us"),
)


@transaction.atomic
def summarise_run(run: Run) -> RunSummary:
    """Merge the run's seconds into a summary and judge the run by it. Idempotent: the same seconds
    keep the summary, others write it again. A run whose seconds were removed keeps the
    summary that it has."""
    # no_key: inserts of late seconds, which reference the run, must not wait for this lock.
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if kept_of(run) is not None:
        return summary_of(run)
    measurement, digest = _added_up(run)
    for shard in run.shards.all():
        measurement.close(shard.injector_end, shard.number)
    measurement.settle()
    for verdict in measurement.thresholds:
        if verdict.metric in TARGET_METRICS:
            digest.update(repr(verdict).encode())
    summary = summary_of(run)
    if summary is None or summary.digest != digest.hexdigest():
        summary = RunSummary(
            run=run,
            version=summary.version + 1 if summary else 1,
            n_seconds=measurement.n_added,
            digest=digest.hexdigest(),
            figures=brief_total(measurement.total),
            histograms=histograms_of(measurement.total),
            made_at=Now(),
            **measurement.to_json(),
        )
        summary.save()
    n_lost = run.shards.filter(state=ShardState.LOST).count()
    beside = {"is_co_located": is_co_located(run)}
    observations = observe(measurement, n_lost=n_lost, **beside)
    machines = measured_machines(run, measurement.duration_s)
    observations |= observed_machines(machines, measurement.figures.attempts, **beside)
    response = measurement.total.timing("response")
    verdicts = judge(observations, response, LimitsByCode.with_overrides(settings.JUDGEMENT_LIMITS))
    if run.frozen.turns:
        verdicts = with_noise_noted(verdicts)
    judgement = verdicts.said_of(measurement.plan.nouns)
    Run.objects.filter(pk=run.pk).update(
        trust=judgement.measurement.state,
        target_state=judgement.target.state,
        precision=judgement.precision.state,
        judgement=judgement.to_row(),
        **measurement.figures.to_row(),
    )
    return summary


def _added_up(run: Run) -> tuple[Measurement, Any]:
    """All seconds and their SHA-256. What a worker has added up already is only counted, as long as
    nothing else is stored up to there."""
    whole = measurement_to_end(run)
    if whole is not None:
        n_kept = whole.n_added
        n_known, digest = _add_rows(run, whole, after=whole.last_second)
        if n_known == n_kept:
            return whole, digest
    measurement = new_measurement(run)
    _, digest = _add_rows(run, measurement)
    return measurement, digest


def _add_rows(run: Run, measurement: Measurement, after: int | None = None) -> tuple[int, Any]:
    """Adds the rows after a second, or all. How many are not after it, and the SHA-256 of all."""
    n_before, digest = 0, hashlib.sha256()
    for row in rows_of(run).iterator(chunk_size=500):
        # The row's content as bytes: equal content gives equal bytes.
        digest.update(repr((row.shard, row.second, row.step)).encode() + row.packed)
        if after is None or row.second > after:
            measurement.add(row.value(), row.shard)
        else:
            n_before += 1
    return n_before, digest


def is_co_located(run: Run) -> bool:
    """Whether the run connected to an address of one of its injector hosts."""
    peers = hosts_of(list(peers_of(run.ends)))
    if any(is_loopback(peer) for peer in peers):
        return True
    names = {shard.host for shard in run.shards.all()}
    own = InjectorHost.objects.filter(name__in=names).values_list("facts", flat=True)
    return any(peer in facts.get("addresses", "").split() for facts in own for peer in peers)


logger = logging.getLogger(__name__)

# A process adds up fewer seconds than this soon enough by itself.
WORTH_S = 30
PORTION_S = 60  # added up before somebody asks whether the time is over
SO_FAR_DAYS = 1 / 24


def cache_so_far(*, is_over: Callable[[], bool]) -> int:
    """Add up what runs under way have measured, until `is_over`, those first of which most is
    missing; how many runs got further. What is not done goes on at the next call, and may be done
    any number of times."""
    n_cached = 0
    # Runs that send, the furthest behind first, with `reached`, the last second that any injector
    # has delivered; and what is cached of them.
    sending = Run.objects.filter(state=RunState.RUNNING, t0__isnull=False)
    progress = sending.annotate(reached=Max("shards__last_second")).filter(reached__gte=0)
    totals = [(run, cached_so_far(run) or new_measurement(run)) for run in progress]
    behind = [each for each in totals if _n_missing(*each) >= WORTH_S]
    for run, measurement in sorted(behind, key=lambda each: _n_missing(*each), reverse=True):
        if is_over():
            break
        n_cached += _go_on(run, measurement, is_over)
    return n_cached


def _n_missing(run: Run, measurement: Measurement) -> int:
    return run.reached - _last_second(run, measurement)


def _last_second(run: Run, measurement: Measurement) -> int:
    if measurement.last_second is None:
        return -ceil(run.frozen.plan.warm_up_s) - 1
    return measurement.last_second


def _go_on(run: Run, measurement: Measurement, is_over: Callable[[], bool]) -> bool:
    until = _last_second(run, measurement)
    while until < run.reached:
        until += PORTION_S
        measurement = measurement_so_far(run, measurement, until=until)
        if is_over():
            break
    if not measurement.series:
        return False
    cache.put_many({so_far_key(run): [measurement.state(), measurement.series]}, SO_FAR_DAYS)
    return True


MINUTE_S = 60
# Rows of one statement, which is one transaction: it holds no lock for longer than it takes. A
# second is never left in part, so there may be as many more as one second has.
BATCH = 500
_RUNS_AT_ONCE = 100


def remove_old_seconds(
    *, now: datetime, is_over: Callable[[], bool], pause: Callable[[], None]
) -> int:
    """Merge what is older than the setting allows into minutes, until `is_over`; the number of rows
    that were removed. May be interrupted anywhere and done twice: the next call goes on. `pause` is
    called between two batches."""
    if settings.KEEP_SECONDS_DAYS <= 0:
        return 0
    before = now - timedelta(days=settings.KEEP_SECONDS_DAYS)
    n_removed = 0
    for use in uses_to_thin(now, before).select_related("run")[:_RUNS_AT_ONCE]:
        if use.thinned_at is None and not _keep_what_is_read(use.run, now):
            continue
        while not is_over():
            n_rows = _remove_batch(use.run)
            n_removed += n_rows
            if not n_rows:
                # What is kept of the seconds counts as part of the summary from now on.
                n_bytes = use.run.minutes.aggregate(size=Sum(Length("packed")))["size"] or 0
                with _briefly():
                    RunUse.objects.filter(pk=use.pk).update(
                        n_seconds=0, seconds_bytes=0, summary_bytes=F("summary_bytes") + n_bytes
                    )
                break
            pause()
        if is_over():
            break
    return n_removed


@contextmanager
def _briefly() -> Iterator[None]:
    """A transaction that does not hold its locks until the disk has synced. What a crash of the
    server undoes is done again: its log keeps the order, so nothing goes before what stays of it.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
        yield


def _keep_what_is_read(run: Run, now: datetime) -> bool:
    """From here on pages read what is kept, and nobody the seconds. False if there is another
    summary meanwhile: the next call tries again. It is read before the run is locked, which of a
    long run takes a while."""
    summary = summary_of(run)
    figures = {
        "warm_up": warm_up_of(run).to_json(),
        "parts": [astuple(part) for part in parts_to_keep(run)],
        "machines": [use.to_json() for use in uses_of(run, machines_of_run(run))],
    }
    with _briefly():
        Run.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)
        if of_summary(run, "version") != summary.version:
            return False
        RunUse.objects.filter(run=run).update(thinned_at=now, kept=figures)
    return True


def _remove_batch(run: Run) -> int:
    """The oldest rows, whole seconds within a minute; 0 when none is left."""
    first = run.seconds.order_by("second").values_list("second", flat=True).first()
    rows = run.machine_seconds if first is None else _kept_minute(run, first // MINUTE_S)
    seconds = list(rows.order_by("second").values_list("second", flat=True)[:BATCH])
    if not seconds:
        return 0
    with _briefly():
        return rows.filter(second__lte=seconds[-1]).delete()[0]


def _kept_minute(run: Run, minute: int) -> QuerySet[ShardSecond]:
    """The seconds up to the end of this minute, once what stays of it is stored. Where that is
    stored already, only some of them are left."""
    rows = run.seconds.filter(second__lt=(minute + 1) * MINUTE_S)
    if run.minutes.filter(minute=minute).exists():
        return rows
    totals: dict[int, Total] = {}
    for row in rows.iterator(chunk_size=BATCH):
        totals.setdefault(row.step, Total()).add(row.value())
    minutes = [
        KeptMinute(
            run=run,
            minute=minute,
            step=step,
            packed=pack(total.to_json() | {"in_flight": 0, "vitals": None}),
        )
        for step, total in totals.items()
    ]
    with _briefly():
        KeptMinute.objects.bulk_create(minutes, ignore_conflicts=True)
    return rows


def publish_results(campaign: Campaign, run: Run | None = None) -> None:
    """Update histories, baselines, the use of caps, caches and viewers: the campaign or
    the `run` has ended, or late seconds made a new summary of it. May be called any number of
    times. Whatever goes wrong here, they have ended."""
    if run:
        _try("the history of its test", run, partial(keep_figures, [run.test_id]))
        _try("its use of caps", run, partial(measure_use, run))
    if campaign.finished_at:
        _try("verdicts against its baselines", campaign, partial(judge_by_baselines, campaign))
        _try("changes in histories", campaign, partial(note_changes, campaign_id=campaign.pk))
        queue.enqueue(queue.RESULTS, [campaign.pk])
    notify_viewers(run_id=run and run.pk, campaign_id=campaign.pk)


def _try(what: str, of: Campaign | Run, act: Callable[[], object]) -> None:
    try:
        with transaction.atomic():
            act()
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("%s of %s %s: not up to date", what, type(of).__name__.lower(), of.pk)

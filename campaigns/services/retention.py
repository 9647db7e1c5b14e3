"""Thins the seconds of old runs to minutes; their summaries, with all histograms and series,
stay."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Length

from campaigns.domain.measured.packed_second import pack
from campaigns.domain.measured.snapshot import Total
from campaigns.models import KeptMinute, Run, RunUse, ShardSecond
from campaigns.queries.machine_runs import uses_of
from campaigns.queries.measurements import latest_summary, machines_of_run, of_latest_summary
from campaigns.queries.reports import parts_to_keep, warm_up_of
from campaigns.queries.retention import uses_to_thin

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
            removed = _remove_batch(use.run)
            n_removed += removed
            if not removed:
                # What is kept of the seconds counts as part of the summary from now on.
                kept = use.run.minutes.aggregate(size=Sum(Length("packed")))["size"] or 0
                with _briefly():
                    RunUse.objects.filter(pk=use.pk).update(
                        n_seconds=0, seconds_bytes=0, summary_bytes=F("summary_bytes") + kept
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
    summary = latest_summary(run)
    kept = {
        "warm_up": warm_up_of(run).to_json(),
        "parts": [astuple(part) for part in parts_to_keep(run)],
        "machines": [use.to_json() for use in uses_of(run, machines_of_run(run))],
    }
    with _briefly():
        Run.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)
        newest = of_latest_summary(run, "pk")
        if newest != summary.pk:
            return False
        RunUse.objects.filter(run=run).update(thinned_at=now, kept=kept)
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
    made = [
        KeptMinute(
            run=run,
            minute=minute,
            step=step,
            packed=pack(total.to_json() | {"in_flight": 0, "vitals": None}),
        )
        for step, total in totals.items()
    ]
    with _briefly():
        KeptMinute.objects.bulk_create(made, ignore_conflicts=True)
    return rows

"""Removes the seconds of old runs; their summaries, with all histograms and series, stay."""

from collections.abc import Callable
from dataclasses import astuple
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from campaigns.models import MachineSecond, Run, RunSummary, RunUse, ShardSecond
from campaigns.queries.machines import uses_of
from campaigns.queries.measurements import latest_summary, machines_of_run
from campaigns.queries.phases import parts_to_keep
from campaigns.queries.retention import uses_to_thin
from campaigns.queries.tool_reports import add_counts, warm_up_of

# Rows of one statement, which is one transaction: it holds no lock for longer than it takes.
BATCH = 500
_RUNS_AT_ONCE = 100


def remove_old_seconds(
    *, now: datetime, is_over: Callable[[], bool], pause: Callable[[], None]
) -> int:
    """Remove what is older than the setting allows, until `is_over`; the number of rows.

    May be interrupted anywhere and done twice: the next call goes on. `pause` is called between two
    batches.
    """
    if settings.KEEP_SECONDS_DAYS <= 0:
        return 0
    before = now - timedelta(days=settings.KEEP_SECONDS_DAYS)
    n_removed = 0
    for use in uses_to_thin(now, before).select_related("run")[:_RUNS_AT_ONCE]:
        if use.thinned_at is None:
            _keep_what_is_read(use.run, now)
        while not is_over():
            removed = _remove_batch(use.run)
            n_removed += removed
            if removed < BATCH:
                RunUse.objects.filter(pk=use.pk).update(n_seconds=0, seconds_bytes=0)
                break
            pause()
        if is_over():
            break
    return n_removed


@transaction.atomic
def _keep_what_is_read(run: Run, now: datetime) -> None:
    """From here on pages read what is kept, and nobody the seconds."""
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    summary = latest_summary(run)
    if any("replies" not in point for point in summary.series):
        add_counts(run, summary.series)
        RunSummary.objects.filter(pk=summary.pk).update(series=summary.series)
    kept = {
        "warm_up": warm_up_of(run).to_json(),
        "parts": [astuple(part) for part in parts_to_keep(run)],
        "machines": [use.to_json() for use in uses_of(run, machines_of_run(run))],
    }
    RunUse.objects.filter(run=run).update(thinned_at=now, kept=kept)


def _remove_batch(run: Run) -> int:
    n_removed = 0
    for model in (ShardSecond, MachineSecond):
        pks = model.objects.filter(run=run).values_list("pk", flat=True)[: BATCH - n_removed]
        n_removed += model.objects.filter(pk__in=list(pks)).delete()[0]
    return n_removed

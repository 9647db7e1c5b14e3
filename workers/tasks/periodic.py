"""Tasks of the general worker: periodic ones (how often: `workers.side_threads.PERIODIC_TASKS_S`),
what is made ready when a campaign's results have changed, and schedules of which many are due.

What catches up goes on for a few seconds and leaves the rest for its next turn: people wait in the
same queue for checks of hosts and exporters.
"""

import logging
import time
from collections.abc import Callable

from celery import shared_task
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from campaigns.core.dbtime import database_time, db_now
from campaigns.core.queue import HOUSEKEEPING, RESULTS, RETENTION, SCHEDULES, SO_FAR
from campaigns.items.services import empty_trash
from campaigns.models import Campaign, InjectorHost, Probe, Target
from campaigns.plans.services import forget_unused_bodies
from campaigns.runs.services import cache_so_far, remove_old_seconds
from campaigns.schedules.services import fire_due

logger = logging.getLogger(__name__)

TURN_S = 5.0
RETENTION_PAUSE_S = 0.05
PROBES_KEPT_S = 30 * 24 * 3600
# Containers get a new name at each start; the old names should leave the page at some point.
HOSTS_KEPT_S = 7 * 24 * 3600
TRIED_KEPT_S = 7 * 24 * 3600


def _turn_over() -> Callable[[], bool]:
    """Of a turn that begins now: whether it is over."""
    end = time.monotonic() + TURN_S
    return lambda: time.monotonic() > end


@shared_task(name=SO_FAR)
def keep_measured() -> None:
    """Add up what runs under way have measured, so that a process that begins to show one need not
    read it from its first second."""
    cache_so_far(is_over=_turn_over())


@shared_task(name=RESULTS)
def make_ready(campaign: int) -> None:
    """What lists and pages say of a campaign that has ended, before anybody asks."""
    # Only the process that makes pages loads them.
    from campaigns.campaigns.views.kept_pages import make_pages

    for ended in Campaign.objects.filter(pk=campaign).exclude(finished_at=None):
        make_pages(ended)


@shared_task(name=SCHEDULES)
def start_schedules() -> None:
    """Help the dispatcher with many that are due at once."""
    is_over = _turn_over()
    while fire_due(timezone.now(), is_helper=True) and not is_over():
        pass


@shared_task(name=RETENTION)
def remove_seconds() -> None:
    n_removed = remove_old_seconds(
        is_over=_turn_over(),
        # Not this host's clock: what one that is wrong would remove is gone.
        now=database_time(),
        pause=lambda: time.sleep(RETENTION_PAUSE_S),
    )
    if n_removed:
        logger.info("Retention: removed %d seconds of old runs", n_removed)


@shared_task(name=HOUSEKEEPING)
def delete_old_rows() -> None:
    """Delete expired sessions, old probes, what was only tried, and lost hosts, and what
    has been in the trash for long."""
    call_command("clearsessions")
    # A campaign's first requests are among its results.
    old = Probe.objects.filter(campaign=None, requested_at__lt=db_now(-PROBES_KEPT_S))
    n_probes, _ = old.delete()
    n_hosts, _ = InjectorHost.objects.filter(seen_at__lt=db_now(-HOSTS_KEPT_S)).delete()
    _delete_tried_targets()
    n_emptied = empty_trash(is_over=_turn_over())
    forget_unused_bodies()
    words = "Housekeeping: deleted %d old probes, %d lost hosts and %d items of the trash"
    logger.info(words, n_probes, n_hosts, n_emptied)


@transaction.atomic
def _delete_tried_targets() -> None:
    """Those whose address nobody has tried again for a week, nor built anything on."""
    lately = Probe.objects.filter(requested_at__gt=db_now(-TRIED_KEPT_S))
    old = Target.objects.filter(is_kept=False, created_at__lt=db_now(-TRIED_KEPT_S))
    old = old.exclude(endpoints__probes__in=lately)
    held = list(old.select_for_update(of=("self",), skip_locked=True).values_list("pk", flat=True))
    Target.objects.filter(pk__in=held, is_kept=False).delete()

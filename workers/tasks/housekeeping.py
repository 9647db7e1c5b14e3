"""Deletes expired sessions, old probes and pages, what was only tried, and lost hosts once an hour;
never results."""

import logging

from celery import shared_task
from django.core.management import call_command
from django.db import transaction

from campaigns.models import InjectorHost, KeptPage, Probe, Target
from campaigns.models.dbtime import db_now
from campaigns.queue import HOUSEKEEPING

logger = logging.getLogger(__name__)

PROBES_KEPT_S = 30 * 24 * 3600
# Who opens an older page makes it again.
PAGES_KEPT_S = 30 * 24 * 3600
# Containers get a new name at each start; the old names should leave the page at some point.
HOSTS_KEPT_S = 7 * 24 * 3600
TRIED_KEPT_S = 7 * 24 * 3600


@shared_task(name=HOUSEKEEPING)
def delete_old_rows() -> None:
    call_command("clearsessions")
    # A campaign's first requests are among its results.
    old = Probe.objects.filter(campaign=None, requested_at__lt=db_now(-PROBES_KEPT_S))
    n_probes, _ = old.delete()
    KeptPage.objects.filter(kept_at__lt=db_now(-PAGES_KEPT_S)).delete()
    n_hosts, _ = InjectorHost.objects.filter(seen_at__lt=db_now(-HOSTS_KEPT_S)).delete()
    _delete_tried_targets()
    logger.info("Housekeeping: deleted %d old probes and %d lost hosts", n_probes, n_hosts)


@transaction.atomic
def _delete_tried_targets() -> None:
    """Those whose address nobody has tried again for a week, nor built anything on."""
    lately = Probe.objects.filter(requested_at__gt=db_now(-TRIED_KEPT_S))
    old = Target.objects.filter(is_kept=False, created_at__lt=db_now(-TRIED_KEPT_S))
    old = old.exclude(endpoints__probes__in=lately)
    held = list(old.select_for_update(of=("self",), skip_locked=True).values_list("pk", flat=True))
    Target.objects.filter(pk__in=held, is_kept=False).delete()

"""Deletes expired sessions, old probes and pages, and lost hosts once an hour; never results."""

import logging

from celery import shared_task
from django.core.management import call_command

from campaigns.models import InjectorHost, KeptPage, Probe
from campaigns.models.dbtime import db_now
from campaigns.queue import HOUSEKEEPING

logger = logging.getLogger(__name__)

PROBES_KEPT_S = 30 * 24 * 3600
# Who opens an older page makes it again.
PAGES_KEPT_S = 30 * 24 * 3600
# Containers get a new name at each start; the old names should leave the page at some point.
HOSTS_KEPT_S = 7 * 24 * 3600


@shared_task(name=HOUSEKEEPING)
def delete_old_rows() -> None:
    call_command("clearsessions")
    # A campaign's first requests are among its results.
    old = Probe.objects.filter(campaign=None, requested_at__lt=db_now(-PROBES_KEPT_S))
    n_probes, _ = old.delete()
    KeptPage.objects.filter(kept_at__lt=db_now(-PAGES_KEPT_S)).delete()
    n_hosts, _ = InjectorHost.objects.filter(seen_at__lt=db_now(-HOSTS_KEPT_S)).delete()
    logger.info("Housekeeping: deleted %d old probes and %d lost hosts", n_probes, n_hosts)

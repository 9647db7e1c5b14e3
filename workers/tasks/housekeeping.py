"""What is thrown away by the hour: expired sessions, old probes, hosts that are long gone.

Results are never among it.
"""

import logging

from celery import shared_task
from django.core.management import call_command

from campaigns.models import InjectorHost, Probe
from campaigns.models.dbtime import db_now
from campaigns.queue import KEEP_HOUSE

logger = logging.getLogger(__name__)

PROBES_KEPT_S = 30 * 24 * 3600
# Containers get a new name at each start; their old ones need not stay on the page for ever.
HOSTS_KEPT_S = 7 * 24 * 3600


@shared_task(name=KEEP_HOUSE)
def keep_house() -> None:
    call_command("clearsessions")
    n_probes, _ = Probe.objects.filter(requested_at__lt=db_now(-PROBES_KEPT_S)).delete()
    n_hosts, _ = InjectorHost.objects.filter(seen_at__lt=db_now(-HOSTS_KEPT_S)).delete()
    logger.info("House kept: %d old probes and %d lost hosts deleted", n_probes, n_hosts)

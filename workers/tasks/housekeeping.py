"""What is thrown away by the hour: expired sessions and old probes. Results are never here."""

import logging

from celery import shared_task
from django.core.management import call_command

from campaigns.models import Probe
from campaigns.models.dbtime import db_now
from campaigns.queue import KEEP_HOUSE
from workers.database import use_own_connection

logger = logging.getLogger(__name__)

PROBES_KEPT_S = 30 * 24 * 3600


@shared_task(name=KEEP_HOUSE)
def keep_house() -> None:
    use_own_connection()
    call_command("clearsessions")
    n_deleted, _ = Probe.objects.filter(requested_at__lt=db_now(-PROBES_KEPT_S)).delete()
    logger.info("House kept: %d old probes deleted", n_deleted)

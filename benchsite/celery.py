"""The Celery app: two queues, no results; messages are only doorbells."""

import logging.config
import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
# A worker would load every page to check what it never shows, and ignore what it finds.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("benchsite")
# The site enqueues from many threads; without this, only the loading thread would know the app.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workers"])
app.steps["worker"].add("workers.celery_worker:WorkerPulse")
app.conf.worker_consumer = "workers.celery_worker:PatientConsumer"


@setup_logging.connect
def _log_as_the_site_does(**_) -> None:
    """Celery configures no logging of its own where this is connected."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)

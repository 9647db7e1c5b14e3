"""Wiring. Loads the Celery app so that the site can enqueue by task name."""

from benchsite.celery import app as celery_app

__all__ = ["celery_app"]

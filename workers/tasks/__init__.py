"""The Celery tasks; imported here so that a worker finds them all."""

from workers.tasks import hosts, inject, periodic

__all__ = ["checks", "hosts", "inject", "periodic"]

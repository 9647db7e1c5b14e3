"""The Celery tasks, one file per noun; imported here so that a worker finds them all."""

from workers.tasks import (
    exporters,
    gists,
    hosts,
    housekeeping,
    inject,
    lookout,
    ownership,
    pages,
    retention,
    so_far,
)

__all__ = [
    "exporters",
    "gists",
    "hosts",
    "housekeeping",
    "inject",
    "lookout",
    "ownership",
    "pages",
    "retention",
    "so_far",
]

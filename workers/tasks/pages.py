"""Makes large pages of campaigns that have ended before anybody asks: when one ends, and after what
they show has changed, within a minute.
"""

from celery import shared_task

from campaigns.queue import PAGES
from workers.tasks.turns import turn_over


@shared_task(name=PAGES)
def make_pages() -> None:
    # Only the process that makes pages loads them.
    from campaigns.views.ended_campaigns import make_pages_ahead

    make_pages_ahead(is_over=turn_over())

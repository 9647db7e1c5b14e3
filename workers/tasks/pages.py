"""Makes large pages of campaigns that have ended before anybody asks: when one ends, and after what
they show has changed, within a minute.
"""

import time

from celery import shared_task

from campaigns.queue import PAGES

# The queue is that of single requests, for which people wait.
AT_MOST_S = 5.0


@shared_task(name=PAGES)
def make_pages() -> None:
    # Only the process that makes pages loads them.
    from campaigns.views.ended_campaigns import make_pages_ahead

    end = time.monotonic() + AT_MOST_S
    make_pages_ahead(is_over=lambda: time.monotonic() > end)

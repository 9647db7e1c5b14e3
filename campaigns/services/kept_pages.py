"""Keeps pages and sentences of campaigns that have ended, for whichever process is asked next."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from campaigns.models import Campaign, KeptPage
from campaigns.queries.answers import campaign_answer
from campaigns.queries.campaign_keys import campaign_key, to_keep, without_gist


def keep_gist(campaign_id: int) -> None:
    """Write what lists say of a finished campaign. May be done any number of times; whatever goes
    wrong, the campaign has ended, and lists read its results."""
    try:
        campaign = Campaign.objects.get(pk=campaign_id)
        key = campaign_key(campaign)  # read first: results that come meanwhile make another one
        gist = campaign_answer(campaign).gist
        finished = Campaign.objects.filter(pk=campaign_id, finished_at__isnull=False)
        finished.update(gist=to_keep(gist, key))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Lists read the results of campaign %s", campaign_id)


def keep_missing_gists(*, is_over: Callable[[], bool]) -> int:
    """Of campaigns that ended before this release, the newest first, until `is_over`."""
    n_kept = 0
    for pk in without_gist().values_list("pk", flat=True)[:1000]:
        if is_over():
            break
        keep_gist(pk)
        n_kept += 1
    return n_kept


logger = logging.getLogger(__name__)

# Each role sees another page, and so does who chooses a column; older ones are out of date.
PAGES_OF_A_CAMPAIGN = 12


def keep_page(*, campaign: int, key: str, content: bytes) -> None:
    """May be done any number of times. Whatever goes wrong, the page has been made."""
    try:
        with transaction.atomic():
            page = KeptPage(campaign_id=campaign, key=key, content=content)
            KeptPage.objects.bulk_create([page], ignore_conflicts=True)
            pages = KeptPage.objects.filter(campaign=campaign)
            pages.exclude(pk__in=pages.values("pk")[:PAGES_OF_A_CAMPAIGN]).delete()
    except DatabaseError:
        logger.warning("The page of campaign %s was not kept", campaign, exc_info=True)

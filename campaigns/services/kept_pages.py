"""Keeps pages of campaigns that have ended, for whichever process is asked next."""

import logging

from django.db import DatabaseError, transaction

from campaigns.models import KeptPage

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

"""Keeps what lists say of a campaign, so that nobody who opens one waits for its results."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError

from campaigns.models import Campaign
from campaigns.queries.answers import campaign_answer
from campaigns.queries.campaign_keys import campaign_key
from campaigns.queries.kept_gists import to_keep, without_gist

logger = logging.getLogger(__name__)


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

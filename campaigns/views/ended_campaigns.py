"""The page of a campaign that has ended, for a reader, and for a worker that makes it before."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import QueryDict
from django.urls import reverse

from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.queries.baselines import newest_baseline, own_baselines
from campaigns.queries.kept_pages import WORTH_ROWS, newest_ended, readers_of
from campaigns.queries.row_versions import rows_of_campaign
from campaigns.queries.target_matrix import relative_column
from campaigns.views.access import find, rights_in
from campaigns.views.campaign_page import campaign_context
from campaigns.views.kept_pages import CacheablePage

logger = logging.getLogger(__name__)

TEMPLATE = "campaigns/detail.html"


def detail_context(
    campaign: int,
    actor: Actor,
    asked: QueryDict,
    chosen: tuple[int, int] | None,
    may: dict[str, bool],
) -> dict[str, Any]:
    """Of a campaign's page, whether it has ended or not. `chosen`: see `campaign_context`."""
    shown = find(Campaign.objects.select_related("project"), actor, pk=campaign)
    return {
        **campaign_context(shown, actor, chosen, relative_column(asked), asked),
        "stream_url": reverse("campaign-stream", args=[campaign]),
        "own_baselines": own_baselines(shown),
        "seen_baseline": newest_baseline(actor, shown.project_id),
        "project": shown.project,
        "may": may,
    }


def ended_campaign(
    campaign: int,
    rows: tuple[int, int],
    may: dict[str, bool],
    asked: QueryDict,
    context: Callable[[], dict[str, Any]],
) -> CacheablePage:
    """`rows`: of `rows_of_campaign`, read before the campaign was."""
    path, seen = reverse("campaign-detail", args=[campaign]), (tuple(may.values()), rows)
    n_rows, _ = rows
    is_worth_it = n_rows >= WORTH_ROWS
    return CacheablePage(TEMPLATE, path, asked, seen, context, campaign if is_worth_it else None)


def make_pages_ahead(*, is_over: Callable[[], bool]) -> int:
    """Those of the newest campaigns that have ended, as each role sees them, until `is_over`; how
    many are ready. What is kept is only looked for. Readers make small ones themselves."""
    n_ready = 0
    for campaign in newest_ended():
        rows = rows_of_campaign(campaign.pk)
        for reader in readers_of(campaign.project):
            if is_over():
                return n_ready
            n_ready += _make_ahead(campaign, rows, reader)
    return n_ready


def _make_ahead(campaign: Campaign, rows: tuple[int, int], reader: Actor) -> bool:
    asked, may = QueryDict(), rights_in(campaign.project, reader)
    context = partial(detail_context, campaign.pk, reader, asked, None, may)
    page = ended_campaign(campaign.pk, rows, may, asked, context)
    if page.campaign is None:
        return False
    try:
        page.content()
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # its reader gets the fault, and the next campaign its page
        logger.exception("The page of campaign %s was not made ahead", campaign.pk)
        return False
    return True

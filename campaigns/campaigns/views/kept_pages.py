"""Pages of what has ended: made once for all who may do the same, and kept for as long as no row
has changed that they show. Each process keeps what it showed; large pages are kept for all
processes too, and made when a campaign ends (`workers/tasks.py`). What is kept is rendered
from the address alone, so it cannot name whoever asked first. It depends on no clock. The frame
around it, with the reader's name, projects and messages, is rendered each time."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone_name

from campaigns.campaigns.queries.answers import gist_of
from campaigns.campaigns.queries.campaigns import rows_of_campaign
from campaigns.campaigns.views.campaign_page import campaign_context, disturbance
from campaigns.core import cache
from campaigns.core.access import find, rights_in
from campaigns.core.permissions import Actor
from campaigns.history.queries.baselines import newest_baseline, own_baselines
from campaigns.live.views import PLACE, with_own_token
from campaigns.matrix.queries import relative_column
from campaigns.models import Campaign, Membership, Project

_LAYOUT, _SPLIT = "kept_parts.html", "<!-- next part -->"
# The blocks of kept_parts.html, in its order.
_BLOCKS = ("title", "styles", "scripts", "breadcrumb", "heading", "facts", "actions", "content")
_BLOCKS += ("footer",)
NOTHING = _SPLIT * (len(_BLOCKS) - 1)  # a page whose blocks are all empty
_KEPT: cache.Cache[str] = cache.Cache(40)
_PAGE_DAYS = 7
# From so many rows on a page is worth keeping for all processes.
WORTH_ROWS = 200


@dataclass(frozen=True, slots=True)
class CacheablePage:
    """A page of what has ended, before it is made."""

    template: str
    path: str
    asked: QueryDict
    # All that decides what is shown at this address, rights and rows (`row_versions`), beside the
    # zone of its reader.
    version: Hashable
    context: Callable[[], dict[str, Any]]
    is_shared: bool = False  # whether all processes share it

    def content(self) -> str:
        """Its blocks: as this process kept them, or any, or made now."""
        zone = get_current_timezone_name()
        key = (self.template, self.path, self.asked.urlencode(), self.version, zone)
        return _KEPT.get(key, lambda: self._shared(cache.key_of("page", PLACE, *key)))

    def _shared(self, key: str) -> str:
        if not self.is_shared:
            return self._render()
        if rows := cache.get_many([key]):
            return rows[key]
        page = self._render()
        cache.put_many({key: page}, _PAGE_DAYS)
        return page

    def _render(self) -> str:
        request = HttpRequest()
        request.path, request.GET = self.path, self.asked
        # Tables link to runs for whoever is signed in, as all are who see these pages.
        own = {"layout": _LAYOUT, "csrf_token": PLACE, "user": {"is_authenticated": True}}
        return render_to_string(self.template, self.context() | own, request)


def kept_page(
    request: HttpRequest, project: Project, may: dict[str, bool], page: CacheablePage
) -> HttpResponse:
    """`may`: of `rights_in`, for the frame."""
    # What templates rendered, and escaped, when it was kept.
    texts = with_own_token(page.content(), request).split(_SPLIT)
    parts = {name: SafeString(text.strip()) for name, text in zip(_BLOCKS, texts, strict=True)}
    return render(request, "kept_page.html", {"project": project, "may": may, "parts": parts})


TEMPLATE = "campaigns/detail.html"


def detail_context(
    campaign: int,
    actor: Actor,
    params: QueryDict,
    pair: tuple[int, int] | None,
    may: dict[str, bool],
) -> dict[str, Any]:
    """Of a campaign's page, whether it has ended or not. `pair`: see `campaign_context`."""
    row = find(Campaign.objects.select_related("project"), actor, pk=campaign)
    return {
        **campaign_context(row, actor, pair, relative_column(params), params),
        **disturbance(row, may),
        "stream_url": reverse("campaign-stream", args=[campaign]),
        "own_baselines": own_baselines(row),
        "seen_baseline": newest_baseline(actor, row.project_id),
        "project": row.project,
        "may": may,
    }


def ended_campaign(
    campaign: int,
    rows: tuple[int, int],
    may: dict[str, bool],
    params: QueryDict,
    context: Callable[[], dict[str, Any]],
) -> CacheablePage:
    """`rows`: of `rows_of_campaign`, read before the campaign was."""
    path, version = reverse("campaign-detail", args=[campaign]), (tuple(may.values()), rows)
    n_rows, _ = rows
    return CacheablePage(TEMPLATE, path, params, version, context, n_rows >= WORTH_ROWS)


def make_pages(campaign: Campaign) -> None:
    """What lists say of a campaign that has ended, and its page as each role sees it, for whoever
    asks first."""
    gist_of(campaign)
    rows = rows_of_campaign(campaign.pk)
    if hasattr(campaign, "search"):
        return
    # A member for each role that somebody has in it.
    members = Membership.objects.filter(project=campaign.project, user__is_active=True)
    roles = members.order_by("role", "pk").distinct("role").select_related("user")
    for reader in (Actor(user=member.user) for member in roles):
        query, may = QueryDict(), rights_in(campaign.project, reader)
        context = partial(detail_context, campaign.pk, reader, query, None, may)
        ended_campaign(campaign.pk, rows, may, query, context).content()

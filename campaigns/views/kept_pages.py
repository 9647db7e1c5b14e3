"""Pages of what has ended: made once for all who may do the same, and kept for as long as no row
has changed that they show. Each process keeps what it showed; large pages are kept for all
processes too, and made before anybody asks (`workers/tasks/periodic.py`). What is kept is rendered
from the address alone, so it cannot name whoever asked first. It depends on no clock. The frame
around it, with the reader's name, projects and messages, is rendered each time. The page of a
campaign that has ended, for a reader, and for a worker that makes it before."""

import logging
import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.live.memory import Memory
from campaigns.models import Campaign, Project
from campaigns.permissions import Actor
from campaigns.queries.baselines import newest_baseline, own_baselines
from campaigns.queries.campaign_keys import (
    WORTH_ROWS,
    kept_content,
    key_of,
    newest_ended,
    readers_of,
    rows_of_campaign,
)
from campaigns.queries.target_matrix import relative_column
from campaigns.services.kept_pages import keep_page
from campaigns.views.access import find, rights_in
from campaigns.views.campaign_page import campaign_context, disturbance
from campaigns.views.live_pages import PLACE, with_own_token

_LAYOUT, _SPLIT = "kept_parts.html", "<!-- next part -->"
# The blocks of kept_parts.html, in its order.
_BLOCKS = ("title", "styles", "scripts", "breadcrumb", "heading", "facts", "actions", "content")
_BLOCKS += ("footer",)
NOTHING = _SPLIT * (len(_BLOCKS) - 1)  # a page whose blocks are all empty
# Compressed, a page of 400 kB is 30 kB.
_KEPT: Memory[bytes] = Memory(200)


@dataclass(frozen=True, slots=True)
class CacheablePage:
    """A page of what has ended, before it is made."""

    template: str
    path: str
    asked: QueryDict
    # All that decides what is shown at this address, rights and rows (`row_versions`).
    seen: Hashable
    context: Callable[[], dict[str, Any]]
    campaign: int | None = None  # all processes share it as a page of this campaign

    def content(self) -> bytes:
        """Its blocks, compressed: as this process kept them, or any, or made now."""
        key = (self.template, self.path, self.asked.urlencode(), self.seen)
        return _KEPT.get(key, lambda: self._shared(key_of(PLACE, *key)))

    def _shared(self, key: str) -> bytes:
        if self.campaign is None:
            return self._render()
        if kept := kept_content(self.campaign, key):
            return kept
        made = self._render()
        keep_page(campaign=self.campaign, key=key, content=made)
        return made

    def _render(self) -> bytes:
        asked = HttpRequest()
        asked.path, asked.GET = self.path, self.asked
        # Tables link to runs for whoever is signed in, as all are who see these pages.
        own = {"layout": _LAYOUT, "csrf_token": PLACE, "user": {"is_authenticated": True}}
        page = render_to_string(self.template, self.context() | own, asked)
        return zlib.compress(page.encode())


def kept_page(request: HttpRequest, project: Project, page: CacheablePage) -> HttpResponse:
    text = zlib.decompress(page.content()).decode()
    parts = _parts(with_own_token(text, request))
    return render(request, "kept_page.html", {"project": project, "parts": parts})


def _parts(kept: str) -> dict[str, SafeString]:
    """What templates rendered, and escaped, when it was kept."""
    texts = kept.split(_SPLIT)
    return {name: SafeString(text.strip()) for name, text in zip(_BLOCKS, texts, strict=True)}


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
        **disturbance(shown, may),
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

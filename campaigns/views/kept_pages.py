"""Pages of what has ended: made once for all who may do the same, and kept for as long as no row
has changed that they show. Each process keeps what it showed; large pages are kept for all
processes too, and made before anybody asks (`workers/tasks/periodic.py`).

What is kept is rendered from the address alone, so it cannot name whoever asked first. It depends
on no clock. The frame around it, with the reader's name, projects and messages, is rendered each
time.
"""

import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from campaigns.live.memory import Memory
from campaigns.models import Project
from campaigns.queries.kept_pages import kept_content, key_of
from campaigns.services.kept_pages import keep_page
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
            return self._made()
        if kept := kept_content(self.campaign, key):
            return kept
        made = self._made()
        keep_page(campaign=self.campaign, key=key, content=made)
        return made

    def _made(self) -> bytes:
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

"""Pages of what has ended: made once for all who may do the same, and kept in this process for as
long as no row has changed that they show.

What is kept is rendered from the address alone, so it cannot name whoever asked first. The frame
around it, with the reader's name, projects and messages, is rendered each time.
"""

import zlib
from collections.abc import Callable, Hashable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from campaigns.live.memory import Memory
from campaigns.models import Project
from campaigns.views.live_pages import PLACE, with_own_token

_LAYOUT, _SPLIT = "kept_parts.html", "<!-- next part -->"
# The blocks of kept_parts.html, in its order.
_BLOCKS = ("title", "styles", "scripts", "breadcrumb", "heading", "facts", "actions", "content")
_BLOCKS += ("footer",)
NOTHING = _SPLIT * (len(_BLOCKS) - 1)  # a page whose blocks are all empty
# Compressed, a page of 400 kB is 30 kB.
_KEPT: Memory[bytes] = Memory(200)


def kept_page(
    request: HttpRequest,
    project: Project,
    template: str,
    context: Callable[[], dict[str, Any]],
    seen: Hashable,
) -> HttpResponse:
    """`seen`: all that decides what is shown at this address, rights and rows (`row_versions`).

    Pages also say how many days a certificate has left, so none is kept longer than an hour.
    """
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    key = (template, request.get_full_path(), hour, seen)
    kept = zlib.decompress(_KEPT.get(key, lambda: _rendered(template, context(), request)))
    parts = _parts(with_own_token(kept.decode(), request))
    return render(request, "kept_page.html", {"project": project, "parts": parts})


def _rendered(template: str, context: dict[str, Any], request: HttpRequest) -> bytes:
    asked = HttpRequest()
    asked.path, asked.GET = request.path, request.GET
    # Tables link to runs for whoever is signed in, as all are who see these pages.
    own = {"layout": _LAYOUT, "csrf_token": PLACE, "user": {"is_authenticated": True}}
    return zlib.compress(render_to_string(template, context | own, asked).encode())


def _parts(kept: str) -> dict[str, SafeString]:
    """What templates rendered, and escaped, when it was kept."""
    texts = kept.split(_SPLIT)
    return {name: SafeString(text.strip()) for name, text in zip(_BLOCKS, texts, strict=True)}

"""`page_notes()`: the notes of the campaign, run or test whose page this is. They stand in the
frame around the page, which is rendered for each reader; so no page that is kept for several
readers has them."""

from functools import lru_cache
from typing import Any

import nh3
from django.urls import reverse
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt

from campaigns.core.permissions import Actor
from campaigns.models import Note
from campaigns.notes.services import LONGEST_NOTE, subject_of

# Name of a page → what it is of.
_NOUNS = {"campaign-detail": "campaign", "run-detail": "run", "history-test": "test"}


@pass_context
def page_notes(context: Context) -> dict[str, Any]:
    request, may = context.get("request"), context.get("may") or {}
    notes, noun = _notes(context), _noun(request)
    for note in notes:
        note.html = SafeString(html_of(note.text))
        is_own = bool(noun) and note.author_id == request.user.pk
        note.is_mine = may.get("edit") and (is_own or may.get("administer"))
    made: dict[str, Any] = {"rows": notes, "longest": LONGEST_NOTE, "shows_author": bool(noun)}
    if noun and may.get("edit"):
        made["add_url"] = reverse(f"{noun}-note", args=[request.resolver_match.kwargs[noun]])
    return made


def _noun(request: Any) -> str:
    """campaign, run or test; "" of other pages, and of what a share link shows."""
    match = getattr(request, "resolver_match", None)
    return _NOUNS.get(match.url_name, "") if match else ""


def _notes(context: Context) -> list[Note]:
    request, link = context.get("request"), context.get("link")
    noun = _noun(request)
    if not (noun or (link and context.get("shared"))):
        return []
    return list(_rows(context, noun))


def _rows(context: Context, noun: str):
    if not noun:
        return Note.objects.visible_to(Actor(share=context["link"]))
    rows = Note.objects.visible_to(Actor(user=context["request"].user)).select_related("author")
    if noun == "test":
        return rows.filter(**subject_of(context["test"]))
    return rows.filter(**{noun: context["request"].resolver_match.kwargs[noun]})


# --- Markdown of people as HTML ------------------------------------------------------------------
_TAGS = {"p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"}
_TAGS |= {"h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
_READER = MarkdownIt("commonmark", {"html": False, "breaks": True})
_READER.enable(["table", "strikethrough"]).disable("image")
_TOP = 2  # the level of the heading above notes


@lru_cache(maxsize=1000)
def html_of(text: str) -> str:
    """Safe to show: no HTML of theirs, no images, nothing that loads or runs anything."""
    tokens = _READER.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(_TOP + int(token.tag[1]), 6)}"
    html = _READER.renderer.render(tokens, _READER.options, {})
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )

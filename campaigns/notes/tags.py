"""{% page_notes %} and {% notes_link %}: the notes of the campaign, run or test whose page this is.
They stand in the frame around the page, which is rendered for each reader; so no page that is kept
for several readers has them."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.models import Note
from campaigns.notes.markdown import html_of
from campaigns.permissions import Actor
from campaigns.services.notes import LONGEST_NOTE, subject_of

register = template.Library()
# Name of a page → what it is of.
_NOUNS = {"campaign-detail": "campaign", "run-detail": "run", "history-test": "test"}


@register.inclusion_tag("notes/_notes.html", takes_context=True)
def page_notes(context) -> dict[str, Any]:
    request, may = context.get("request"), context.get("may") or {}
    notes, noun = _notes(context), _noun(request)
    for note in notes:
        note.html = SafeString(html_of(note.text))
        is_own = bool(noun) and note.author_id == request.user.pk
        note.is_mine = may.get("edit") and (is_own or may.get("administer"))
    found: dict[str, Any] = {"notes": notes, "longest": LONGEST_NOTE}
    if noun and may.get("edit"):
        token = context.get("csrf_token")
        number = request.resolver_match.kwargs[noun]
        found |= {"add_url": reverse(f"{noun}-note", args=[number]), "csrf_token": token}
    return found | {"shows_author": bool(noun)}


@register.inclusion_tag("notes/_link.html", takes_context=True)
def notes_link(context) -> dict[str, Any]:
    return {"n": len(_notes(context))}


def _noun(request: Any) -> str:
    """campaign, run or test; "" of other pages, and of what a share link shows."""
    match = getattr(request, "resolver_match", None)
    return _NOUNS.get(match.url_name, "") if match else ""


def _notes(context) -> list[Note]:
    """Read once for a page."""
    request, link = context.get("request"), context.get("link")
    noun = _noun(request)
    if not (noun or (link and context.get("shared"))):
        return []
    if not hasattr(request, "page_notes"):
        request.page_notes = list(_rows(context, noun))
    return request.page_notes


def _rows(context, noun: str):
    if not noun:
        return Note.objects.visible_to(Actor(share=context["link"]))
    rows = Note.objects.visible_to(Actor(user=context["request"].user)).select_related("author")
    if noun == "test":
        return rows.filter(**subject_of(context["test"]))
    return rows.filter(**{noun: context["request"].resolver_match.kwargs[noun]})

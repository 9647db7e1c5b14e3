"""What every template may write without loading it (the settings do): glyphs, badges, terms,
counts. {% glyph "warn" %}, {% badge run %}, {% term "block" "blocks" %}, {{ ground|with_terms }},
{{ 1|counted:"requests" }}, {{ 2610|sized }}, {{ run.created_by|person }}"""

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from campaigns.domain.presentation.badges import (
    GLYPHS,
    Answers,
    Badge,
    badge_of,
    glyph_of,
    run_badge,
)
from campaigns.domain.presentation.glossary import Term, split_at_terms, term_of
from campaigns.domain.units import counted, size
from campaigns.models import Run

register = template.Library()
register.filter("counted", counted)
register.filter("sized", size)


@register.filter
def person(user: Any) -> str:
    """The display name, or the user name; "" of nobody, such as a deleted account."""
    return (user.get_full_name() or user.get_username()) if user else ""


@register.simple_tag
def glyph(name: str) -> str:
    """The glyph of that name, or of that state, outcome, answer or level of a message."""
    return _drawn(glyph_of(name))


@cache
def _drawn(name: str) -> str:
    return render_to_string("parts/glyph.html", {"name": name, "strokes": GLYPHS[name]})


@register.simple_tag
def badge(what: Any, word: Any = "") -> str:
    """The badge of a run, of a state (with another word, where one is given), or as it is."""
    if isinstance(what, Run):
        return _badge(run_badge(what.state, str(what.outcome or ""), _answers(what)))
    return _badge(what if isinstance(what, Badge) else badge_of(what, str(word or "")))


@lru_cache(500)
def _badge(shown: Badge) -> str:
    """Rows of a list mostly have the same few."""
    return render_to_string("parts/badge.html", {"badge": shown})


def _answers(run: Run) -> Answers:
    return Answers(
        trust=run.trust or "",
        target_state=run.target_state or "",
        thresholds=run.threshold_state or "",
        finds_limit=run.has_found_limit,
    )


@register.simple_tag
def term(name: str, text: str = "") -> SafeString:
    """A link to the glossary's entry. `text` is what the page says, if not the term's name."""
    return _linked(term_of(name), text or name)


@register.filter
def with_terms(text: str) -> SafeString:
    """The text, with links to the glossary where terms that need an explanation occur first."""
    return format_html_join(
        "",
        "{}",
        (
            (conditional_escape(piece) if found is None else _linked(found, piece),)
            for piece, found in split_at_terms(str(text or ""))
        ),
    )


def _linked(found: Term, text: str) -> SafeString:
    address = reverse("glossary")
    return format_html(
        '<a class="term" href="{}#{}" title="{}">{}</a>', address, found.anchor, found.meaning, text
    )


@register.filter
def when(instant: datetime | None) -> SafeString | str:
    """14:02 of today, Yesterday 14:02, 28 Nov 14:02, 28 Nov 2025, as the reader's clock has it."""
    if instant is None:
        return ""
    local, now = timezone.localtime(instant), timezone.localtime()
    day, words = f"{local.day} {local:%b}", f"{local:%H:%M}"
    if local.date() == now.date() - timedelta(days=1):
        words = f"Yesterday {words}"
    elif local.year != now.year:
        words = f"{day} {local.year}"
    elif local.date() != now.date():
        words = f"{day} {words}"
    stamp = f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', stamp, f"{day} {local:%Y %H:%M:%S}", words
    )

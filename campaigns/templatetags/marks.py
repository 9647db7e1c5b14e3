"""The small marks of every page: {% glyph "warn" %}, {% badge run %}. Loaded by the settings."""

from functools import cache
from typing import Any

from django import template
from django.template.loader import render_to_string

from campaigns.domain.shown.badges import GLYPHS, Badge, badge_of, glyph_of, run_badge
from campaigns.models import Run

register = template.Library()


@register.simple_tag
def glyph(name: str) -> str:
    """The glyph of that name, or of that state, outcome, validity or level of a message."""
    return _drawn(glyph_of(name))


@cache
def _drawn(name: str) -> str:
    return render_to_string("parts/glyph.html", {"name": name, "strokes": GLYPHS[name]})


@register.inclusion_tag("parts/badge.html")
def badge(what: Any, word: Any = "") -> dict[str, Badge]:
    """The badge of a run, of a state (with another word, where one is given), or as it is."""
    if isinstance(what, Run):
        return {"badge": run_badge(what.state, what.outcome or "", what.validity or "")}
    return {"badge": what if isinstance(what, Badge) else badge_of(what, str(word or ""))}

"""Words and values that templates make of what views give them. And what `benchsite/templates.py`
lets them ask for, so that no other part of the site knows of it: `page_notes()`, the notes of the
campaign, run or test whose page this is, in the frame around the page, so that no page that is kept
for several readers has them; `get_notified(campaign)`, who will be notified of its end."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import nh3
from django.contrib.staticfiles import finders
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt

from campaigns.core.permissions import Actor
from campaigns.domain import units
from campaigns.domain.plan.target import SCHEMES
from campaigns.domain.presentation.badges import Answers, Badge, badge_of, run_badge
from campaigns.domain.presentation.sentences import MODES
from campaigns.domain.presentation.tables import Cell, Column, Row
from campaigns.domain.units import and_joined
from campaigns.models import Campaign, NamedTest, Note, Run, without_references
from campaigns.notes.services import LONGEST_NOTE, subject_of
from campaigns.notifications.domain import EventKind
from campaigns.notifications.models import NotificationChannel

_PAGES = {"run": "run-detail", "campaign": "campaign-detail"}
_IMPORT = re.compile(r"""\b(?:import|from)["'](\.[^"']+)["'];""")


# --- people, states, times -----------------------------------------------------------------------
def person(user: Any) -> str:
    """The display name, or the user name; "" of nobody, such as a deleted account."""
    return (user.get_full_name() or user.get_username()) if user else ""


def badge(what: Any, word: Any = "") -> Badge:
    """Of a run, of a state (with another word, where one is given), or as it is."""
    if isinstance(what, Run):
        answers = Answers(
            trust=what.trust or "",
            target_state=what.target_state or "",
            thresholds=what.threshold_state or "",
            finds_limit=what.has_found_limit,
        )
        return run_badge(what.state, str(what.outcome or ""), answers)
    return what if isinstance(what, Badge) else badge_of(what, str(word or ""))


def moment(instant: datetime) -> tuple[str, str, str]:
    """In UTC for programs; whole; and in short as the reader's clock has it: 14:02 of today,
    Yesterday 14:02, 28 Nov 14:02, 28 Nov 2025."""
    local, now = timezone.localtime(instant), timezone.localtime()
    day, words = f"{local.day} {local:%b}", f"{local:%H:%M}"
    if local.date() == now.date() - timedelta(days=1):
        words = f"Yesterday {words}"
    elif local.year != now.year:
        words = f"{day} {local.year}"
    elif local.date() != now.date():
        words = f"{day} {words}"
    stamp = f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return stamp, f"{day} {local:%Y %H:%M:%S}", words


def clock_words(seconds: float | None) -> str:
    """A duration: 46 min 40 s, 1 h 3 min, 12 s."""
    if seconds is None:
        return units.DASH
    whole = max(0, ceil(seconds))
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {whole % 60} s" if whole % 60 else f"{minutes} min"
    return f"{whole} s"


def ends_at(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def took(campaign: Campaign) -> str:
    if not (campaign.started_at and campaign.finished_at):
        return units.DASH
    return clock_words((campaign.finished_at - campaign.started_at).total_seconds())


def signed_second(second: int | None) -> str:
    """27 s, −10 s, 13:24; "" where it is not known."""
    return "" if second is None else units.second_text(second)


def in_ms(value_us: float | None) -> str:
    """Microseconds as a figure in milliseconds, for a column whose head names the unit."""
    return units.figure(None if value_us is None else value_us / 1000)


def percent_words(share: float) -> str:
    return f"{share * 100:g}\u202f%"


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:s|ms|min|h)\b|%)")
_LONG_WORD = re.compile(r"(\w{40})\w+")


def headline_text(text: str) -> str:
    """Without a break between a number and its unit, and with the beginning of a very long word."""
    return _LONG_WORD.sub(r"\1…", _BEFORE_UNIT.sub(units.THIN, text))


# --- cells ---------------------------------------------------------------------------------------
def cell_look(cell: Cell | None, css: str) -> tuple[str, str, str]:
    """Its classes, why it is empty or weak, and its text: "–" where there is none."""
    if not cell:
        return css, "", units.DASH
    text = cell.text or units.DASH
    if cell.weak:
        css, text = f"{css} weak".lstrip(), f"~{text}"
    return f"{css} tone-{cell.tone}".lstrip() if cell.tone else css, cell.why, text


def cell_looks(
    cells: Iterable[Cell | None], columns: Sequence[Column] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Those of a row. Without columns all are figures."""
    if columns is None:
        return (cell_look(cell, "num") for cell in cells)
    looks = ("named" if column.is_name else "" if column.is_text else "num" for column in columns)
    return map(cell_look, cells, looks)


# --- names ---------------------------------------------------------------------------------------
def mode_words(mode: str) -> str:
    return MODES.get(mode, mode)


def target_names(tests: Iterable[NamedTest]) -> str:
    main_tests, _ = without_references(tests)
    return _first_names(test.target_name for test in main_tests) or units.DASH


def plan_names(tests: Iterable[NamedTest]) -> str:
    main_tests, _ = without_references(tests)
    return _first_names(test.version_name for test in main_tests)


def _first_names(every: Iterable[str]) -> str:
    """shop, cart, search and 17 more"""
    names = list(dict.fromkeys(every))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def without_scheme(label: str) -> str:
    """The arm's name after its scheme, which is shown beside it in its colour."""
    head, _, rest = label.partition(" ")
    return rest if head.lower() in SCHEMES else label


def without_query(path: str) -> str:
    """A path as strangers may see it: what follows the question mark may be a secret."""
    return path.partition("?")[0]


# --- addresses -----------------------------------------------------------------------------------
def page_of(row: Row) -> str:
    """The address of what a row is about, or "" where it has no page of its own."""
    for noun, name in _PAGES.items():
        if noun in row.link:
            return reverse(name, args=[row.link[noun]])
    return ""


def sort_order(request: HttpRequest, ordering: str, key: str) -> tuple[str, str]:
    """How a list is sorted by this column ("ascending", "descending" or ""), and the query of a
    click on its head: it sorts by this column, another turns it round."""
    is_sorted = ordering.removeprefix("-") == key
    falls = is_sorted and ordering.startswith("-")
    query = request.GET.copy()
    for old in ("page", "sort"):
        query.pop(old, None)
    query["ordering"] = key if falls or not is_sorted else f"-{key}"
    return ("descending" if falls else "ascending") if is_sorted else "", query.urlencode()


def page_address(request: HttpRequest, key: str, name: str) -> str:
    """Of the page of that name. `key`: its parameter, and where it is not "page" the part of the
    page that has these rows."""
    query = request.GET.copy()
    query[key] = name
    return f"?{query.urlencode()}{'' if key == 'page' else f'#{key}'}"


@cache
def imports_of(path: str) -> tuple[str, ...]:
    """The static files that a bundle imports, and that these import; each once."""
    every = dict.fromkeys([path])
    waiting = [path]
    while waiting:
        new = [each for each in _imported_by(waiting.pop(0)) if each not in every]
        every |= dict.fromkeys(new)
        waiting += new
    return tuple(every)[1:]


def _imported_by(path: str) -> Iterator[str]:
    source = finders.find(path)
    text = Path(source).read_text() if source else ""
    return (normpath(join(dirname(path), each)) for each in _IMPORT.findall(text))


# Name of a page → what it is of.
_NOUNS = {"campaign-detail": "campaign", "run-detail": "run", "history-test": "test"}


@pass_context
def page_notes(context: Context) -> dict[str, Any]:
    request, may = context.get("request"), context.get("may") or {}
    match, notes = getattr(request, "resolver_match", None), []
    # campaign, run or test; "" of other pages, and of what a share link shows.
    noun = _NOUNS.get(match.url_name, "") if match else ""
    if noun or (context.get("link") and context.get("shared")):
        notes = list(_rows(context, noun))
    for note in notes:
        note.html = SafeString(html_of(note.text))
        is_own = bool(noun) and note.author_id == request.user.pk
        note.is_mine = may.get("edit") and (is_own or may.get("administer"))
    answer: dict[str, Any] = {"rows": notes, "longest": LONGEST_NOTE, "shows_author": bool(noun)}
    if noun and may.get("edit"):
        answer["add_url"] = reverse(f"{noun}-note", args=[request.resolver_match.kwargs[noun]])
    return answer


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


_MOST_NAMED = 2


@pass_context
def get_notified(context: Context, campaign: Campaign) -> dict[str, Any]:
    """What other readers may get as well, an open page's update among it, has nobody's channels:
    the page keeps what it has until the end."""
    user = getattr(context.get("request"), "user", None)
    is_own = user is not None and user.is_authenticated and "layout" not in context
    if not campaign.is_under_way or not is_own or context.get("shared"):
        return {"is_live": campaign.is_under_way}
    mine = Q(user=user) if user.pk == campaign.created_by_id else Q(pk=None)
    channels = NotificationChannel.objects.filter(
        Q(project=campaign.project_id) | mine, kinds__contains=[EventKind.ENDED], paused_at=None
    )
    labels = list(channels.order_by("pk").values_list("label", flat=True))
    may = context.get("may") or {}
    more = len(labels) - _MOST_NAMED
    labels_shown = [*labels[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return {
        "is_live": True,
        "is_shown": True,
        "project": campaign.project_id,
        "may_edit": may.get("edit"),
        "has_channel": bool(labels),
        "where": and_joined(labels_shown) if labels and may.get("edit") else "",
    }

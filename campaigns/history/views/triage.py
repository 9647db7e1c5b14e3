"""Triage of changes: the block of a project's overview and of a test's page, all entries, and what
people say of one."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.campaigns.queries.references import confirm_query
from campaigns.core.access import signed_in_get, signed_in_post
from campaigns.core.pages import page_of, sorted_by
from campaigns.core.permissions import Action, Actor, may
from campaigns.core.tables import text_file
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.presentation.history_words import (
    day,
    entry_sentence,
    evidence,
    levels,
    moved_beside,
)
from campaigns.domain.presentation.intervals import change_interval
from campaigns.domain.typed_text import version_token
from campaigns.domain.units import change_size
from campaigns.history.exports import csv_of_triage
from campaigns.history.models import HistoryKey
from campaigns.history.queries.baselines import count_entries, entries_of, entries_of_test, triaged
from campaigns.history.queries.history import arm_label_of
from campaigns.history.services import content_of, edit_entry
from campaigns.items.views.lists import PAGE_SIZE
from campaigns.models import Project, TriageChange, TriageEntry

_AT_ONCE = 5  # open entries of an overview; the others are behind a disclosure
_TYPED = "triage_typed"  # in the session: what was refused, for the page that comes next
_MOST_TYPED = 20_000  # characters of each field


@signed_in_get(Project)
def triage_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    is_acknowledged = _is_asked(request.GET)
    may_edit = may(actor, Action.EDIT, project)
    entries = entries_of(actor, project=project, acknowledged=is_acknowledged)
    page = page_of(
        sorted_by(entries, F("newest_at"), falls=True), PAGE_SIZE, request.GET.get("page", "")
    )
    n_open, n_acknowledged = count_entries(actor, project)
    context = {
        "project": project,
        "page": page,
        "rows": [_row(entry, may_edit) for entry in page],
        # (word, how many, query, whether it is on)
        "switches": [
            ("all", n_open + n_acknowledged, "", is_acknowledged is None),
            ("open", n_open, "acknowledged=false", is_acknowledged is False),
            ("acknowledged", n_acknowledged, "acknowledged=true", is_acknowledged is True),
        ],
        "query": request.GET.urlencode(),
    }
    return render(request, "history/changes.html", context)


@signed_in_get(Project)
def triage_csv(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    entries = entries_of(actor, project=project, acknowledged=_is_asked(request.GET))
    return text_file(f"changes-of-project-{project.pk}.csv", csv_of_triage(entries))


def _is_asked(params: Mapping[str, str]) -> bool | None:
    return {"true": True, "false": False}.get(params.get("acknowledged", ""))


@signed_in_post(triaged().select_related("project"))
def triage_edit(request: HttpRequest, actor: Actor, entry: TriageEntry) -> HttpResponse:
    """Keep what is said of the entry, and go back to the test on whose page it was said."""
    values = {name: request.POST.get(name) for name in ("note", "link", "opened")}
    is_acknowledged = "acknowledged" in request.POST
    try:
        edit_entry(by=actor, entry=entry, acknowledged=is_acknowledged, **values)
    except (InvalidFields, Refused) as fault:
        sentences = fault.errors.values() if isinstance(fault, InvalidFields) else [str(fault)]
        messages.error(request, " ".join(sentences))
        texts = {name: (values[name] or "")[:_MOST_TYPED] for name in ("note", "link")}
        request.session[_TYPED] = {"entry": entry.pk, "acknowledged": is_acknowledged, **texts}
    else:
        messages.success(request, "Acknowledged." if is_acknowledged else "Saved.")
    row = entries_of(actor).get(pk=entry.pk)
    # To the top of the page, where the message is: a browser that goes to the block hides it.
    url = _url(row, request.POST.get("test", "")).partition("#")[0]
    return redirect(url or reverse("triage-list", args=[entry.project_id]))


def take_typed(request: HttpRequest) -> dict[str, Any]:
    """What was refused just now, so that nothing has to be typed twice; {} if nothing was."""
    return request.session.pop(_TYPED, {})


def overview_block(actor: Actor, project: Project) -> dict[str, Any]:
    """What is open, and how many entries are acknowledged."""
    may_edit = may(actor, Action.EDIT, project)
    rows = [_row(each, may_edit) for each in entries_of(actor, project=project, acknowledged=False)]
    _, n_acknowledged = count_entries(actor, project)
    return {"rows": rows[:_AT_ONCE], "more": rows[_AT_ONCE:], "n_acknowledged": n_acknowledged}


def block_of_test(
    actor: Actor, project: Project, key: HistoryKey, place: str, typed: Mapping[str, Any]
) -> dict[str, Any]:
    """The entry that is asked for, or the newest one of this test; {} if it has none. `typed`: as
    take_typed gives it."""
    entries = list(entries_of_test(actor, key))
    if not entries:
        return {}
    entry = next((each for each in entries if str(each.pk) == place), entries[0])
    changes, may_edit = entry.changes.all(), may(actor, Action.EDIT, project)
    own = next(each for each in changes if HistoryKey.read(each) == key)
    reference, content = moved_beside(changes), content_of(entry)
    return {
        "row": _row(entry, may_edit),
        "opened": version_token(content),
        "form": typed if typed.get("entry") == entry.pk else content,
        "own": _change_row(own),
        "since": day(localtime(own.since_at)),
        "began": " to ".join(
            f"{localtime(at):%-d %b %H:%M}" for at in (own.after_at, own.until_at)
        ),
        "evidence": evidence(own),
        "causes": own.causes,
        "reference": change_size(reference) if reference else "",
        "together": [_change_row(each) for each in changes] if len(changes) > 1 else [],
        "others": [(each, day(localtime(each.newest_at))) for each in entries if each != entry],
        "may_edit": may_edit,
    }


def _row(entry: TriageEntry, may_edit: bool) -> dict[str, Any]:
    """Its sentence, its tests with the largest change first, and what is known about it."""
    changes = list(entry.changes.all())
    return {
        "entry": entry,
        "sentence": entry_sentence(changes, entry.target.name),
        "tests": [_change_row(each) for each in changes[:3]],
        "n_more": len(changes[3:]),
        "url": _url(entry),
        "can_acknowledge": may_edit and entry.acknowledged_at is None,
        "confirm_url": _confirm_url(entry) if may_edit else "",
    }


def _change_row(change: TriageChange) -> dict[str, Any]:
    return {
        "change": change,
        "scheme": change.endpoint.scheme,
        "arm": arm_label_of(change.endpoint, change.connection_mode, change.injectors),
        "levels": levels(change.before_us, change.after_us),
        "size": change_size(change.ratio),
        "interval": change_interval(change.ratio, change.low, change.high),
        "url": _page_of(change),
    }


def _page_of(change: TriageChange) -> str:
    """The test's history with this change chosen; "" if none of its campaigns is left."""
    if not change.newest_test:
        return ""
    return f"{reverse('history-test', args=[change.newest_test])}?change={change.entry_id}#triage"


def _url(entry: TriageEntry, test: str = "") -> str:
    """Of this test's page, or else of that with the largest change; "" if all are gone."""
    pages = {str(each.newest_test): _page_of(each) for each in entry.changes.all()}
    return pages.get(test) or next(filter(None, pages.values()), "")


def _confirm_url(entry: TriageEntry) -> str:
    """Of a new campaign with both sides of every change; "" if nothing is left of one side."""
    pairs = [
        (each.old_test, each.newest_test)
        for each in entry.changes.all()
        if each.old_test and each.newest_test
    ]
    path = reverse("campaign-new", args=[entry.project_id])
    return f"{path}?confirm={confirm_query(pairs)}" if pairs else ""

"""What lists of campaigns, plans, targets and projects share: rename, tag, archive, delete, undo,
and the trash."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.db.models import F, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.campaign_list import campaign_views, list_campaigns, makers_of
from campaigns.campaigns.services.campaigns import look_at_campaigns
from campaigns.compare.queries.columns import LETTERS
from campaigns.core.access import (
    Edit,
    actor_of,
    answers_refusals,
    find,
    labels_of,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_post,
)
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Actor, Role, require
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import tags_in
from campaigns.domain.units import counted
from campaigns.items import services
from campaigns.items.forms import ItemForm
from campaigns.items.queries import items as queries
from campaigns.items.queries.filters import (
    CampaignFilterSet,
    ItemFilterSet,
    PlanFilterSet,
    ProjectFilterSet,
    TargetFilterSet,
)
from campaigns.items.views import lists
from campaigns.models import Campaign, Project, SavedPlan, Target
from campaigns.probes.queries.probes import list_targets
from campaigns.projects.models import Item

TRASH = "trash"
UNDO = "undo"  # in the session: what the list that follows can undo
VIEW_WORDS = {
    "": "All", "look": "Needs review", "mine": "Mine", "running": "Running", "drafts": "Drafts",
    queries.ARCHIVED: "Archived", TRASH: "Trash",
}  # fmt: skip
# In the strip above its list; the view is for what it has no room for.
_WITHOUT_TAB = {"running"}


@dataclass(frozen=True)
class ItemKind:
    """A kind of items: its words and its list. `finds`: what the search looks into."""

    model: type[Item]
    noun: str
    filters: type[ItemFilterSet]
    rows: Callable[[Actor], QuerySet]
    ordering: str = "name"
    finds: str = "Search names and tags"
    views: Callable[[Actor], Mapping[str, Q]] = lambda actor: queries.ITEM_VIEWS
    chips: Callable[[Project], list[lists.Chip]] = lambda project: []  # beside that of tags

    @property
    def nouns(self) -> str:
        return f"{self.noun}s"

    def list_url(self, project: Project | None) -> str:
        return reverse(f"{self.noun}-list", args=[project.pk] if project else [])

    def bulk_url(self, project: Project | None) -> str:
        return reverse(f"{self.noun}-bulk", args=[project.pk] if project else [])

    def page_url(self, item: Item) -> str:
        name = "project-members" if self.noun == "project" else f"{self.noun}-detail"
        return reverse(name, args=[item.pk])

    def of_project(self, actor: Actor, project: Project | None) -> QuerySet:
        rows = self.rows(actor)
        return rows.filter(project=project) if project else rows


def _view_asked(request: HttpRequest, views: Mapping[str, Q]) -> str:
    """Earlier releases had drafts among the others."""
    view = request.GET.get("view", "drafts" if request.GET.get("state") == "draft" else "")
    return view if view in views else ""


def _campaign_chips(project: Project) -> list[lists.Chip]:
    targets = project.targets.filter(is_kept=True, archived_at=None).order_by("name")
    makers = [(name, name) for name in makers_of(project)]
    return [
        lists.Chip("target", "Target", list(targets.values_list("pk", "name"))),
        *lists.result_chips(),
        lists.since_chip(),
        lists.Chip("by", "By", makers),
    ]


KINDS = {
    kind.noun: kind
    for kind in (
        ItemKind(
            Campaign,
            "campaign",
            CampaignFilterSet,
            list_campaigns,
            ordering="-active",
            finds="Search names, targets, tags",
            views=campaign_views,
            chips=_campaign_chips,
        ),
        ItemKind(SavedPlan, "plan", PlanFilterSet, queries.list_plans),
        ItemKind(
            Target, "target", TargetFilterSet, list_targets, finds="Search names, addresses, tags"
        ),
        ItemKind(Project, "project", ProjectFilterSet, queries.list_projects),
    )
}


def items_context(
    request: HttpRequest, noun: str, project: Project | None = None
) -> dict[str, Any]:
    """What every list shows: its page of rows, views with counts, filters and tags."""
    kind, actor = KINDS[noun], actor_of(request)
    shelf = _shelf(request, kind, project)
    is_in_view, n_rows = shelf["is_in_view"], shelf["counts"][shelf["view"]]
    tags = queries.tag_counts(shelf["everything"].filter(is_in_view))
    chips = kind.chips(project) if project else []
    chips.append(lists.Chip("tag", "Tag", [(tag, f"{tag} ({n})") for tag, n in tags]))
    rows = kind.of_project(actor, project).filter(is_in_view)
    how = {"nouns": kind.nouns, "finds": kind.finds, "ordering": kind.ordering}
    return {
        **lists.list_context(request, kind.filters, rows, chips, n_rows=n_rows, **how),
        **shelf,
        "tags": tags,
    }


def trash_list(request: HttpRequest, noun: str, project: Project | None = None) -> HttpResponse:
    """What was deleted lately, the latest first, to be restored or deleted forever."""
    kind = KINDS[noun]
    shelf = _shelf(request, kind, project)
    rows = sorted_by(shelf["trash"], F("deleted_at"), falls=True)
    finds = "Search names and tags"
    context = (
        lists.list_context(request, kind.filters, rows, [], nouns=kind.nouns, finds=finds) | shelf
    )
    may = {} if project else {"may": {"edit": True}}
    return render_page(request, "items/trash.html", **context, **may)


def _shelf(request: HttpRequest, kind: ItemKind, project: Project | None) -> dict[str, Any]:
    """The views with how many rows are in each, and what can be undone."""
    actor = actor_of(request)
    everything = kind.model.objects.visible_to(actor)
    everything = everything.filter(project=project) if project else everything
    views = kind.views(actor)
    counts, view = queries.view_counts(everything, views), _view_asked(request, views)
    n_all = sum(counts.get(each, 0) for each in ("", "drafts", queries.ARCHIVED))
    trash = kind.model.objects.in_trash(actor)
    owner_filter = {"memberships__user": actor.user, "memberships__role": Role.OWNER}
    trash = trash.filter(project=project) if project else trash.filter(**owner_filter)
    counts[TRASH] = trash.count()
    if request.GET.get("view") == TRASH:
        view = TRASH
    return {
        "project": project,
        "kind": kind,
        "view": view,
        "is_in_view": views.get(view),
        "everything": everything,
        "trash": trash,
        "counts": counts,
        "n_all": n_all + counts[TRASH],
        "views": [
            (each, VIEW_WORDS[each], n)
            for each, n in counts.items()
            if each == view or (each not in _WITHOUT_TAB and (n or each != TRASH))
        ],
        "unfiltered_url": f"?view={view}" if view else "?",
        "bulk_url": kind.bulk_url(project),
        "undo": request.session.pop(UNDO, None),
    }


@signed_in_form
def item_rename(request: HttpRequest, noun: str, **ids: int) -> HttpResponse:
    """The form of an item's name and tags."""
    kind, actor = KINDS[noun], actor_of(request)
    item = find(kind.model, actor, pk=ids[noun])
    require(actor, item.administered_by, item.home)
    edit = Edit(request, lambda: services.content_of(item), labels_of(ItemForm))
    form = ItemForm(request.POST) if request.method == "POST" else ItemForm.of(item)
    if new_item := saved_by(form, edit.save, service=services.describe_item, by=actor, item=item):
        messages.success(request, f"{new_item.name} saved.")
        return redirect(kind.page_url(new_item))
    rows = kind.model.objects.visible_to(actor)
    siblings = rows if isinstance(item, Project) else rows.filter(project=item.home)
    context = {
        "kind": kind,
        "item": find(kind.model, actor, pk=item.pk),
        "form": form,
        "edit": edit,
        "page_url": kind.page_url(item),
        "tags": queries.tag_counts(siblings),
    }
    return render_page(request, "items/rename.html", item.home, **context)


def _list_with_filters(request: HttpRequest, noun: str, project: int | None = None) -> str:
    project_row = find(Project, actor_of(request), pk=project) if project else None
    query = request.GET.urlencode()
    return KINDS[noun].list_url(project_row) + (f"?{query}" if query else "")


@signed_in_post
@answers_refusals(_list_with_filters)
def item_bulk(request: HttpRequest, noun: str, project: int | None = None) -> HttpResponse:
    """Do one thing to all ticked items, or undo what was done to some. Deleting forever first shows
    what would be lost."""
    kind, actor = KINDS[noun], actor_of(request)
    project_row = find(Project, actor, pk=project) if project else None
    if project_row:
        require(actor, kind.model.administered_by, project_row)
    what = request.POST.get("do", "")
    items = _items_of_form(request, kind, actor, project_row)
    for home in {item.home for item in items}:
        require(actor, kind.model.administered_by, home)
    if not items:
        raise Refused(f"Tick at least one {kind.noun} first.")
    if what == "compare" and kind.model is Campaign:
        # The comparison of these campaigns, the oldest of which is the baseline.
        if not 2 <= len(items) <= len(LETTERS):
            subject = "1 is" if len(items) == 1 else f"{len(items)} are"
            raise Refused(
                f"Tick two to {len(LETTERS)} campaigns to compare them; {subject} ticked."
            )
        pks = sorted(campaign.pk for campaign in items)
        columns = {letter: f"campaign-{pk}" for letter, pk in zip(LETTERS, pks, strict=False)}
        return redirect(f"{reverse('comparison')}?{urlencode(columns)}")
    if what == "purge" and "confirmed" not in request.POST:
        return _ask_before_purging(request, kind, project_row, items)
    is_action = what in _ACTIONS or what in _TAGGING
    if not is_action or (what == "look" and kind.model is not Campaign):
        raise Refused("Choose what to do with the ticked rows.")
    _do(request, kind, project_row, what, items)
    if "at" in request.POST:
        return redirect(kind.list_url(project_row))
    return redirect(_list_with_filters(request, noun, project))


def _items_of_form(
    request: HttpRequest, kind: ItemKind, actor: Actor, project: Project | None
) -> Sequence[Item]:
    """The ticked items, or all that the list's filters leave; 404 if the actor cannot see one. An
    undo names them by when it was done to them."""
    in_trash = request.GET.get("view") == TRASH
    rows = kind.model.objects
    rows = rows.in_trash(actor) if in_trash else rows.visible_to(actor)
    rows = rows.filter(project=project) if project else rows
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(request.POST.get("at", "")).astimezone(UTC)
        return list(rows.filter(**{"deleted_at" if in_trash else "archived_at": at}))
    if request.POST.get("all"):
        if not in_trash:
            views = kind.views(actor)
            rows = kind.of_project(actor, project).filter(views[_view_asked(request, views)])
        return list(lists.filter_rows(actor, kind.filters, rows, lists.asked_of(request)).qs)
    pks = {pk for pk in request.POST.getlist("pk") if pk.isdecimal()}
    items = list(rows.filter(pk__in=[pk for pk in pks if len(pk) < 19]))
    if len(items) < len(pks):
        raise Http404
    return items


def _ask_before_purging(
    request: HttpRequest, kind: ItemKind, project: Project | None, items: Sequence[Item]
) -> HttpResponse:
    why_not = {item: queries.refusal_to_delete(item) for item in items}
    free = [item for item, refusal in why_not.items() if not refusal]
    context = {
        "project": project,
        "kind": kind,
        "items": items,
        "free": free,
        "title": f"Delete {free[0].name if len(free) == 1 else counted(len(free), kind.nouns)}?",
        "refusals": list(filter(None, why_not.values())),
        "kept": [
            item
            for item, refusal in why_not.items()
            if refusal and not item.archived_at and not queries.refusal_to_archive(item)
        ],
        "losses": queries.losses_of(free) if free else [],
        "bulk_url": f"{kind.bulk_url(project)}?{request.GET.urlencode()}",
        "list_url": _list_with_filters(request, kind.noun, project and project.pk),
    }
    return render(request, "items/delete.html", context)


_ACTIONS = {
    "archive": (services.archive_items, "archived"),
    "restore": (services.restore_items, "restored"),
    "delete": (services.delete_items, "deleted"),
    "purge": (services.purge_items, "deleted forever"),
    "look": (lambda by, items: look_at_campaigns(by=by, campaigns=items), "reviewed"),
}
_TAGGING = {"tag": ("add", "tagged"), "untag": ("remove", "no longer tagged")}


def _do(
    request: HttpRequest, kind: ItemKind, project: Project | None, what: str, items: Sequence[Item]
) -> None:
    """Do it and say so. Where there is a way back, the list that follows has a button for it."""
    by, names = actor_of(request), counted(len(items), kind.nouns)
    if what in _ACTIONS:
        act, words = _ACTIONS[what]
        at = act(by=by, items=items)
        if at:
            url = f"{kind.bulk_url(project)}{f'?view={TRASH}' if what == 'delete' else ''}"
            request.session[UNDO] = {"words": f"{names} {words}.", "at": at.isoformat(), "url": url}
        else:
            messages.success(request, f"{names} {words}.")
        return
    try:
        tags = tags_in(request.POST.get("tag", ""))
    except InvalidFields as invalid:
        raise Refused(" ".join(invalid.errors.values())) from None
    if not tags:
        raise Refused("Enter the tag first.")
    change, words = _TAGGING[what]
    services.tag_items(by=by, items=items, **{change: tags})
    messages.success(request, f"{names} {words} {', '.join(tags)}.")


@signed_in_post
def item_archive(request: HttpRequest, noun: str, **ids: int) -> HttpResponse:
    kind, actor = KINDS[noun], actor_of(request)
    item = find(kind.model, actor, pk=ids[noun])
    try:
        _do(request, kind, item.home, "archive", [item])
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(kind.page_url(item))
    return redirect(kind.list_url(item.home))

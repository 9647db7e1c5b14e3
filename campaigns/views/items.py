"""What lists of campaigns, plans, targets and projects share: rename, tag, archive, delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import tags_in
from campaigns.domain.units import counted
from campaigns.forms.filters import ItemForm
from campaigns.models import Campaign, Project, SavedPlan, Target
from campaigns.models.projects import Item
from campaigns.permissions import Actor, require
from campaigns.queries.campaign_list import campaign_views, list_campaigns, makers_of
from campaigns.queries.columns import LETTERS
from campaigns.queries.filters import (
    CampaignFilterSet,
    ItemFilterSet,
    PlanFilterSet,
    ProjectFilterSet,
    TargetFilterSet,
)
from campaigns.queries.items import (
    ARCHIVED,
    ITEM_VIEWS,
    deletion_of,
    refusal_to_archive,
    refusal_to_delete,
    tag_counts,
    view_counts,
)
from campaigns.queries.plans import list_plans
from campaigns.queries.probes import list_targets
from campaigns.queries.projects import list_projects
from campaigns.services import items as services
from campaigns.services.campaigns import look_at_campaigns
from campaigns.views.access import (
    Edit,
    actor_of,
    answers_refusals,
    find,
    labels_of,
    saved_by,
    signed_in_form,
    signed_in_post,
)
from campaigns.views.lists import (
    Chip,
    asked_of,
    filter_rows,
    list_context,
    result_chips,
    since_chip,
)

VIEW_WORDS = {
    "": "All", "look": "Needs review", "mine": "Mine", "running": "Running", "drafts": "Drafts",
    ARCHIVED: "Archived",
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
    views: Callable[[Actor], Mapping[str, Q]] = lambda actor: ITEM_VIEWS
    chips: Callable[[Project], list[Chip]] = lambda project: []  # beside that of tags

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


def _campaign_chips(project: Project) -> list[Chip]:
    targets = project.targets.filter(is_kept=True, archived_at=None).order_by("name")
    makers = [(name, name) for name in makers_of(project)]
    return [
        Chip("target", "Target", list(targets.values_list("pk", "name"))),
        *result_chips(),
        since_chip(),
        Chip("by", "By", makers),
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
        ItemKind(SavedPlan, "plan", PlanFilterSet, list_plans),
        ItemKind(
            Target, "target", TargetFilterSet, list_targets, finds="Search names, addresses, tags"
        ),
        ItemKind(Project, "project", ProjectFilterSet, list_projects),
    )
}


def items_context(
    request: HttpRequest, noun: str, project: Project | None = None
) -> dict[str, Any]:
    """What every list shows: its page of rows, views with counts, filters and tags."""
    kind, actor = KINDS[noun], actor_of(request)
    everything = kind.model.objects.visible_to(actor)
    everything = everything.filter(project=project) if project else everything
    views = kind.views(actor)
    counts, view = view_counts(everything, views), _view_asked(request, views)
    tags = tag_counts(everything.filter(views[view]))
    chips = [*(kind.chips(project) if project else ()), _tag_chip(tags)]
    rows = kind.of_project(actor, project).filter(views[view])
    how = {"nouns": kind.nouns, "finds": kind.finds, "ordering": kind.ordering}
    return {
        **list_context(request, kind.filters, rows, chips, n_rows=counts[view], **how),
        "project": project,
        "kind": kind,
        "view": view,
        "tags": tags,
        "views": [
            (each, VIEW_WORDS[each], n)
            for each, n in counts.items()
            if each not in _WITHOUT_TAB or each == view
        ],
        "counts": counts,
        "n_all": sum(counts.get(each, 0) for each in ("", "drafts", ARCHIVED)),
        "unfiltered_url": f"?view={view}" if view else "?",
        "bulk_url": kind.bulk_url(project),
    }


def _tag_chip(tags: Sequence[tuple[str, int]]) -> Chip:
    return Chip("tag", "Tag", [(tag, f"{tag} ({n})") for tag, n in tags])


@signed_in_form
def item_rename(request: HttpRequest, noun: str, **ids: int) -> HttpResponse:
    """The form of an item's name and tags."""
    kind, actor = KINDS[noun], actor_of(request)
    item = find(kind.model, actor, pk=ids[noun])
    require(actor, item.administered_by, item.home)
    edit = Edit(request, lambda: services.content_of(item), labels_of(ItemForm))
    form = ItemForm(request.POST) if request.method == "POST" else ItemForm.of(item)
    if saved := saved_by(
        form, lambda told: edit.save(services.describe_item, by=actor, item=item, **told)
    ):
        messages.success(request, f"{saved.name} saved.")
        return redirect(kind.page_url(saved))
    context = {
        "project": item.home,
        "kind": kind,
        "item": find(kind.model, actor, pk=item.pk),
        "form": form,
        "edit": edit,
        "page_url": kind.page_url(item),
        "tags": tag_counts(_siblings(actor, kind, item)),
    }
    return render(request, "items/rename.html", context, status=edit.status(form.errors))


def _siblings(actor: Actor, kind: ItemKind, item: Item) -> QuerySet:
    rows = kind.model.objects.visible_to(actor)
    return rows if isinstance(item, Project) else rows.filter(project=item.home)


def _list_with_filters(request: HttpRequest, noun: str, project: int | None = None) -> str:
    found = find(Project, actor_of(request), pk=project) if project else None
    query = request.GET.urlencode()
    return KINDS[noun].list_url(found) + (f"?{query}" if query else "")


@signed_in_post
@answers_refusals(_list_with_filters)
def item_bulk(request: HttpRequest, noun: str, project: int | None = None) -> HttpResponse:
    """Do one thing to all ticked items. Deleting first shows what would be lost."""
    kind, actor = KINDS[noun], actor_of(request)
    found = find(Project, actor, pk=project) if project else None
    if found:
        require(actor, kind.model.administered_by, found)
    items = _chosen(request, kind, actor, found)
    for home in {item.home for item in items}:
        require(actor, kind.model.administered_by, home)
    if not items:
        raise Refused(f"Tick at least one {kind.noun} first.")
    what = request.POST.get("do", "")
    if what == "compare" and kind.model is Campaign:
        # The comparison of these campaigns, the oldest of which is the baseline.
        if not 2 <= len(items) <= len(LETTERS):
            ticked = "1 is" if len(items) == 1 else f"{len(items)} are"
            raise Refused(f"Tick two to {len(LETTERS)} campaigns to compare them; {ticked} ticked.")
        pks = sorted(campaign.pk for campaign in items)
        columns = {letter: f"campaign-{pk}" for letter, pk in zip(LETTERS, pks, strict=False)}
        return redirect(f"{reverse('comparison')}?{urlencode(columns)}")
    if what == "delete" and "confirmed" not in request.POST:
        return _ask_before_deleting(request, kind, found, items)
    known = what in _ACTIONS or what in _TAGGING
    if not known or (what == "look" and kind.model is not Campaign):
        raise Refused("Choose what to do with the ticked rows.")
    said = _done(request, what, items)
    messages.success(request, f"{counted(len(items), kind.nouns)} {said}.")
    return redirect(_list_with_filters(request, noun, project))


def _chosen(
    request: HttpRequest, kind: ItemKind, actor: Actor, project: Project | None
) -> Sequence[Item]:
    """The ticked items, or all that the list's filters leave; 404 if the actor cannot see one."""
    if request.POST.get("all"):
        views = kind.views(actor)
        rows = kind.of_project(actor, project).filter(views[_view_asked(request, views)])
        return list(filter_rows(actor, kind.filters, rows, asked_of(request)).qs)
    ticked = {pk for pk in request.POST.getlist("pk") if pk.isdecimal()}
    rows = kind.model.objects.visible_to(actor)
    rows = rows.filter(project=project) if project else rows
    items = list(rows.filter(pk__in=[pk for pk in ticked if len(pk) < 19]))
    if len(items) < len(ticked):
        raise Http404
    return items


def _ask_before_deleting(
    request: HttpRequest, kind: ItemKind, project: Project | None, items: Sequence[Item]
) -> HttpResponse:
    why_not = {item: refusal_to_delete(item) for item in items}
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
            if refusal and not item.archived_at and not refusal_to_archive(item)
        ],
        "deletion": deletion_of(free) if free else None,
        "bulk_url": f"{kind.bulk_url(project)}?{request.GET.urlencode()}",
        "list_url": _list_with_filters(request, kind.noun, project and project.pk),
    }
    return render(request, "items/delete.html", context)


def _look(by: Actor, items: Sequence[Item]) -> None:
    look_at_campaigns(by=by, campaigns=items)


_ACTIONS = {
    "archive": (services.archive_items, "archived"),
    "restore": (services.restore_items, "restored"),
    "delete": (services.delete_items, "deleted"),
    "look": (_look, "reviewed"),
}
_TAGGING = {"tag": ("add", "tagged"), "untag": ("remove", "no longer tagged")}


def _done(request: HttpRequest, what: str, items: Sequence[Item]) -> str:
    """Do it; what to say of the items then."""
    if what in _ACTIONS:
        act, words = _ACTIONS[what]
        act(by=actor_of(request), items=items)
        return words
    try:
        tags = tags_in(request.POST.get("tag", ""))
    except InvalidFields as invalid:
        raise Refused(" ".join(invalid.errors.values())) from None
    if not tags:
        raise Refused("Enter the tag first.")
    change, words = _TAGGING[what]
    services.tag_items(by=actor_of(request), items=items, **{change: tags})
    return f"{words} {', '.join(tags)}"


@signed_in_post
def item_archive(request: HttpRequest, noun: str, **ids: int) -> HttpResponse:
    kind, actor = KINDS[noun], actor_of(request)
    item = find(kind.model, actor, pk=ids[noun])
    try:
        services.archive_items(by=actor, items=[item])
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(kind.page_url(item))
    messages.success(request, f"{item.name} is archived. Its results are kept.")
    return redirect(kind.list_url(item.home))

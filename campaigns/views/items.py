"""What lists of campaigns, plans, targets and projects share: rename, tag, archive, delete."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import tags_in
from campaigns.domain.units import counted
from campaigns.forms.filters import CampaignFilterForm, ItemFilterForm, ItemForm, TargetFilterForm
from campaigns.models import Campaign, Project, SavedPlan, Target
from campaigns.models.projects import Item
from campaigns.permissions import Actor, require
from campaigns.queries.campaign_list import VIEWS, campaign_views, list_campaigns
from campaigns.queries.columns import LETTERS
from campaigns.queries.items import (
    ARCHIVED,
    USUAL_SORT,
    deletion_of,
    page_of,
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

PAGE_SIZES = ("25", "50", "100")
VIEW_WORDS = {"": "All", **VIEWS, ARCHIVED: "Archived"}


@dataclass(frozen=True)
class ItemKind:
    """A kind of items: its words and its list."""

    model: type[Item]
    noun: str
    form: Callable[[QueryDict, Project | None], ItemFilterForm]
    rows: Callable[[Actor, Project | None, Any], QuerySet]
    views: Callable[[Actor], dict[str, Q]] = lambda actor: {}  # beside all in use and archived

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


KINDS = {
    kind.noun: kind
    for kind in (
        ItemKind(
            Campaign,
            "campaign",
            lambda data, project: CampaignFilterForm(data, project=project),
            list_campaigns,
            campaign_views,
        ),
        ItemKind(SavedPlan, "plan", lambda data, project: ItemFilterForm(data), list_plans),
        ItemKind(Target, "target", lambda data, project: TargetFilterForm(data), list_targets),
        ItemKind(
            Project,
            "project",
            lambda data, project: ItemFilterForm(data),
            lambda actor, project, by: list_projects(actor, by),
        ),
    )
}


def list_context(request: HttpRequest, noun: str, project: Project | None = None) -> dict[str, Any]:
    """What every list shows: its page of rows, views with counts, filters and tags."""
    kind, actor = KINDS[noun], actor_of(request)
    form = kind.form(request.GET, project)
    by = form.chosen()
    everything = kind.model.objects.visible_to(actor)
    everything = everything.filter(project=project) if project else everything
    shelf = everything.filter(archived_at__isnull=not by.is_archived)
    counts, filters = view_counts(everything, kind.views(actor)), form.filters()
    n_rows = None if filters else counts.get(by.view)
    page = page_of(
        kind.rows(actor, project, by), int(_size_of(request)), request.GET.get("page", ""), n_rows
    )
    return {
        "project": project,
        "form": form,
        "page": page,
        "kind": kind,
        "by": by,
        "sort": by.sort or USUAL_SORT[kind.model],
        "tags": tag_counts(shelf),
        "views": [(view, VIEW_WORDS[view], count) for view, count in counts.items()],
        "n_used": counts[""],
        "n_all": counts[""] + counts[ARCHIVED],
        "filters": filters,
        "unfiltered_url": f"?view={by.view}" if by.view else "?",
        "ways_out": [] if page.count else _ways_out(request, kind, project, form),
        "bulk_url": kind.bulk_url(project),
        "page_sizes": PAGE_SIZES,
        "page_size": _size_of(request),
    }


def _ways_out(
    request: HttpRequest, kind: ItemKind, project: Project | None, form: ItemFilterForm
) -> list[tuple[str, int, str]]:
    """The filters without which there would be rows: words, how many rows, and the address."""
    found, by, anything = [], form.chosen(), form.chosen_as()
    for name, words in form.filters().items():
        without = replace(by, **{name: getattr(anything, name)})
        query = request.GET.copy()
        query.pop(name)
        if n := kind.rows(actor_of(request), project, without).count():
            found.append((words, n, f"?{query.urlencode()}"))
    return found


def _size_of(request: HttpRequest) -> str:
    asked = request.GET.get("rows", "")
    return asked if asked in PAGE_SIZES else PAGE_SIZES[0]


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
        return list(kind.rows(actor, project, kind.form(request.GET, project).chosen()))
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
    "look": (_look, "looked at"),
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

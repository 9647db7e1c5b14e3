"""What lists of campaigns, plans, targets and projects have in common: search, filters, sorting,
tags, and what is lost with an item that is deleted. Pages of a sorted list. A page is named by the
row that it follows or precedes: so it stays the same while rows are added, and the last one costs
no more than the first."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.db.models import (
    Count,
    Exists,
    F,
    Func,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import OrderBy
from django.db.models.functions import Coalesce, Lower
from django.utils import timezone

from campaigns.domain.lifecycle import RunState
from campaigns.domain.typed_text import clean_tag, composed
from campaigns.domain.units import counted
from campaigns.models import (
    Baseline,
    Campaign,
    Endpoint,
    Membership,
    PlanVersion,
    Probe,
    Project,
    Run,
    SavedPlan,
    ShardSecond,
    ShareLink,
    Target,
    Test,
)
from campaigns.models.campaigns import UNDER_WAY
from campaigns.models.projects import Item
from campaigns.queries.columns import references_in

KEY = "sort_key"  # the annotation of `sorted_by` with what the rows are sorted by


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list. `start` is the number of the first, from 1. `previous` and `next` name
    the pages on both sides in an address, "" at the ends."""

    rows: Sequence[Any]
    count: int  # of the whole list
    start: int = 1
    previous: str = ""
    next: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    @property
    def end(self) -> int:
        return self.start + len(self.rows) - 1

    @property
    def is_whole(self) -> bool:
        return len(self.rows) == self.count


def sorted_by(rows: QuerySet, key: Any, *, falls: bool) -> QuerySet:
    """In the order of an expression, the newest row first or last where it is the same."""
    # To place nulls where there are none would keep PostgreSQL from reading an index backwards.
    nulls_last = True if _may_be_null(rows, key) else None
    order = OrderBy(F(KEY), descending=falls, nulls_last=nulls_last)
    return rows.annotate(**{KEY: key}).order_by(order, "-pk" if falls else "pk")


def _may_be_null(rows: QuerySet, key: Any) -> bool:
    if not isinstance(key, F) or LOOKUP_SEP in key.name or key.name in rows.query.annotations:
        return True
    meta = rows.model._meta
    return key.name != "pk" and meta.get_field(key.name).null


def page_of(rows: QuerySet, size: int, name: str = "", count: int | None = None) -> Page:
    """A page by its name, the first one without a name that can be read. `rows` are `sorted_by`;
    `count` is how many there are, where that is known. Rows may have gone meanwhile: then the last
    page follows any, and a full one is the first."""
    found: list[Model] = []
    if edge := _edge_of(rows, name):
        found = _around(rows, edge, size)
    if not found:
        # Rows are counted only where there are more than it shows.
        found = list(rows[: size + 1])
        if len(found) <= size:
            return Page(found, len(found))
        found.pop()
        last = _Edge.at(found[-1], is_after=True)
        return Page(found, rows.count() if count is None else count, next=str(last))
    count = rows.count() if count is None else count
    first, last = _Edge.at(found[0], is_after=False), _Edge.at(found[-1], is_after=True)
    n_before = _beyond(rows, first).count()
    return Page(
        found,
        count,
        start=n_before + 1,
        previous=str(first) if n_before else "",
        next=str(last) if n_before + len(found) < count else "",
    )


def page_of_list(rows: Sequence[Any], size: int, name: str, key: Callable[[Any], object]) -> Page:
    """A page of rows that are all known, in their order. Besides after.KEY and before.KEY there is
    with.KEY, the page that has the row; once the row has gone, each of them is the first page."""
    keys = [str(key(row)) for row in rows]
    side, _, named = name.partition(".")
    start = 0
    if named in keys:
        at = keys.index(named)
        start = {"after": at + 1, "before": at - size}.get(side, at - at % size)
    start = max(0, start if start < len(rows) else len(rows) - size)
    end = min(start + size, len(rows))
    return Page(
        rows[start:end],
        len(rows),
        start=start + 1,
        previous=f"before.{keys[start]}" if start else "",
        next=f"after.{keys[end - 1]}" if end < len(rows) else "",
    )


def _around(rows: QuerySet, edge: "_Edge", size: int) -> list[Model]:
    beyond = _beyond(rows, edge)
    if edge.is_after:
        return list(beyond[:size]) or _last(rows, size)
    found = _last(beyond, size)
    return found if len(found) == size else []


@dataclass(frozen=True, slots=True)
class _Edge:
    """The place right after a row, or right before it: by the row's key and id, so that it is there
    without the row as well."""

    is_after: bool
    pk: int
    key: Any

    @classmethod
    def at(cls, row: Model, *, is_after: bool) -> Self:
        return cls(is_after, row.pk, getattr(row, KEY))

    def __str__(self) -> str:
        """after.12.checkout; without a key after.12"""
        words = "after" if self.is_after else "before", str(self.pk)
        return ".".join(words if self.key is None else (*words, str(self.key)))


def _edge_of(rows: QuerySet, name: str) -> _Edge | None:
    found = re.fullmatch(r"(after|before)\.(\d{1,18})(?:\.([^\0]*))?", name)
    if not found:
        return None
    side, pk, key = found.groups()
    field = rows.query.annotations[KEY].output_field
    try:
        return _Edge(side == "after", int(pk), None if key is None else field.to_python(key))
    except ValidationError:
        return None


def _last(rows: QuerySet, size: int) -> list[Model]:
    return list(rows.reverse()[:size])[::-1]


def _beyond(rows: QuerySet, edge: _Edge) -> QuerySet:
    """The rows after the edge, or before it. Rows without a key come last in either direction."""
    order = rows.query.order_by[0]
    sign = "lt" if order.descending == edge.is_after else "gt"
    further = Q(**{f"pk__{sign}": edge.pk})
    keyless = Q(**{f"{KEY}__isnull": True})
    if edge.key is None:
        found = keyless & further
        return rows.filter(found if edge.is_after else found | ~keyless)
    # The first condition follows from the others; by it an index is read from there on.
    found = Q(**{f"{KEY}__{sign}e": edge.key}) & (
        Q(**{f"{KEY}__{sign}": edge.key}) | (Q(**{KEY: edge.key}) & further)
    )
    return rows.filter(found | keyless if edge.is_after and order.nulls_last else found)


ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """The filters of all lists; empty means any. `sort` is a key of SORTS, "-" before it turns it
    round."""

    view: str = ""  # ARCHIVED, or one that the list has of its own
    name: str = ""  # searched for in names, tags, and what belongs to the item
    tag: str = ""
    sort: str = ""

    @property
    def is_archived(self) -> bool:
        return self.view == ARCHIVED


# What a list can be sorted by; a key is a column of its page and of the API.
SORTS: dict[type[Item], dict[str, object]] = {
    Campaign: {
        "id": F("pk"),
        "name": Lower("name"),
        "tests": F("n_tests"),
        "runs": F("n_runs"),
        "started": F("started_at"),
        "duration": F("finished_at") - F("started_at"),
        "by": Lower("created_by__username"),
    },
    SavedPlan: {"name": Lower("name"), "changed": F("changed_at")},
    Target: {"name": Lower("name"), "runs": F("n_runs"), "created": F("created_at")},
    Project: {
        "name": Lower("name"),
        "members": F("n_members"),
        "targets": F("n_targets"),
        "campaigns": F("n_campaigns"),
        "latest": F("latest_campaign_at"),
    },
}
USUAL_SORT = {Campaign: "-id", SavedPlan: "name", Target: "name", Project: "name"}


def narrowed(rows: QuerySet, by: ItemFilter) -> QuerySet:
    rows = rows.filter(archived_at__isnull=not by.is_archived)
    if by.tag:
        rows = with_tag(rows, by.tag)
    if by.name:
        rows = rows.filter(matching(rows.model, by.name))
    return ordered(rows, by.sort)


def with_tag(rows: QuerySet, tag: str) -> QuerySet:
    return rows.filter(tags__contains=[clean_tag(tag)])


def ordered(rows: QuerySet, sort: str) -> QuerySet:
    """Sorted by a key of SORTS, the usual one where there is no such key."""
    known = SORTS[rows.model]
    sort = sort if sort.removeprefix("-") in known else USUAL_SORT[rows.model]
    return sorted_by(rows, known[sort.removeprefix("-")], falls=sort.startswith("-"))


def matching(kind: type[Item], text: str) -> Q:
    """Items whose name, tags or parts contain the text; "#12" is an item's number."""
    text = composed(text)
    tags = Func(F("tags"), Value(", "), function="array_to_string", output_field=TextField())
    found = Q(name__icontains=text) | Q(
        pk__in=kind.objects.annotate(tag_text=tags).filter(tag_text__icontains=text).values("pk")
    )
    number = text.removeprefix("#")
    if number.isdecimal() and len(number) < 10:
        found |= Q(pk=int(number))
    if kind is Campaign:
        tests = Test.objects.filter(
            Q(endpoint__target__name__icontains=text) | Q(plan_version__plan__name__icontains=text)
        )
        found |= Exists(tests.filter(campaign=OuterRef("pk")))
    if kind is Target:
        endpoints = Endpoint.objects.filter(host__icontains=text, archived_at=None)
        found |= Exists(endpoints.filter(target=OuterRef("pk")))
    return found


def count_of(rows: QuerySet) -> Coalesce:
    """How many rows, for each row of an outer query. Unlike a join it costs only the rows of the
    page that is shown."""
    counted = rows.order_by().annotate(one=Value(1)).values("one").annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0)


def view_counts(rows: QuerySet, views: Mapping[str, Q]) -> dict[str, int]:
    """How many of the rows are in use, "" for all of them, and in each view; ARCHIVED: the rest."""
    in_use = Q(archived_at=None)
    found = {"": in_use, **{view: in_use & each for view, each in views.items()}, ARCHIVED: ~in_use}
    counts = rows.aggregate(
        **{f"n_{view}": Count("pk", filter=each) for view, each in found.items()}
    )
    return {view: counts[f"n_{view}"] for view in found}


def tag_counts(rows: QuerySet) -> list[tuple[str, int]]:
    """The tags of the rows with how many have each, the most frequent first."""
    tag = Func(F("tags"), function="unnest", output_field=TextField(), set_returning=True)
    counts = rows.order_by().values(tag=tag).annotate(n=Count("pk")).values_list("tag", "n")
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting items means: `lost` are counts in words, `warnings` what others would miss."""

    lost: list[str]
    warnings: list[str]


def deletion_of(items: Sequence[Item]) -> Deletion:
    """What would be lost with these items, all of one kind."""
    kind = type(items[0])
    pks = [item.pk for item in items]
    counts = {words: rows.count() for words, rows in _LOST[kind](pks).items()}
    shared = _live_links(kind, pks)
    return Deletion(
        lost=[counted(n, words) for words, n in counts.items() if n],
        warnings=[f"{counted(shared, 'share links')} to these results would stop working."]
        if shared
        else [],
    )


def refusal_to_delete(item: Item) -> str:
    """Why the item cannot be deleted now and what to do, in a sentence; "" if it can."""
    if isinstance(item, Campaign):
        return refusal_to_archive(item) or _is_baseline(item)
    if isinstance(item, Project):
        return project_is_busy(item)
    n_campaigns = _campaigns_with(item).count()
    if not n_campaigns:
        return ""
    these = "this campaign" if n_campaigns == 1 else "these campaigns"
    instead = "Delete" if item.archived_at else "Archive it instead, or delete"
    return (
        f"{item.name} is used by {counted(n_campaigns, 'campaigns')}, whose results need it. "
        f"{instead} {these} first."
    )


def refusal_to_archive(item: Item) -> str:
    """As of deleting, "" if it can."""
    if isinstance(item, Campaign):
        return _is_running(item) if item.is_under_way else ""
    if isinstance(item, Project):
        return project_is_busy(item)
    if isinstance(item, Target) and item.runs.exclude(state=RunState.DONE).exists():
        return f"{item.name} has runs that have not ended. Stop its campaigns first."
    return ""


def _is_baseline(campaign: Campaign) -> str:
    current = Baseline.objects.filter(replaced_at=None, runs__campaign=campaign).first()
    if current is None:
        return ""
    return (
        f"Runs of {campaign.name} are the baseline “{current.name}” of later campaigns. Make "
        "others the baseline, or stop comparing with it in the history of its test, then delete it."
    )


def project_is_busy(project: Project) -> str:
    """A sentence about the project's campaign that is under way; "" if there is none."""
    going = project.campaigns.filter(UNDER_WAY).first()
    return _is_running(going) if going else ""


def _is_running(campaign: Campaign) -> str:
    return f"{campaign.name} is running. Stop it first."


def _campaigns_with(item: Item) -> QuerySet[Campaign]:
    tests = Test.objects.filter(campaign=OuterRef("pk"))
    if isinstance(item, Target):
        return Campaign.objects.filter(Exists(tests.filter(endpoint__target=item.pk)))
    return Campaign.objects.filter(Exists(tests.filter(plan_version__plan=item.pk)))


def _of_results(runs: QuerySet[Run]) -> dict[str, QuerySet]:
    return {
        "runs": runs,
        "measured seconds": ShardSecond.objects.filter(run__in=runs.values("pk")),
    }


# What is lost with items of a kind, in the words that count it.
_LOST: dict[type[Item], Callable[[Sequence[int]], dict[str, QuerySet]]] = {
    Campaign: lambda pks: _of_results(Run.objects.filter(campaign__in=pks)),
    SavedPlan: lambda pks: {"versions": PlanVersion.objects.filter(plan__in=pks)},
    Target: lambda pks: {
        "endpoints": Endpoint.objects.filter(target__in=pks),
        "single requests": Probe.objects.filter(endpoint__target__in=pks),
    },
    Project: lambda pks: {
        "campaigns": Campaign.objects.filter(project__in=pks),
        **_of_results(Run.objects.filter(campaign__project__in=pks)),
        "targets": Target.objects.filter(project__in=pks),
        "plans": SavedPlan.objects.filter(project__in=pks),
        "memberships": Membership.objects.filter(project__in=pks),
    },
}


def _live_links(kind: type[Item], pks: Sequence[int]) -> int:
    links = ShareLink.objects.filter(revoked_at=None, expires_at__gt=timezone.now())
    if kind is Campaign:
        alone = links.filter(Q(campaign__in=pks) | Q(run__campaign__in=pks)).count()
        return alone + _comparisons_of(links.exclude(comparison=""), pks)
    return links.filter(project__in=pks).count() if kind is Project else 0


def _comparisons_of(links: QuerySet[ShareLink], campaigns: Sequence[int]) -> int:
    """How many of these links show one of the campaigns, or a test or run of one, beside others."""
    own = links.filter(project__campaigns__in=campaigns).distinct()
    lost = {("campaign", pk) for pk in campaigns}
    for noun, model in (("test", Test), ("run", Run)):
        parts = model.objects.filter(campaign__in=campaigns).values_list("pk", flat=True)
        lost |= {(noun, pk) for pk in parts}
    named = (references_in(link.comparison) for link in own)
    return sum(any((each.noun, each.pk) in lost for each in columns) for columns in named)

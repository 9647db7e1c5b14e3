"""Pages of a sorted list. A page is named by the row that it follows or precedes: so it stays the
same while rows are added, and the last one costs no more than the first."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import ValidationError
from django.db.models import F, Model, Q, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import OrderBy

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
    rows_of_page: list[Model] = []
    if edge := _edge_of(rows, name):
        beyond = _beyond(rows, edge)
        if edge.is_after:
            rows_of_page = list(beyond[:size]) or _last(rows, size)
        else:
            around = _last(beyond, size)
            rows_of_page = around if len(around) == size else []
    if not rows_of_page:
        # Rows are counted only where there are more than it shows.
        rows_of_page = list(rows[: size + 1])
        if len(rows_of_page) <= size:
            return Page(rows_of_page, len(rows_of_page))
        rows_of_page.pop()
        last = _Edge.at(rows_of_page[-1], is_after=True)
        return Page(rows_of_page, rows.count() if count is None else count, next=str(last))
    count = rows.count() if count is None else count
    first, last = (
        _Edge.at(rows_of_page[0], is_after=False),
        _Edge.at(rows_of_page[-1], is_after=True),
    )
    n_before = _beyond(rows, first).count()
    return Page(
        rows_of_page,
        count,
        start=n_before + 1,
        previous=str(first) if n_before else "",
        next=str(last) if n_before + len(rows_of_page) < count else "",
    )


def page_of_list(rows: Sequence[Any], size: int, name: str, key: Callable[[Any], object]) -> Page:
    """A page of rows that are all known, in their order. Besides after.KEY and before.KEY there is
    with.KEY, the page that has the row; once the row has gone, each of them is the first page."""
    keys = [str(key(row)) for row in rows]
    side, _, edge = name.partition(".")
    start = 0
    if edge in keys:
        at = keys.index(edge)
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
    match = re.fullmatch(r"(after|before)\.(\d{1,18})(?:\.([^\0]*))?", name)
    if not match:
        return None
    side, pk, key = match.groups()
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
        condition = keyless & further
        return rows.filter(condition if edge.is_after else condition | ~keyless)
    # The first condition follows from the others; by it an index is read from there on.
    condition = Q(**{f"{KEY}__{sign}e": edge.key}) & (
        Q(**{f"{KEY}__{sign}": edge.key}) | (Q(**{KEY: edge.key}) & further)
    )
    return rows.filter(condition | keyless if edge.is_after and order.nulls_last else condition)

"""What templates need and Django does not have: cells beside their columns, links of rows."""

from django import template
from django.urls import NoReverseMatch, reverse

from campaigns.domain.tables import Row, Table

register = template.Library()

_PAGES = {"run": "run-detail", "campaign": "campaign-detail"}


@register.filter
def cells_of(table: Table, row: Row):
    """The row's cells, each with its column."""
    return zip(table.columns, row.cells, strict=True)


@register.filter
def has_units(table: Table) -> bool:
    return any(column.unit for column in table.columns)


@register.filter
def page_of(row: Row) -> str:
    """The address of what a row is about, or "" where it has no page of its own."""
    for noun, name in _PAGES.items():
        if noun in row.link:
            try:
                return reverse(name, args=[row.link[noun]])
            except NoReverseMatch:
                return ""
    return ""


@register.filter
def item(mapping: dict, key):
    """mapping[key], for keys that are not names."""
    return mapping.get(key, "")

"""What templates need and Django does not have: cells beside their columns, links of rows."""

from django import template
from django.urls import reverse

from campaigns.domain import units
from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.remedies import words_of
from campaigns.domain.shown.tables import Row, Table

register = template.Library()

_PAGES = {"run": "run-detail", "campaign": "campaign-detail"}


@register.filter
def cells_of(table: Table, row: Row):
    """The row's cells, each with its column."""
    return zip(table.columns, row.cells, strict=True)


@register.filter
def page_of(row: Row) -> str:
    """The address of what a row is about, or "" where it has no page of its own."""
    for noun, name in _PAGES.items():
        if noun in row.link:
            return reverse(name, args=[row.link[noun]])
    return ""


@register.filter
def in_ms(value_us: float | None) -> str:
    """Microseconds as a figure in milliseconds, for a column whose head names the unit."""
    return units.figure(None if value_us is None else value_us / 1000)


register.filter("error_words", words_of)
register.filter("load_words", plan_load_words)

"""What templates need and Django does not have: cells beside their columns, links of rows."""

from collections.abc import Iterable
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.domain import units
from campaigns.domain.shown.plan_words import plan_load_words
from campaigns.domain.shown.remedies import words_of
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.units import DASH

register = template.Library()

_PAGES = {"run": "run-detail", "campaign": "campaign-detail"}


@register.filter
def cells_of(table: Table, row: Row):
    """The row's cells, each with its column."""
    return zip(table.columns, row.cells, strict=True)


@register.simple_tag
def td(cell: Cell | None, kind: str = "") -> SafeString:
    """A figure's cell of a table, with "–" where there is none; `kind`: more classes."""
    return SafeString(_td(cell, f"num {kind}".strip()))


@register.filter
def tds(cells: Iterable[Cell | None]) -> SafeString:
    """The cells of a row of figures."""
    return SafeString("".join(_td(cell, "num") for cell in cells))


@register.filter
def row_tds(table: Table, row: Row) -> SafeString:
    """The cells of the table's row. A page has thousands: a template takes 20 times as long."""
    columns = zip(table.columns, row.cells, strict=True)
    texts = (_td(cell, "" if column.is_text else "num") for column, cell in columns)
    return SafeString("".join(texts))


def _td(cell: Cell | None, classes: str) -> str:
    if not cell:
        return f'<td class="{escape(classes)}">{DASH}</td>'
    weak, tone = " weak" if cell.weak else "", f" tone-{cell.tone}" if cell.tone else ""
    title = f' title="{escape(cell.why)}"' if cell.why else ""
    text = f"{'~' if cell.weak else ''}{escape(cell.text or DASH)}"
    return f'<td class="{escape(classes + weak + tone).strip()}"{title}>{text}</td>'


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

"""What templates need and Django does not have: cells beside their columns, links of rows."""

from collections.abc import Iterable
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.domain import units
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.presentation.remedies import words_of
from campaigns.domain.presentation.tables import Cell, Column, Row, Table
from campaigns.domain.units import DASH
from campaigns.templatetags.marks import with_terms

register = template.Library()

_PAGES = {"run": "run-detail", "campaign": "campaign-detail"}


@register.filter
def cells_of(table: Table, row: Row):
    return zip(table.columns, row.cells, strict=True)


@register.simple_tag
def td(cell: Cell | None, kind: str = "") -> SafeString:
    """A figure's cell of a table, with "–" where there is none; `kind`: more classes."""
    return SafeString(_td(cell, f"num {kind}".strip()))


@register.filter
def tds(cells: Iterable[Cell | None]) -> SafeString:
    return SafeString("".join(_td(cell, "num") for cell in cells))


@register.filter
def column_heads(table: Table) -> SafeString:
    """The heads of the table's columns, each with its unit and what it means."""
    return SafeString("".join(map(_head, table.columns)))


def _head(column: Column) -> str:
    kind = "" if column.is_text else ' class="num"'
    title = f' title="{escape(column.help)}"' if column.help else ""
    unit = f'<br><span class="unit">{escape(column.unit)}</span>' if column.unit else ""
    return f'<th scope="col"{kind}{title}>{escape(column.title)}{unit}</th>'


@register.filter
def linked_rows(table: Table) -> SafeString:
    """The table's rows; whatever has a page of its own is a link. A page has thousands of cells: a
    template takes 20 times as long."""
    return SafeString("\n".join(_row(table, row, page_of(row)) for row in table.rows))


@register.filter
def plain_rows(table: Table) -> SafeString:
    """The same without links."""
    return SafeString("\n".join(_row(table, row, "") for row in table.rows))


def _row(table: Table, row: Row, page: str) -> str:
    grey = " row-grey" if row.link.get("trust") == "no_answer" else ""
    decides = " row-decides" if row.decides else ""
    kind = f' class="row-{escape(row.kind)}{grey}{decides}"' if row.kind else ""
    label = f'<a href="{page}">{escape(row.label)}</a>' if page else with_terms(row.label)
    note = f' <span class="second-line">{escape(row.note)}</span>' if row.note else ""
    columns = zip(table.columns, row.cells, strict=True)
    cells = "".join(_td(cell, "" if column.is_text else "num") for column, cell in columns)
    return f'<tr{kind}><th scope="row">{label}{note}</th>{cells}</tr>'


def _td(cell: Cell | None, classes: str) -> str:
    """Classes and tones are ours; texts and reasons may hold what people typed."""
    if not cell:
        return f'<td class="{classes}">{DASH}</td>'
    if cell.weak or cell.tone:
        tone = f"tone-{cell.tone}" if cell.tone else ""
        classes = " ".join(filter(None, (classes, "weak" if cell.weak else "", tone)))
    title = f' title="{escape(cell.why)}"' if cell.why else ""
    text = f"{'~' if cell.weak else ''}{escape(cell.text or DASH)}"
    return f'<td class="{classes}"{title}>{text}</td>'


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

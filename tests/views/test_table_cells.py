"""The cells and rows of tables, and what is escaped in them."""

from dataclasses import replace

import pytest
from django.template.loader import render_to_string

from campaigns.domain.presentation.tables import Cell, Column, Row, Table
from campaigns.templatetags.pages import column_heads, linked_rows, plain_rows, td

pytestmark = pytest.mark.pure


def test_a_cell_has_its_text_and_says_why_it_is_weak():
    weak = Cell(1.5, "1.50", weak=True, why="Fewer than 10 requests.", tone="warn")
    assert td(weak) == ('<td class="num weak tone-warn" title="Fewer than 10 requests.">~1.50</td>')


def test_what_people_typed_is_escaped():
    typed = Cell(None, "<b>&'\"", why='"><script>')
    assert td(typed) == (
        '<td class="num" title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#x27;&quot;</td>'
    )


def table(*rows: Row) -> Table:
    columns = (Column("n", "n", help="How <many>"), Column("why", "Why", "ms", is_text=True))
    return Table("key", "Title", columns, rows)


def test_a_row_leads_to_what_it_is_about_where_links_are_wanted():
    cells = (Cell(1, "1"), Cell("x", "<x>"))
    run = table(Row("Repeat 1", cells, "run", "a & b", {"run": 7, "trust": "not_usable"}))
    tds = '<td class="num">1</td><td class="">&lt;x&gt;</td></tr>'
    note = ' <span class="second-line">a &amp; b</span></th>'
    start = '<tr class="row-run row-grey"><th scope="row">'
    assert linked_rows(run) == f'{start}<a href="/runs/7/">Repeat 1</a>{note}{tds}'
    assert plain_rows(run) == f"{start}Repeat 1{note}{tds}"


def test_a_head_has_its_unit_and_says_what_it_means():
    assert column_heads(table()) == (
        '<th scope="col" class="num" title="How &lt;many&gt;">n</th>'
        '<th scope="col">Why<br><span class="unit">ms</span></th>'
    )


def test_the_title_of_a_table_is_escaped():
    html = render_to_string("parts/table.html", {"table": replace(table(), title="<of>")})
    assert "&lt;of&gt;" in html


def test_a_row_without_a_kind_has_no_class_and_what_people_typed_is_escaped():
    row = Row('<b>"', (Cell(1, "1"), Cell(None, "")))
    assert linked_rows(table(row)).startswith('<tr><th scope="row">&lt;b&gt;&quot;</th>')

"""The cells of tables, which are written without a template."""

import pytest

from campaigns.domain.shown.tables import Cell
from campaigns.templatetags.pages import td, tds

pytestmark = pytest.mark.pure


def test_a_cell_has_its_text_and_says_why_it_is_weak():
    weak = Cell(1.5, "1.50", weak=True, why="Fewer than 10 requests.", tone="warn")
    assert td(weak) == ('<td class="num weak tone-warn" title="Fewer than 10 requests.">~1.50</td>')


def test_what_people_typed_is_escaped():
    typed = Cell(None, "<b>&'\"", why='"><script>')
    assert td(typed) == (
        '<td class="num" title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#x27;&quot;</td>'
    )


def test_where_nothing_is_there_is_a_dash():
    assert tds([None, Cell(None, "")]) == 2 * '<td class="num">–</td>'


def test_a_cell_may_be_of_another_kind():
    assert td(Cell(1, "1"), "times") == '<td class="num times">1</td>'

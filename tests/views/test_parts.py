"""Parts that several pages draw: a table of figures, a badge."""

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string

from campaigns.domain.shown.tables import Cell, Column, Row, Table

TABLE = Table(
    key="latency",
    title="Latency <of> HTTP",
    columns=(Column("mean", "Average", "ms"), Column("word", "Word", is_text=True)),
    rows=(
        Row("run 1", (Cell(62.0, "62.0"), Cell("x", "x")), kind="run", link={"run": 14}),
        Row(
            "mean",
            (Cell(None, "–", why="no run is done"), Cell(70.5, "70.5", weak=True, tone="bad")),
            kind="mean",
        ),
    ),
    label_title="Run",
)


def draw(**context) -> str:
    return render_to_string("parts/table.html", {"table": TABLE, **context})


def test_a_table_has_a_caption_scopes_and_units_on_the_second_line():
    html = draw()
    assert "Latency &lt;of&gt; HTTP" in html
    assert html.count('scope="col"') == 3
    assert html.count('scope="row"') == 2
    assert 'Average<br><span class="unit">ms</span>' in html


def test_a_weak_cell_is_marked_and_an_empty_one_says_why():
    html = draw()
    assert "~70.5" in html
    assert "weak tone-bad" in html
    assert 'title="no run is done">–' in html


@pytest.mark.parametrize(("state", "shape"), [("doubtful", "warn"), ("done", "done")])
def test_a_badge_has_a_shape_and_a_word(state, shape):
    html = Template("{% badge state %}").render(Context({"state": state}))
    assert f"glyph-{shape}" in html
    assert f"<span>{state.capitalize()}</span>" in html
    assert f'data-state="{state}"' in html

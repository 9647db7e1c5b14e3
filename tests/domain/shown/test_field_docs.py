"""docs/ says of plan fields what the registry says."""

import json

import pytest

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.shown.field_docs import written_tables
from docs.write import WRITERS


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: path.name)
def test_the_documents_are_up_to_date(path):
    text = path.read_text()
    assert WRITERS[path](text) == text, "run `make docs`"


def test_a_table_is_written_below_its_mark_and_nothing_else_changes():
    text = "before\n<!-- fields: timeouts -->\nold\n<!-- end -->\nafter\n"
    written = written_tables(text)
    assert written.startswith("before\n<!-- fields: timeouts -->\n\n| field |")
    assert written.endswith("|\n\n<!-- end -->\nafter\n")
    assert "| `connect_s` |" in written
    assert "old" not in written


def test_the_schema_asks_for_every_field_but_later_ones():
    (schema,) = (json.loads(path.read_text()) for path in WRITERS if path.suffix == ".json")
    load = schema["$defs"]["load"]
    later = {name for name, field in fields_of(Load).items() if field.later}
    assert load["properties"].keys() - set(load["required"]) == later
    assert "shares" in later

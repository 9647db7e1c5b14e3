"""docs/ says of plan fields what the registry says."""

import json

import pytest

from campaigns.domain.plan.fields import all_fields, fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.field_docs import written_tables
from campaigns.domain.shown.field_words import option_help, type_words
from docs.write import WRITERS

FIELDS = all_fields(Plan)


@pytest.mark.parametrize("path", WRITERS, ids=lambda path: path.name)
def test_the_documents_are_up_to_date(path):
    text = path.read_text()
    assert WRITERS[path](text) == text, "run `make docs`"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("load.connections", "whole number, 1 to 20,000; null"),
        ("load.ramp_up_s", "seconds, 0 to 43,200; 0"),
        ("load.over_s", "seconds above 0 to 43,200; null"),
        ("warm_up_s", "whole seconds, 0 to 3,600; 0"),
        ("exchange.rate_per_s", "number above 0 to 100,000; null"),
        ("session.cookies", "true or false; false"),
        ("resolve", "`once` (default), `per_connection`"),
        ("auth.user", 'text up to 200; ""'),
    ],
)
def test_a_type_has_its_bounds_and_default(path, words):
    assert type_words(FIELDS[path]) == words


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("load.max_in_flight", "(10000)"),
        ("load.ramp_up_s", "(0 s)"),
        ("session.cookies", "(off)"),
        ("load.hold", "(close)"),
        ("load.low", "(none)"),
    ],
)
def test_an_options_help_ends_with_its_default(path, default):
    assert option_help(FIELDS[path]).endswith(default)


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

"""docs/ says of terms and plan fields what the code says."""

import json
from pathlib import Path

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.presentation.glossary import TERMS, split_at_terms
from docs.write import WRITERS, as_markdown

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "glossary.md"


def test_the_document_is_what_the_terms_say():
    assert DOCUMENT.read_text() == as_markdown(), "make docs"


def test_no_name_means_two_things():
    names = [name.lower() for term in TERMS for name in (term.name, *term.forms)]
    assert len(set(names)) == len(names)


def test_a_term_in_a_text_is_found_once_and_as_a_whole_word():
    text = "Pooled lateness, lateness again; spooled is another word"
    pieces = split_at_terms(text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [term.name for _, term in pieces if term] == ["pooled", "lateness"]


def test_the_documents_are_up_to_date():
    for path in WRITERS:
        text = path.read_text()
        assert WRITERS[path](text) == text, "run `make docs`"


def test_the_schema_asks_for_every_field_but_later_ones():
    (schema,) = (json.loads(path.read_text()) for path in WRITERS if path.suffix == ".json")
    load = schema["$defs"]["load"]
    later = {name for name, field in fields_of(Load).items() if field.later}
    assert load["properties"].keys() - set(load["required"]) == later
    assert "shares" in later

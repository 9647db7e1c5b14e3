"""The glossary is told once: the page and docs/glossary.md say the same of the same terms."""

from pathlib import Path

from campaigns.domain.shown.glossary import TERMS, as_markdown, split_at_terms

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "glossary.md"


def test_the_document_is_what_the_terms_say():
    assert DOCUMENT.read_text() == as_markdown(), "make docs"


def test_terms_are_in_the_order_of_the_alphabet_and_have_an_anchor_each():
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(names)
    assert len({term.anchor for term in TERMS}) == len(TERMS)


def test_no_name_means_two_things():
    names = [name.lower() for term in TERMS for name in (term.name, *term.forms)]
    assert len(set(names)) == len(names)


def test_a_term_in_a_text_is_found_once_and_as_a_whole_word():
    text = "Pooled lateness, lateness again; spooled is another word"
    pieces = split_at_terms(text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [term.name for _, term in pieces if term] == ["pooled", "lateness"]

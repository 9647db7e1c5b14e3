"""The glossary: a page for everybody, and links to it where a term is used."""

import pytest
from django.template import engines
from django.urls import reverse

from campaigns.domain.presentation.glossary import TERMS


def draw(source: str, **context) -> str:
    return engines["jinja"].from_string(source).render(context)


@pytest.mark.django_db
def test_a_visitor_without_an_account_reads_every_term(client):
    answer = client.get(reverse("glossary"))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert all(f'id="{term.anchor}"' in page for term in TERMS)


def test_a_term_that_the_glossary_has_not_is_noticed():
    with pytest.raises(KeyError):
        draw('{{ term("hub lag") }}')


def test_terms_in_a_text_are_linked_and_the_text_is_escaped():
    html = draw("{{ with_terms(text) }}", text="<b> after Holm's correction")
    assert html.startswith("&lt;b&gt; after <a ")
    assert "#holm-s-correction" in html

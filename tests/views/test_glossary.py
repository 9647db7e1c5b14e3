"""The glossary: a page for everybody, and links to it where a term is used."""

import pytest
from django.template import Context, Template
from django.urls import reverse

from campaigns.domain.shown.glossary import TERMS


def draw(source: str, **context) -> str:
    return Template(source).render(Context(context))


@pytest.mark.django_db
def test_a_visitor_without_an_account_reads_every_term(client):
    answer = client.get(reverse("glossary"))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert all(f'id="{term.anchor}"' in page for term in TERMS)


def test_a_term_links_to_its_entry_and_says_it_in_its_title():
    html = draw('{% term "block" "Blocks" %}')
    assert html.startswith(f'<a class="term" href="{reverse("glossary")}#block" title="One pass')
    assert html.endswith(">Blocks</a>")


def test_a_term_that_the_glossary_has_not_is_noticed():
    with pytest.raises(KeyError):
        draw('{% term "hub lag" %}')


def test_terms_in_a_text_are_linked_and_the_text_is_escaped():
    html = draw("{{ text|with_terms }}", text="<b> after Holm's correction")
    assert html.startswith("&lt;b&gt; after <a ")
    assert "#holm-s-correction" in html


def test_nothing_stays_nothing():
    assert draw("{{ text|with_terms }}", text=None) == ""


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("95 % intervals over 3 paired blocks", "block"),
        ("one arm has no usable run", "arm"),
        ("lateness against own delay", "lateness"),
        ("lateness against own delay", "own-delay"),
        ("Highest percentile, pooled", "pooled"),
        ("2 of 2 comparisons differ after Holm's correction", "holm-s-correction"),
        ("as the benchmark of WMI2", "wmi2"),
        ("L1 of the study", "l1-l2-l3"),
        ("R99-2", "r99-1-r99-2"),
        ("What arrives", "arrivals"),
    ],
)
def test_words_that_readers_did_not_understand_lead_to_their_entry(text, entry):
    assert f'#{entry}"' in draw("{{ text|with_terms }}", text=text)

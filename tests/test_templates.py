"""What templates may rely on: escaping, what is missing, and whose value counts."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template import engines
from django.test import RequestFactory
from django.utils.safestring import SafeString
from jinja2 import UndefinedError


def draw(source: str, request=None, **context) -> str:
    return engines["jinja"].from_string(source).render(context, request)


@pytest.mark.parametrize(
    ("value", "html"),
    [
        ("<b>'", "&lt;b&gt;&#x27;"),
        (SafeString("<b>"), "<b>"),
        (1.5, "1.5"),
        (None, "None"),
    ],
)
def test_what_is_printed_is_escaped_unless_it_is_markup(value, html):
    assert draw("{{ value }}", value=value) == html


def test_a_macro_is_markup_and_what_it_was_given_is_escaped_once():
    source = '{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}{{ bold("<") }}{{ bold("<") ~ ">" }}'
    assert draw(source) == "<b>&lt;</b><b>&lt;</b>&gt;"


def test_what_is_missing_can_be_asked_for_but_not_printed_or_gone_through():
    assert draw("{% if not run.name %}none{% endif %}{{ run.name or 'no name' }}") == "noneno name"
    for source in ("{{ run }}", "{{ run.name }}", "{% for each in runs %}{% endfor %}"):
        with pytest.raises(UndefinedError):
            draw(source)


def test_what_a_view_gives_goes_before_what_all_pages_have():
    request = RequestFactory().get("/?page=2")
    request.user, request.resolver_match = AnonymousUser(), None
    of_view = {"user": {"name": "vera"}, "csrf_token": "t"}
    assert draw("{{ user.name }} {{ csrf_token }}", request, **of_view) == "vera t"
    assert draw("{{ querystring(page=none, by='a') }}", request) == "?by=a"


def test_a_headline_keeps_numbers_with_their_units_and_ends_long_words():
    sentence = [("In 3 min 20 s p95 is below 50 ms of ", False), ("x" * 100, True)]
    html = draw("{{ bold_words(sentence) }}", sentence=sentence)
    assert html.startswith("In 3\u202fmin 20\u202fs p95 is below 50\u202fms of <b>xxx")
    assert len(html) < 100

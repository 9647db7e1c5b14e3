"""Templates in Jinja2: Django's backend, and what all of them may call without an import."""

import html
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest
from django.template import defaultfilters
from django.template.backends import jinja2 as django_jinja2
from django.template.backends.utils import csrf_token_lazy
from django.templatetags import tz
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import json_script
from jinja2.compiler import CodeGenerator
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

from campaigns import template_words as words
from campaigns.domain import units
from campaigns.domain.presentation.badges import GLYPHS, glyph_of
from campaigns.domain.presentation.cost_words import duration_words
from campaigns.domain.presentation.glossary import split_at_terms, term_of
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.what_to_do import words_of

# Their macros are called from all templates by name.
_MACROS = ("marks", "charts", "forms", "tables")
_GLOBAL_WORDS = (
    "get_notified", "imports_of", "moment", "page_address", "page_notes", "sort_order",
)  # fmt: skip
_FILTER_WORDS = (
    *("cell_look", "cell_looks", "clock_words", "ends_at", "headline_text", "in_ms", "mode_words"),
    *("page_of", "percent_words", "person", "plan_names", "signed_second", "target_names", "took"),
    *("without_query", "without_scheme"),
)


class Engine(django_jinja2.Jinja2):
    """Its pages are rendered with what the view gives before what context processors add."""

    def from_string(self, template_code: str) -> "Page":
        return Page(super().from_string(template_code).template, self)

    def get_template(self, template_name: str) -> "Page":
        return Page(super().get_template(template_name).template, self)


class Page(django_jinja2.Template):
    def render(
        self, context: dict[str, Any] | None = None, request: HttpRequest | None = None
    ) -> str:
        extra: dict[str, Any] = {}
        if request is not None:
            extra = {"request": request, "csrf_token": csrf_token_lazy(request)}
            for processor in self.backend.template_context_processors:
                extra |= processor(request)
        return self.template.render(extra | (context or {}))


class _Writer(CodeGenerator):
    """Writes `environment.escape(…)` where Jinja2 writes `escape(…)`."""

    def _output_child_pre(self, node: Any, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape:
            return super()._output_child_pre(node, frame, finalize)
        self.write("environment.escape(")
        return self.write(finalize.src) if finalize.src is not None else None


class Environment(jinja2.Environment):
    code_generator_class = _Writer

    @staticmethod
    def escape(value: Any) -> str:
        """Jinja2's own makes a Markup of whatever is printed, which took most of a table's time."""
        kind = type(value)
        if kind is str:
            return html.escape(value)
        return value if kind is Markup else escape(value)


def environment(**options: Any) -> Environment:
    env = Environment(**options)
    env.globals |= {
        "GLYPHS": GLYPHS,
        "current_zone": timezone.get_current_timezone_name,
        "querystring": querystring,
        "split_at_terms": split_at_terms,
        "static": static,
        "term_of": term_of,
        "url": url,
        "zip": zip,
        **{name: getattr(words, name) for name in _GLOBAL_WORDS},
    }
    env.filters |= {
        "badge_of": words.badge,
        "capfirst": defaultfilters.capfirst,
        "counted": units.counted,
        "date": date,
        "duration_words": duration_words,
        "error_words": words_of,
        "floatformat": defaultfilters.floatformat,
        "glyph_of": glyph_of,
        "intcomma": intcomma,
        "json_script": json_script,
        "load_words": plan_load_words,
        "localtime": timezone.localtime,
        "once": once,
        "plain_words": plain_text,
        "pluralize": defaultfilters.pluralize,
        "sized": units.size,
        "truncatechars": defaultfilters.truncatechars,
        "utc": tz.utc,
        **{name: getattr(words, name) for name in _FILTER_WORDS},
    }
    for name in _MACROS:
        parts = vars(env.get_template(f"macros/{name}.html").module)
        env.globals |= {key: part for key, part in parts.items() if isinstance(part, Macro)}
    return env


@lru_cache(1000)
def once(macro: Macro, *arguments: Any) -> Markup:
    """What a macro of few different arguments makes of these."""
    return macro(*arguments)


def url(name: str, *args: Any, **kwargs: Any) -> str:
    return reverse(name, args=args, kwargs=kwargs)


def date(instant: datetime | None, form: str) -> str:
    """As the reader's clock has it; "" of None."""
    return defaultfilters.date(timezone.template_localtime(instant), form)


@jinja2.pass_context
def querystring(context: Context, **changes: Any) -> str:
    """The page's own with these changes; None leaves a name out."""
    query = context["request"].GET.copy()
    had_some = bool(query)
    for name, value in changes.items():
        if value is None:
            query.pop(name, None)
        else:
            query[name] = value
    return f"?{query.urlencode()}" if query or had_some else ""

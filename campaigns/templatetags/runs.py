"""The rows of the list of a campaign's runs. A page has a hundred: a template takes several times
as long."""

from collections.abc import Sequence
from html import escape
from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from campaigns.models import Run
from campaigns.templatetags.marks import badge
from campaigns.templatetags.pages import tds
from campaigns.templatetags.results import without_scheme

register = template.Library()


@register.filter
def linked_runs(rows: Sequence[dict[str, Any]]) -> SafeString:
    """Each row has its run, the name of its arm, and the cells of its figures."""
    return SafeString("\n".join(_tr(**each, is_linked=True) for each in rows))


@register.filter
def plain_runs(rows: Sequence[dict[str, Any]]) -> SafeString:
    """The same without links, for visitors of a share link."""
    return SafeString("\n".join(_tr(**each, is_linked=False) for each in rows))


def _tr(run: Run, arm: str, figures: Sequence[Any], *, is_linked: bool) -> str:
    label, words = escape(run.label), escape(without_scheme(arm))
    scheme = escape(run.test.endpoint.scheme)
    if is_linked:
        label = f'<a href="{reverse("run-detail", args=[run.pk])}">{label}</a>'
    if is_linked and not run.test.swept:
        page = reverse("history-test", args=[run.test_id])
        words = f'<a href="{page}" title="History of this test">{words}</a>'
    return (
        f'<tr{_kind(run)}><th scope="row">{label}</th><td>{badge(run)}</td>'
        f'<td><span class="scheme-{scheme}">{scheme.upper()}</span> {words}</td>'
        f'<td class="named">{escape(run.frozen.plan_label)}</td>'
        f'<td class="num">{run.repeat}</td>{tds(figures)}</tr>'
    )


def _kind(run: Run) -> str:
    if run.is_active:
        return ' class="selected"'
    return ' class="row-grey"' if run.trust == "not_usable" else ""

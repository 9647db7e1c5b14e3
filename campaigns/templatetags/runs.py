"""The rows of lists of runs: of a campaign's, and of all of a project's. A page has a hundred: a
template takes several times as long."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from campaigns.domain.presentation.tables import Cell
from campaigns.domain.units import DASH
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
        f'<td class="num">{run.place}</td>{tds(figures)}</tr>'
    )


def _kind(run: Run) -> str:
    if run.is_active:
        return ' class="selected"'
    return ' class="row-grey"' if run.trust == "no_answer" else ""


@register.simple_tag
def listed_runs(rows: Iterable[tuple[Run, Sequence[Cell]]], ticked: Collection[str]) -> SafeString:
    """Each row is a run with the cells of its figures; the ids of those that are `ticked` to be
    compared."""
    return SafeString("\n".join(_listed(*row, str(row[0].pk) in ticked) for row in rows))


def _listed(run: Run, figures: Sequence[Cell], is_ticked: bool) -> str:
    label, frozen = escape(run.label), run.frozen
    place = run.place if run.is_alone else f"block {run.repeat}"
    scheme = escape(frozen.endpoint.scheme)
    return (
        f'<tr><td><label class="tick"><input type="checkbox" name="run" value="{run.pk}"'
        f'{" checked" if is_ticked else ""} aria-label="Compare run {label}"></label></td>'
        f'<th scope="row" class="name"><a href="{reverse("run-detail", args=[run.pk])}">{label}</a>'
        f"{_second(run.campaign.name)}</th><td>{badge(run)}</td>"
        f'<td class="named">{escape(frozen.target)}{_second(frozen.plan_label)}</td>'
        f'<td class="nowrap"><span class="scheme-{scheme}">{scheme.upper()}</span> '
        f"{escape(frozen.connection_mode)}{_second(place)}</td>"
        f"{tds(figures)}{_ended(run)}</tr>"
    )


def _second(words: str) -> str:
    return f'<span class="second-line">{escape(words)}</span>'


def _ended(run: Run) -> str:
    if run.ended_at is None:
        return f'<td class="num">{DASH}</td>'
    at = localtime(run.ended_at)
    return f'<td class="num" title="{at:%-d %b %Y %H:%M:%S}">{at:%-d %b %H:%M}</td>'

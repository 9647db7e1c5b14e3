"""Campaigns, tests or runs against a baseline: `?a=campaign-7&b=campaign-12`, up to six columns."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from campaigns.domain.errors import InvalidFields
from campaigns.domain.shown.compared import Comparison
from campaigns.exports.files import text_file
from campaigns.exports.tables import csv_of_tables
from campaigns.models import Run
from campaigns.permissions import Action, Actor, may
from campaigns.queries.columns import LETTERS, ComparisonSide, columns_of, in_common_with
from campaigns.queries.compared_tests import comparison_of
from campaigns.queries.confirming import confirm_query
from campaigns.views.access import actor_of, find
from campaigns.views.comparison_page import comparison_context, query_of


@login_required
@require_GET
def comparison(request: HttpRequest) -> HttpResponse:
    """The comparison; with one column the choice of another; ticked runs become columns."""
    if "run" in request.GET:
        # Two to six ticked runs as columns, the oldest of which is the baseline.
        ticked = list(dict.fromkeys(pk for pk in request.GET.getlist("run") if pk.isdecimal()))
        runs = [find(Run, actor_of(request), pk=pk) for pk in ticked[: len(LETTERS) + 1]]
        if 2 <= len(runs) <= len(LETTERS):
            ordered = sorted(run.pk for run in runs)
            columns = {letter: f"run-{pk}" for letter, pk in zip(LETTERS, ordered, strict=False)}
            return redirect(f"{reverse('comparison')}?{urlencode(columns)}")
        told = f"Tick two to {len(LETTERS)} runs to compare them; {len(runs) or 'none'} are ticked."
        messages.error(request, told)
        if runs:
            return redirect("run-list", project=runs[0].campaign.project_id)
        return redirect("project-list")
    try:
        columns = _columns(request)
    except InvalidFields as fault:
        context = {"faults": list(dict.fromkeys(fault.errors.values()))}
        return render(request, "comparisons/choose.html", context, status=422)
    if len(columns) < 2 or request.GET.get("choose") in [*LETTERS]:
        return render(request, "comparisons/choose.html", _choice(request, columns))
    compared = comparison_of(columns, request.GET.get("test", ""), request.GET.get("show", ""))
    context = comparison_context(columns, compared, request.GET)
    context |= _confirming(actor_of(request), columns, compared)
    projects = {column.campaign.project for column in columns}
    if all(may(actor_of(request), Action.SHARE, each) for each in projects):
        context["share_url"] = f"{reverse('comparison-share')}?{context['columns_query']}"
    return render(request, "comparisons/detail.html", context)


@login_required
@require_GET
def comparison_csv(request: HttpRequest) -> HttpResponse:
    """The comparison's tests, a row each."""
    try:
        columns = _columns(request)
    except InvalidFields:
        raise Http404 from None
    if len(columns) < 2:
        raise Http404
    return text_file("comparison.csv", csv_of_tables([comparison_of(columns).table]))


def _confirming(actor: Actor, columns: list[ComparisonSide], compared: Comparison) -> dict:
    """The way to a campaign in which the sides of changed tests run in turn, for those who may."""
    projects = {each.campaign.project for each in columns}
    pairs = [
        (each.baseline_test_id, each.candidate_test_id)
        for each in compared.tests
        if each.can_be_confirmed
    ]
    if not pairs or len(projects) > 1 or not may(actor, Action.EDIT, *projects):
        return {}
    path = reverse("campaign-new", args=[columns[0].campaign.project_id])
    return {"confirm_url": f"{path}?confirm={confirm_query(pairs)}", "n_confirmed": len(pairs)}


def _columns(request: HttpRequest) -> list[ComparisonSide]:
    columns = columns_of(actor_of(request), request.GET)
    if columns is None:
        raise Http404
    return columns


def _choice(request: HttpRequest, columns: list[ComparisonSide]) -> dict[str, Any]:
    """The campaigns that can be one more column, or the one that `choose` names."""
    if not columns:
        return {"faults": []}
    letter = request.GET.get("choose") or ("b" if columns[0].letter == "a" else "a")
    column = next((each for each in reversed(columns) if each.letter != letter), columns[0])
    taken = {each.reference for each in columns}
    return {
        "project": column.campaign.project,
        "column": column,
        "is_baseline": letter == "a",
        "choices": [
            (choice, query_of(request.GET, **{letter: f"campaign-{choice.campaign.pk}"}))
            for choice in in_common_with(actor_of(request), column.campaign)
            if f"campaign-{choice.campaign.pk}" not in taken
        ],
        "faults": [],
    }

"""Campaigns, tests or runs against a baseline: `?a=campaign-7&b=campaign-12`, up to six columns.
The context of a comparison's page, and where its marks are drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.charts import Charts
from campaigns.domain.presentation.compared import (
    ComparedDetail,
    ComparedTest,
    Comparison,
    reference_of,
    shift_table,
    shift_words,
    which_listed,
)
from campaigns.domain.presentation.intervals import change_ends
from campaigns.domain.units import and_joined
from campaigns.exports.tables import csv_of_tables, text_file
from campaigns.models import Run
from campaigns.permissions import Action, Actor, may
from campaigns.queries.columns import LETTERS, ComparisonSide, columns_of, in_common_with
from campaigns.queries.compared_tests import comparison_of
from campaigns.queries.references import confirm_query
from campaigns.views.access import actor_of, find, signed_in_get
from campaigns.views.drawings import RatioAxis, RatioMark, split_rows_bars
from campaigns.views.plots import percentile_charts, shift_panel


@signed_in_get
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


@signed_in_get
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


_MOST_EXPLAINED = 24  # rows that say why at once; with more, the open one does


@dataclass(frozen=True, slots=True)
class Plot:
    """A row's drawing in percent of the width: each run's position, and the interval."""

    baseline: list[tuple[float, str]]
    candidate: list[tuple[float, str]]
    mark: RatioMark | None


def comparison_context(
    columns: Sequence[ComparisonSide], compared: Comparison, asked: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the template shows; `asked` is the address."""
    which = which_listed(compared.tests, asked.get("show", ""))
    tests = compared.shown(which)
    shown = [*tests, *compared.references]
    threshold = columns[-1].campaign.practical_threshold
    axis = RatioAxis([[ends] for test in shown if (ends := _ends(test))], threshold)
    names = {column.letter: column for column in columns}
    rows = _rows(compared, shown, axis, threshold)
    detail = compared.detail
    candidates = and_joined([column.name for column in columns[1:]])
    return {
        "project": columns[-1].campaign.project,
        "heading": f"{candidates[:1].upper()}{candidates[1:]} against {columns[0].name}",
        "columns": columns,
        "baseline": columns[0],
        "candidates": columns[1:],
        "compared": compared,
        "differs": [
            {"difference": each, "column": names[each.column]} for each in compared.differs
        ],
        "capacities": [(names[each.column], each) for each in compared.capacities],
        "axis": axis,
        "threshold": threshold,
        "rows": [
            {**row, "column": names[test.column], "query": query_of(asked, test=test.key)}
            for test, row in zip(shown, rows, strict=True)
        ],
        "n_listed": len(tests),
        "shown": which,
        **_queries(columns, compared, which, asked),
        "detail": detail,
        "split_names": {"baseline": columns[0].name},
        **(_opened(detail, threshold) if detail else {}),
    }


def _rows(
    compared: Comparison, shown: Sequence[ComparedTest], axis: RatioAxis, threshold: float
) -> Iterator[dict[str, Any]]:
    """What the table has of each test, and where it is drawn."""
    known = [*compared.tests, *compared.references]
    cells = dict(zip((test.key for test in known), compared.table.rows, strict=True))
    opened = compared.detail.test.key if compared.detail else None
    for test in shown:
        keys = (column.key for column in compared.table.columns)
        baseline, candidate = (
            [(axis.at(ratio), label) for ratio, label in side] for side in _ratios(test)
        )
        found = test.interval
        mark = None
        if found:
            ends = {"ratio": found.ratio, "low": found.low, "high": found.high, "primary": True}
            mark = axis.mark(ends)
        yield {
            "test": test,
            "cells": dict(zip(keys, cells[test.key].cells, strict=True)),
            "reference": reference_of([test]) if test in compared.references else "",
            "change": _interval_words(test),
            "power_class": "" if _is_weak(test, threshold) else "ink-3",
            "plot": Plot(baseline, candidate, mark),
            "is_open": test.key == opened,
            "says_why": test.key == opened or len(shown) <= _MOST_EXPLAINED,
        }


def _queries(
    columns: Sequence[ComparisonSide], compared: Comparison, which: str, asked: Mapping[str, str]
) -> dict[str, Any]:
    """Where the page's own links lead."""
    # Of the page on which one more column is chosen; "" if there can be no more.
    free = [letter for letter in LETTERS if letter not in {each.letter for each in columns}]
    return {
        "switches": [
            (each, n, query_of(asked, show=each), each == which)
            for each, n in compared.n_shown().items()
        ],
        "baseline_query": query_of(asked, choose=LETTERS[0], test=""),
        "column_query": query_of(asked, choose=free[0], test="") if free else "",
        "swap_query": query_of(asked, a=columns[1].reference, b=columns[0].reference, test=""),
        "columns_query": query_of(asked, show="", test=""),
    }


def _opened(detail: ComparedDetail, threshold: float) -> dict[str, Any]:
    """What is drawn below the selected test."""
    return {
        "bars": split_rows_bars(detail.split.rows, detail.split.decimals) if detail.split else {},
        "noun": detail.noun,
        "charts": _charts(detail, threshold),
        "shift_table": shift_table(detail.shift) if detail.shift else None,
    }


def _charts(detail: ComparedDetail, threshold: float) -> Charts | None:
    words = shift_words(detail.shift) if detail.shift else ""
    shift = shift_panel(detail.shift, threshold, detail.lines, detail.test.scheme, words)
    note = "baseline dotted, candidate solid"
    return percentile_charts("percentiles", detail.lines, "both sides", note, shift)


def _interval_words(test: ComparedTest) -> str:
    """Such as "+7.6, +11.5"; "" without an interval."""
    found = test.interval
    if found is None:
        return ""
    return ", ".join(change_ends(found.ratio, found.low, found.high))


def _is_weak(test: ComparedTest, threshold: float) -> bool:
    """Whether even a difference of the practical threshold could have been missed."""
    return test.could_have_shown is not None and test.could_have_shown > threshold


def query_of(asked: Mapping[str, str], **changes: str) -> str:
    """The address's query with some parameters changed; an empty one is left out."""
    query = QueryDict(mutable=True)
    kept = {name: asked[name] for name in (*LETTERS, "show", "test") if asked.get(name)}
    query.update({name: value for name, value in {**kept, **changes}.items() if value})
    return query.urlencode()


def _ends(test: ComparedTest) -> dict[str, float]:
    """The outermost of interval and runs, as ratios to the baseline's mean; {} for none."""
    ratios = [ratio for side in _ratios(test) for ratio, _ in side]
    if test.interval:
        ratios += [test.interval.low, test.interval.high]
    return {"low": min(ratios), "high": max(ratios)} if ratios else {}


def _ratios(test: ComparedTest) -> list[list[tuple[float, str]]]:
    interval = test.interval
    one = interval.baseline if interval else test.row.baseline
    if not one:
        return [[], []]
    return [[(dot.value_us / one, dot.label) for dot in side] for side in test.runs]

"""Campaigns, tests or runs against a baseline: `?a=campaign-7&b=campaign-12`, up to six columns.
The context of a comparison's page, and where its marks are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.badges import PILLS, Pill
from campaigns.domain.presentation.charts import Charts, LineStyle
from campaigns.domain.presentation.compared import (
    ENVIRONMENT,
    MOST_LISTED,
    ComparedCapacity,
    ComparedDetail,
    ComparedTest,
    Comparison,
    reference_of,
    shift_words,
    which_listed,
)
from campaigns.domain.presentation.compared_words import difference_decimals, time_decimals
from campaigns.domain.presentation.intervals import change_words
from campaigns.domain.presentation.tables import Cell, text_cell
from campaigns.domain.units import and_joined, count, decimals_alone, figure, number, with_unit
from campaigns.exports.tables import csv_of_tables, text_file
from campaigns.models import Run
from campaigns.permissions import Action, Actor, may
from campaigns.queries.columns import LETTERS, ComparisonSide, columns_of, in_common_with
from campaigns.queries.compared_tests import comparison_of
from campaigns.queries.references import confirm_query
from campaigns.views.access import actor_of, find, signed_in_get
from campaigns.views.drawings import LinearAxis, split_rows_bars
from campaigns.views.plots import difference_panel, percentile_charts


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
_WIDEST = 4  # times the largest difference or band; an interval beyond that is cut off


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One row of differences. `cells`: baseline, candidate and difference, `ends` and `ratio` the
    interval and the ratio in words. Places are percent of the axis: `band` of what is no difference
    in practice, `bar` of the interval, `at` of the best estimate. `pill`: None where `said` is
    nothing that needs the eye."""

    cells: Sequence[Cell]
    ends: str
    ratio: str
    word: str
    said: str
    why: str
    band: tuple[float, float] | None = None
    bar: tuple[float, float] | None = None
    at: float | None = None

    @property
    def pill(self) -> Pill | None:
        return None if self.said == ENVIRONMENT else PILLS.get(self.word)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row draws: the estimate, the ends of its interval, and of what is no difference."""

    estimate: float | None
    ends: tuple[float, float] | None
    band: tuple[float, float] | None


def comparison_context(
    columns: Sequence[ComparisonSide], compared: Comparison, asked: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the template shows; `asked` is the address."""
    which = which_listed(compared.tests, asked.get("show", ""))
    tests = compared.shown(which)
    threshold = columns[-1].campaign.practical_threshold
    names = {column.letter: column for column in columns}
    detail = compared.detail
    candidates = and_joined([column.name for column in columns[1:]])
    context = {
        "project": columns[-1].campaign.project,
        "heading": f"{candidates[:1].upper()}{candidates[1:]} against {columns[0].name}",
        "columns": columns,
        "baseline": columns[0],
        "candidates": columns[1:],
        "compared": compared,
        "differs": [
            {"difference": each, "column": names[each.column]} for each in compared.differs
        ],
        "threshold": threshold,
        "shown": which,
        "n_folded": len(compared.tests) - len(tests),
        "rates": _rates(compared.capacities, names, threshold),
        "times": _times(compared, [*tests, *compared.references], names, threshold, asked),
        **_queries(columns, compared, which, asked),
        "detail": detail,
        **(_opened(detail, threshold) if detail else {}),
    }
    return {**context, "tabs": _tabs(compared)}


def _tabs(compared: Comparison) -> list[tuple[str, str, str]]:
    """(panel, title, how many) of those that have something, where there are two."""
    n_differs = len(compared.differs)
    tabs = [
        ("result", "Result", "", compared.tests or compared.capacities),
        ("runs", "Runs", "", compared.detail),
        ("changed", "What changed", count(n_differs), n_differs),
        ("machine", "Machine", "", compared.profiles),
        ("setup", "Setup", "", compared.same or compared.alone),
    ]
    found = [(key, title, n) for key, title, n, is_there in tabs if is_there]
    return found if len(found) > 1 else []


def _times(
    compared: Comparison,
    shown: Sequence[ComparedTest],
    names: Mapping[str, ComparisonSide],
    threshold: float,
    asked: Mapping[str, str],
) -> dict[str, Any] | None:
    """The response times of the tests that are shown; None without any."""
    if not shown:
        return None
    known = [*compared.tests, *compared.references]
    cells = dict(zip((each.key for each in known), compared.table.rows, strict=True))
    opened = compared.detail.test.key if compared.detail else None
    explains = 1 < len(shown) <= _MOST_EXPLAINED  # of a single one the sentence says it
    decimals = time_decimals(known)
    rows = [
        (
            {
                "test": each,
                "column": names[each.column],
                "query": query_of(asked, test=each.key),
                "is_open": each.key == opened,
                "reference": reference_of([each]) if each in compared.references else "",
            },
            DifferenceRow(
                cells[each.key].cells[:3],
                _ends_words(each.difference_ends_us, difference_decimals(each, decimals)),
                "" if each.increase is None else change_words(1 + each.increase),
                each.word,
                each.said,
                each.why if explains or (each.key == opened and len(shown) > 1) else "",
            ),
            _drawn_time(each, threshold),
        )
        for each in shown
    ]
    return _differences(rows, "ms")


def _ends_words(ends_us: tuple[float, float] | None, decimals: int) -> str:
    if ends_us is None:
        return ""
    return " to ".join(number(us / 1000, decimals, signed=True) for us in ends_us)


def _drawn_time(test: ComparedTest, threshold: float) -> Drawn:
    baseline_us, _ = test.times_us
    ends_us, difference_us = test.difference_ends_us, test.difference_us
    return Drawn(
        difference_us and difference_us / 1000,
        ends_us and (ends_us[0] / 1000, ends_us[1] / 1000),
        _band(baseline_us and baseline_us / 1000, threshold) if ends_us else None,
    )


def _band(baseline: float | None, threshold: float) -> tuple[float, float] | None:
    return baseline and ((1 / (1 + threshold) - 1) * baseline, threshold * baseline)


def _rates(
    capacities: Sequence[ComparedCapacity], names: Mapping[str, ComparisonSide], threshold: float
) -> dict[str, Any] | None:
    """The capacities of searches; None where neither side has any."""
    rows = []
    for each in capacities:
        if not (each.baseline or each.candidate):
            continue
        difference, ends, drawn = "", "", Drawn(None, None, None)
        if found := each.ratio:
            per_s = each.baseline.rate_per_s
            estimate, low, high = (
                (ratio - 1) * per_s for ratio in (found.ratio, found.low, found.high)
            )
            difference, *both = (figure(each, signed=True) for each in (estimate, low, high))
            ends = " to ".join(both)
            drawn = Drawn(estimate, (low, high), _band(per_s, threshold))
        words = (each.baseline_words, each.candidate_words, difference)
        row = DifferenceRow(
            [text_cell(text) for text in words],
            ends,
            (found and change_words(found.ratio)) or "",
            each.word,
            each.word,
            each.why,
        )
        rows.append(({"column": names[each.column]}, row, drawn))
    return _differences(rows, "requests/s") if rows else None


def _differences(
    rows: Sequence[tuple[dict[str, Any], DifferenceRow, Drawn]], unit: str
) -> dict[str, Any]:
    """{"unit", "ticks", "zero": where no difference is, "rows", "has_ends"}; without an estimate
    there are no ticks and nothing is drawn."""
    drawn = [each for _, _, each in rows if each.estimate is not None]
    table = {"unit": unit, "has_ends": any(row.ends for _, row, _ in rows)}
    if not drawn:
        return {**table, "rows": [{**known, "row": row} for known, row, _ in rows]}
    values = [
        0.0,
        *(end for each in drawn for ends in (each.ends, each.band) for end in ends or ()),
    ]
    sizes = [abs(end) for each in drawn for end in (each.estimate, *(each.band or ()))]
    most = _WIDEST * max(sizes)
    values = [min(most, max(-most, each)) for each in [*values, *(d.estimate for d in drawn)]]
    axis = LinearAxis(values)
    placed = [
        {
            **known,
            "row": replace(
                row,
                at=None if each.estimate is None else axis.at(each.estimate),
                bar=each.ends and axis.span(*each.ends),
                band=each.band and axis.span(*each.band),
            ),
        }
        for known, row, each in rows
    ]
    ticks = axis.ticks(lambda value: number(value, decimals_alone(value), signed=True))
    return {**table, "zero": axis.at(0), "ticks": ticks, "rows": placed}


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
        ]
        if len(compared.tests) > MOST_LISTED
        else [],
        "baseline_query": query_of(asked, choose=LETTERS[0], test=""),
        "column_query": query_of(asked, choose=free[0], test="") if free else "",
        "swap_query": query_of(asked, a=columns[1].reference, b=columns[0].reference, test=""),
        "columns_query": query_of(asked, show="", test=""),
    }


def _opened(detail: ComparedDetail, threshold: float) -> dict[str, Any]:
    """What is drawn below the selected test."""
    split = detail.split
    bars = split_rows_bars(split.rows, split.decimals) if split else {}
    return {
        "bars": bars and bars | {"note": _longest_change(detail)},
        "noun": detail.noun,
        "charts": _charts(detail, threshold),
    }


def _longest_change(detail: ComparedDetail) -> str:
    """wait takes 3.01 ms longer: of a test that changed, the part that changed most."""
    if not detail.test.is_changed:
        return ""
    before, after = (row["parts"] for row in detail.split.rows)
    changes = {part: (after.get(part) or 0.0) - (before.get(part) or 0.0) for part in before}
    part = max(changes, key=lambda each: abs(changes[each]))
    size = with_unit(figure(abs(changes[part])), "ms")
    return f"{part} takes {size} {'longer' if changes[part] > 0 else 'less'}"


_BASELINE = LineStyle("ink-3", (4, 3), is_hollow=True)


def _charts(detail: ComparedDetail, threshold: float) -> Charts | None:
    baseline, candidate = detail.lines
    lines = [{**baseline, "style": _BASELINE}, candidate]
    words = shift_words(detail.shift) if detail.shift else ""
    difference = difference_panel(detail.shift, threshold, lines, words)
    return percentile_charts("percentiles", lines, "both sides", beside=difference)


def query_of(asked: Mapping[str, str], **changes: str) -> str:
    """The address's query with some parameters changed; an empty one is left out."""
    query = QueryDict(mutable=True)
    kept = {name: asked[name] for name in (*LETTERS, "show", "test") if asked.get(name)}
    query.update({name: value for name, value in {**kept, **changes}.items() if value})
    return query.urlencode()

"""Campaigns, tests or runs against a baseline: `?a=campaign-7&b=campaign-12`, up to six columns.
The context of a comparison's page, and where its marks are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.references import confirm_query
from campaigns.compare.queries.columns import LETTERS, ComparisonSide, columns_of, in_common_with
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.access import actor_of, find, signed_in_get
from campaigns.core.drawings import LinearAxis, split_rows_bars
from campaigns.core.permissions import Action, may
from campaigns.core.plots import difference_panel, percentile_charts
from campaigns.core.tables import csv_of_tables, text_file
from campaigns.domain.errors import InvalidFields
from campaigns.domain.presentation.badges import PILLS, Pill
from campaigns.domain.presentation.charts import LineStyle
from campaigns.domain.presentation.compared import (
    ENVIRONMENT,
    ComparedCapacity,
    ComparedDetail,
    ComparedTest,
    Comparison,
    listed,
    reference_of,
    shift_words,
)
from campaigns.domain.presentation.compared_words import (
    difference_decimals,
    time_and_difference_decimals,
)
from campaigns.domain.presentation.intervals import change_words
from campaigns.domain.presentation.tables import Cell, text_cell
from campaigns.domain.units import MINUS, and_joined, count, figure, number, with_unit
from campaigns.models import Run


@signed_in_get
def comparison(request: HttpRequest) -> HttpResponse:
    """The comparison; with one column the choice of another; ticked runs become columns."""
    if "run" in request.GET:
        # Two to six ticked runs as columns, the oldest of which is the baseline.
        pks = list(dict.fromkeys(pk for pk in request.GET.getlist("run") if pk.isdecimal()))
        runs = [find(Run, actor_of(request), pk=pk) for pk in pks[: len(LETTERS) + 1]]
        if 2 <= len(runs) <= len(LETTERS):
            numbers = sorted(run.pk for run in runs)
            columns = {letter: f"run-{pk}" for letter, pk in zip(LETTERS, numbers, strict=False)}
            return redirect(f"{reverse('comparison')}?{urlencode(columns)}")
        ticked = "1 is" if len(runs) == 1 else f"{len(runs) or 'none'} are"
        words = f"Tick two to {len(LETTERS)} runs to compare them; {ticked} ticked."
        messages.error(request, words)
        if runs:
            return redirect("run-list", project=runs[0].campaign.project_id)
        return redirect("project-list")
    try:
        columns = _columns(request)
    except InvalidFields as fault:
        context = {"faults": list(dict.fromkeys(fault.errors.values()))}
        return render(request, "compare/choose.html", context, status=422)
    if len(columns) < 2 or request.GET.get("choose") in [*LETTERS]:
        return render(request, "compare/choose.html", _choice(request, columns))
    result = comparison_of(columns, request.GET.get("test", ""))
    context = comparison_context(columns, result, request.GET)
    projects = {column.campaign.project for column in columns}
    # The way to a campaign in which the sides of changed tests run in turn.
    pairs = [
        (each.baseline_test_id, each.candidate_test_id)
        for each in result.tests
        if each.can_be_confirmed
    ]
    if pairs and len(projects) == 1 and may(actor_of(request), Action.EDIT, *projects):
        path = reverse("campaign-new", args=[columns[0].campaign.project_id])
        context["confirm_url"] = f"{path}?confirm={confirm_query(pairs)}"
        context["n_confirmed"] = len(pairs)
    if all(may(actor_of(request), Action.SHARE, each) for each in projects):
        context["share_url"] = f"{reverse('comparison-share')}?{context['columns_query']}"
    return render(request, "compare/detail.html", context)


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
    references = {each.reference for each in columns}
    return {
        "project": column.campaign.project,
        "column": column,
        "is_baseline": letter == "a",
        "choices": [
            (choice, query_of(request.GET, **{letter: f"campaign-{choice.campaign.pk}"}))
            for choice in in_common_with(actor_of(request), column.campaign)
            if f"campaign-{choice.campaign.pk}" not in references
        ],
        "faults": [],
    }


_MOST_EXPLAINED = 24  # rows that say why at once; with more, the open one does
_WIDEST = 4  # times the largest difference or band; an interval beyond that is cut off


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One row of differences. `cells`: baseline, candidate and difference, `ends` and `ratio` the
    interval and the ratio in words. What is drawn is in the table's unit: the `estimate`, the
    `limits` of its interval, and the `band` of what is no difference in practice."""

    cells: Sequence[Cell]
    ends: str
    ratio: str
    word: str
    said: str
    why: str
    estimate: float | None = None
    limits: tuple[float, float] | None = None
    band: tuple[float, float] | None = None

    @property
    def pill(self) -> Pill | None:
        """None of what is nothing that needs the eye."""
        return None if self.said == ENVIRONMENT else PILLS.get(self.word)


def comparison_context(
    columns: Sequence[ComparisonSide], result: Comparison, params: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that the template shows; `params` is the address."""
    has_all = params.get("show") == "everything"
    tests = result.tests if has_all else listed(result.tests)
    threshold = columns[-1].campaign.practical_threshold
    names = {column.letter: column for column in columns}
    detail = result.detail
    candidates = and_joined([column.name for column in columns[1:]])
    # Of the page on which one more column is chosen; "" if there can be no more.
    free = [letter for letter in LETTERS if letter not in {each.letter for each in columns}]
    context = {
        "project": columns[-1].campaign.project,
        "heading": f"{candidates[:1].upper()}{candidates[1:]} against {columns[0].name}",
        "columns": columns,
        "baseline": columns[0],
        "candidates": columns[1:],
        "compared": result,
        "differs": [{"difference": each, "column": names[each.column]} for each in result.differs],
        "threshold": threshold,
        "n_folded": len(result.tests) - len(tests),
        "rates": _rates(result.capacities, names, threshold),
        "times": _times(result, [*tests, *result.references], names, threshold, params),
        "everything_query": query_of(params, show="everything"),
        "baseline_query": query_of(params, choose=LETTERS[0], test=""),
        "column_query": query_of(params, choose=free[0], test="") if free else "",
        "swap_query": query_of(params, a=columns[1].reference, b=columns[0].reference, test=""),
        "columns_query": query_of(params, show="", test=""),
        "detail": detail,
        **(_detail_drawings(detail, threshold) if detail else {}),
    }
    # (panel, title, how many) of those that have something, where there are two.
    n_differs = len(result.differs)
    tabs = [
        ("result", "Result", "", result.tests or result.capacities),
        ("runs", "Runs", "", result.detail),
        ("changed", "What changed", count(n_differs), n_differs),
        ("machine", "Machine", "", result.profiles),
        ("setup", "Setup", "", result.same or result.alone),
    ]
    there = [(key, title, n) for key, title, n, is_there in tabs if is_there]
    return {**context, "tabs": there if len(there) > 1 else []}


def _times(
    result: Comparison,
    tests: Sequence[ComparedTest],
    names: Mapping[str, ComparisonSide],
    threshold: float,
    params: Mapping[str, str],
) -> dict[str, Any] | None:
    """The response times of the tests that are shown; None without any."""
    if not tests:
        return None
    all_tests = [*result.tests, *result.references]
    cells = dict(zip((each.key for each in all_tests), result.table.rows, strict=True))
    key = result.detail.test.key if result.detail else None
    (_, decimals), n = time_and_difference_decimals(all_tests), len(tests)
    # Of a single test, or where all have one reason, the sentence says it.
    tells_why = len({each.why for each in tests}) > 1
    rows = [
        (
            {
                "test": each,
                "column": names[each.column],
                "query": query_of(params, test=each.key),
                "is_open": each.key == key,
                "reference": reference_of([each]) if each in result.references else "",
            },
            DifferenceRow(
                cells[each.key].cells[:3],
                _ends_words(each, decimals),
                "" if each.increase is None else change_words(1 + each.increase),
                each.word,
                each.said,
                each.why if tells_why and (n <= _MOST_EXPLAINED or each.key == key) else "",
                each.difference_ms,
                each.difference_ends_ms,
                each.interval and _band(each.interval.baseline / 1000, threshold),
            ),
        )
        for each in tests
    ]
    return _differences(rows, "ms")


def _ends_words(test: ComparedTest, decimals: int) -> str:
    places = difference_decimals(test, decimals)
    ends = (number(each, places, signed=True) for each in test.difference_ends_ms or ())
    return " to ".join(ends)


def _band(baseline: float, threshold: float) -> tuple[float, float]:
    return (1 / (1 + threshold) - 1) * baseline, threshold * baseline


def _rates(
    capacities: Sequence[ComparedCapacity], names: Mapping[str, ComparisonSide], threshold: float
) -> dict[str, Any] | None:
    """The capacities of searches; None where neither side has any."""
    rows = []
    for each in capacities:
        interval = each.ratio
        rates = ()
        if interval:
            per_s = each.baseline.rate_per_s
            ratios = (interval.ratio, interval.low, interval.high)
            estimate, *limits = ((ratio - 1) * per_s for ratio in ratios)
            rates = (estimate, tuple(limits), _band(per_s, threshold))
        signed = [figure(value, signed=True) for value in (rates[0], *rates[1])] if rates else [""]
        row = DifferenceRow(
            [text_cell(text) for text in (*each.texts, signed[0])],
            " to ".join(signed[1:]),
            change_words(interval.ratio) if interval else "",
            *(each.word, each.word, each.why),
            *rates,
        )
        if each.baseline or each.candidate:
            rows.append(({"column": names[each.column]}, row))
    return _differences(rows, "requests/s") if rows else None


def _differences(rows: Sequence[tuple[dict[str, Any], DifferenceRow]], unit: str) -> dict[str, Any]:
    """{"unit", "has_ends", "rows": facts, `row`, and its places in percent}; with an estimate also
    {"ticks", "zero": where no difference is}."""
    table = {"unit": unit, "has_ends": any(row.ends for _, row in rows)}
    with_estimate = [row for _, row in rows if row.estimate is not None]
    if not with_estimate:
        return {**table, "rows": [{**facts, "row": row} for facts, row in rows]}
    most = _WIDEST * max(
        abs(each) for row in with_estimate for each in (row.estimate, *(row.band or ()))
    )
    ends = [
        each
        for row in with_estimate
        for each in (row.estimate, *(row.limits or ()), *(row.band or ()))
    ]
    axis = LinearAxis([min(most, max(-most, each)) for each in (0.0, *ends)])
    bars = [
        {
            **facts,
            "row": row,
            "at": None if row.estimate is None else axis.at(row.estimate),
            "bar": row.limits and axis.span(*row.limits),
            "band": row.band and axis.span(*row.band),
        }
        for facts, row in rows
    ]
    return {**table, "zero": axis.at(0), "ticks": axis.ticks(_tick_words), "rows": bars}


def _tick_words(value: float) -> str:
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return f"{sign}{abs(value):g}"


def _detail_drawings(detail: ComparedDetail, threshold: float) -> dict[str, Any]:
    """What is drawn below the selected test."""
    parts = detail.split
    bars = split_rows_bars(parts.rows, parts.decimals) if parts else {}
    baseline, candidate = detail.lines
    lines = [{**baseline, "style": _BASELINE}, candidate]
    words = shift_words(detail.shift) if detail.shift else ""
    difference = difference_panel(detail.shift, threshold, lines, words)
    return {
        "bars": bars and bars | {"note": _longest_change(detail), "is_typical": parts.is_typical},
        "noun": detail.noun,
        "charts": percentile_charts("percentiles", lines, "both sides", beside=difference),
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


def query_of(params: Mapping[str, str], **changes: str) -> str:
    """The address's query with some parameters changed; an empty one is left out."""
    query = QueryDict(mutable=True)
    parameters = {name: params[name] for name in (*LETTERS, "show", "test") if params.get(name)}
    query.update({name: value for name, value in {**parameters, **changes}.items() if value})
    return query.urlencode()

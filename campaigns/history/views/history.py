"""The history of tests over campaigns: a project's overview, one test's page, and its capacities. A
project's marks: deploys and other events that histories show as lines. Make runs a baseline, from a
campaign or from a test's history, and stop comparing with one."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Count, F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from campaigns.compare.queries.compared_searches import SearchColumn, over_time, searches_of
from campaigns.core.access import (
    actor_of,
    acts_on,
    find,
    render_page,
    rights_in,
    saved_by,
    signed_in_form,
    signed_in_get,
    whole,
)
from campaigns.core.pages import page_of, page_of_list, sorted_by
from campaigns.core.permissions import Action, Actor, require
from campaigns.core.tables import text_file
from campaigns.domain.analysis.messages import Sentence, sentence
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.presentation.capacity_words import NOT_STEADY, capacity_text, objective_words
from campaigns.domain.presentation.compared import ComparedCapacity
from campaigns.domain.presentation.history_words import METRICS, history_sentence, overview_sentence
from campaigns.domain.presentation.tables import BOTH_ENDS
from campaigns.domain.units import DASH, TO
from campaigns.history import services
from campaigns.history.exports import csv_of_histories, csv_of_history
from campaigns.history.models import HistoryKey
from campaigns.history.queries.baselines import baselines_of, newest_baseline, open_tests
from campaigns.history.queries.history import (
    HistoryFilter,
    HistorySeries,
    arms_of,
    histories,
    history_of,
    quiet_changes,
    recent,
    runs_of_history,
)
from campaigns.history.services import make_baseline, release_baseline
from campaigns.history.views.history_chart import folded, history_charts
from campaigns.history.views.history_overview import (
    Fold,
    Grouping,
    dots_of,
    groupings,
    groups_of,
    key_of_line,
    lines_of,
)
from campaigns.history.views.history_rows import (
    Pair,
    counts_of,
    directions_of,
    in_order,
    moved_words,
    others_than,
    rows_of_changes,
    rows_of_points,
    rows_of_runs,
    with_marks,
)
from campaigns.history.views.triage import block_of_test, overview_block, take_typed
from campaigns.items.forms import HistoryFilterForm, MarkForm, TestHistoryFilterForm
from campaigns.models import Baseline, Campaign, Project, Test, TimeMark


def _capacity_row(
    search: SearchColumn, before: SearchColumn | None, comparison: ComparedCapacity | None
) -> dict[str, Any]:
    """A search; `against` is what it is against the comparable one before it."""
    campaign = search.column.campaign
    columns = f"a=campaign-{before.column.campaign.pk}&b=campaign-{campaign.pk}" if before else ""
    return {
        "campaign": campaign,
        "objective": objective_words(search.report.rules),
        "capacity": capacity_text(search.report.answer, search.capacity),
        "against": comparison,
        "compare": f"{reverse('comparison')}?{columns}",
    }


def _capacity_sentence(newest: Mapping[str, Any]) -> Sentence:
    """Of a test that has been in searches only."""
    capacity, difference = newest["capacity"], newest["against"]
    if capacity == DASH:
        return sentence("newest_search_empty", objective=newest["objective"])
    unit = "" if capacity == NOT_STEADY else " requests/s"
    against = ""
    if difference and difference.word:
        link = f", {difference.change_words} against" if difference.ratio else " than"
        against = f": {difference.word}{link} the one before"
    return sentence(
        "newest_search",
        capacity=f"{capacity}{unit}",
        objective=newest["objective"],
        against=against,
    )


PAGE_SIZE = 25
ROWS = 50
_TESTS = Test.objects.select_related("campaign__project", "endpoint__target", "plan_version__plan")


def _test_asked(request: HttpRequest, pk: int) -> tuple[Test, TestHistoryFilterForm, HistorySeries]:
    test = find(_TESTS, actor_of(request), pk=pk)
    form = TestHistoryFilterForm(request.GET, project=test.campaign.project)
    return test, form, history_of(actor_of(request), test, form.chosen())


def _pairs_asked(request: HttpRequest, project: Project, by: HistoryFilter) -> list[Pair]:
    """The project's histories, what moved first."""
    actor = actor_of(request)
    return in_order(histories(actor, project, by), quiet_changes(actor, project))


def _filter_context(request: HttpRequest, form: HistoryFilterForm, metric: str) -> dict[str, Any]:
    return {
        "form": form,
        "metric": METRICS[metric],
        "query": request.GET.urlencode(),
        "is_filtered": any(request.GET.get(name) for name in form.fields),
    }


@signed_in_get
def history_test(request: HttpRequest, test: int) -> HttpResponse:
    test_asked_for, form, series = _test_asked(request, test)
    actor, metric = actor_of(request), form.chosen().metric
    project, points = test_asked_for.campaign.project, series.history.points
    newest_first = points[::-1]
    page = page_of_list(
        newest_first, PAGE_SIZE, request.GET.get("page", ""), lambda point: point.campaign
    )
    reference, rows = series.reference, rows_of_points(page.rows, metric)
    capacities = [_capacity_row(*each) for each in over_time(searches_of(actor, series.key))]
    runs = page_of(runs_of_history(actor, series.history), PAGE_SIZE, request.GET.get("runs", ""))
    context = {
        **_filter_context(request, form, metric),
        "project": project,
        "test": test_asked_for,
        "named": series,
        "capacities": capacities,
        "sentence": _capacity_sentence(capacities[0])
        if capacities and not points
        else history_sentence(series.history, metric),
        "changes": rows_of_changes(series),
        "page": page,
        "others": others_than(metric),
        "ends_note": BOTH_ENDS if any(TO in text for row in rows for text in row["ends"]) else "",
        "rows": with_marks(
            rows, series.marks, before=newest_first[page.start - 2].at if page.start > 1 else None
        ),
        "columns": 10 + len(others_than(metric)),
        "runs": runs,
        "run_rows": rows_of_runs(runs.rows),
        "charts": history_charts(
            series,
            metric,
            METRICS[metric],
            reference,
            moved_words(reference.history) if reference else "",
        ),
        "is_folded": len(folded(points)) < len(points),
        "mark_form": MarkForm(project=project, initial={"target": test_asked_for.endpoint.target}),
        "may": rights_in(project, actor),
        "baselines": baselines_of(actor, series.key).annotate(n_runs=Count("runs")),
        "seen_baseline": newest_baseline(actor, project.pk),
        "arms": arms_of(actor, test_asked_for),
        "triage": block_of_test(
            actor, project, series.key, request.GET.get("change", ""), take_typed(request)
        ),
    }
    return render(request, "history/test.html", context)


@signed_in_get
def history_test_csv(request: HttpRequest, test: int) -> HttpResponse:
    _, _, series = _test_asked(request, test)
    return text_file(f"history-of-test-{test}.csv", csv_of_history(series))


@signed_in_get(Project)
def history(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    form = HistoryFilterForm(request.GET, project=project)
    filters = recent(form.chosen())  # the last 90 days where no time is given
    pairs, metric = _pairs_asked(request, project, filters), filters.metric
    tests = [pair for pair in pairs if not pair[1].is_of_reference]
    by, open_folds = Grouping.asked(request.GET), set(request.GET.getlist("open"))
    lines = lines_of(pairs, by, open_folds, open_tests(actor, project))
    page = page_of_list(lines, ROWS, request.GET.get("page", ""), key_of_line)
    context = {
        **_filter_context(request, form, metric),
        "project": project,
        "since": filters.since,
        "until": filters.until and filters.until - timedelta(microseconds=1),
        "n_tests": len(tests),
        "sentence": overview_sentence(
            counts_of(pairs), moved=directions_of(tests), has_references=len(tests) < len(pairs)
        ),
        "page": page,
        "groups": list(groups_of(page.rows, by, pairs, request.GET)),
        "groupings": groupings(request.GET),
        "grouping": "" if by is Grouping.STATE else by,
        "opened": [line.name for line in lines if isinstance(line, Fold) and line.is_open],
        "dots": dots_of(tests, lines, metric, request.GET),
        "triage": overview_block(actor, project),
    }
    return render(request, "history/overview.html", context)


@signed_in_get(Project)
def history_csv(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    filters = recent(HistoryFilterForm(request.GET, project=project).chosen())
    text = csv_of_histories(series for _, series in _pairs_asked(request, project, filters))
    return text_file(f"history-of-project-{project.pk}.csv", text)


@signed_in_form(Project)
def mark_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The marks, newest first, with a form for a new one."""
    if request.method == "POST":
        require(actor, Action.EDIT, project)
    form = MarkForm(request.POST or None, project=project)
    if result := saved_by(form, services.set_mark, by=actor, project=project):
        _, is_new = result
        already = "This mark was there already, and stays as it is."
        messages.success(request, "Marked. Histories show it as a line." if is_new else already)
        return redirect("mark-list", project=project.pk)
    marks = TimeMark.objects.visible_to(actor).filter(project=project).select_related("target")
    newest = sorted_by(marks.select_related("created_by"), F("at"), falls=True)
    page = page_of(newest, PAGE_SIZE, request.GET.get("page", ""))
    return render_page(request, "history/marks.html", project, form=form, page=page, query="")


@acts_on(TimeMark.objects.select_related("project"), "mark-list", "project_id")
def mark_delete(request: HttpRequest, by: Actor, mark: TimeMark) -> str:
    services.delete_mark(by=by, mark=mark)
    return "The mark is deleted."


@acts_on(Campaign.objects.select_related("project"), "campaign-detail")
def campaign_baseline(request: HttpRequest, by: Actor, campaign: Campaign) -> str:
    return _make(request, campaign.project, list(campaign.tests.all()))


@acts_on(Test.objects.select_related("campaign__project", "plan_version"), "history-test")
def history_baseline(request: HttpRequest, by: Actor, test: Test) -> str:
    """The campaigns of this test that are ticked; `in` are their tests."""
    pks = map(whole, request.POST.getlist("in"))
    tests = Test.objects.visible_to(by).filter(pk__in=pks).select_related("plan_version")
    same = [each for each in tests if HistoryKey.of(each) == HistoryKey.of(test)]
    if not same:
        raise Refused("Select campaigns for the baseline.")
    return _make(request, test.campaign.project, same)


def _make(request: HttpRequest, project: Project, tests: Sequence[Test]) -> str:
    try:
        baselines = make_baseline(
            by=actor_of(request),
            project=project,
            name=request.POST.get("name", ""),
            tests=tests,
            seen=whole(request.POST.get("seen", "")),
        )
    except InvalidFields as invalid:
        raise Refused(next(iter(invalid.errors.values()))) from None
    return f"“{baselines[0].name}” is the baseline. New campaigns are compared with it."


@acts_on(Baseline.objects.select_related("project"), "history", "project_id")
def baseline_release(request: HttpRequest, by: Actor, baseline: Baseline) -> HttpResponse | str:
    release_baseline(by=by, baseline=baseline)
    text = f"Nothing is compared with “{baseline.name}” any more."
    if baseline.test_id is None:
        return text
    messages.success(request, text)
    return redirect("history-test", test=baseline.test_id)

"""The history of tests over campaigns: a project's overview, and one test's page."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.domain.shown.history_words import history_sentence, overview_sentence
from campaigns.exports.files import text_file
from campaigns.exports.history import csv_of_histories, csv_of_history
from campaigns.forms.filters import HistoryFilterForm, TestHistoryFilterForm
from campaigns.forms.marks import MarkForm
from campaigns.models import Project, Test
from campaigns.permissions import Actor
from campaigns.queries.baselines import baselines_of, newest_baseline
from campaigns.queries.history import METRICS, arms_of, histories, history_of, recent
from campaigns.queries.triage import quiet_changes
from campaigns.views.access import actor_of, find, rights_in
from campaigns.views.history_chart import chart_of, folded
from campaigns.views.history_rows import counts_of, in_order, rows_of
from campaigns.views.history_tables import (
    others_than,
    rows_of_changes,
    rows_of_points,
    with_marks,
)
from campaigns.views.triage import block_of_test, overview_block

PAGE_SIZE = 25
ROWS = 50
_TESTS = Test.objects.select_related("campaign__project", "endpoint__target", "plan_version__plan")


@login_required
@require_GET
def history_test(request: HttpRequest, test: int) -> HttpResponse:
    actor = actor_of(request)
    found, form, chosen = _asked(request, actor, test)
    named = history_of(actor, found, chosen)
    history = named.history
    newest_first = history.points[::-1]
    page = Paginator(newest_first, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": found.campaign.project,
        "test": found,
        "named": named,
        "form": form,
        "metric": METRICS[chosen.metric],
        "sentence": history_sentence(history, METRICS[chosen.metric]),
        "changes": rows_of_changes(named),
        "page": page,
        "others": others_than(chosen.metric),
        "rows": with_marks(
            rows_of_points(list(page), chosen.metric),
            named.marks,
            before=newest_first[page.start_index() - 2].at if page.number > 1 else None,
        ),
        "columns": 10 + len(others_than(chosen.metric)),
        "chart": chart_of(named, chosen.metric),
        "is_folded": len(folded(history.points)) < len(history.points),
        "mark_form": MarkForm(
            project=found.campaign.project, initial={"target": found.endpoint.target}
        ),
        "may": rights_in(found.campaign.project, actor),
        "baselines": baselines_of(actor, named.key).annotate(n_runs=Count("runs")),
        "seen_baseline": newest_baseline(actor, found.campaign.project_id),
        "arms": arms_of(actor, found),
        "triage": block_of_test(
            actor, found.campaign.project, named.key, request.GET.get("change", "")
        ),
        "query": request.GET.urlencode(),
        "is_filtered": any(request.GET.get(name) for name in form.fields),
    }
    return render(request, "history/test.html", context)


@login_required
@require_GET
def history_test_csv(request: HttpRequest, test: int) -> HttpResponse:
    actor = actor_of(request)
    found, _, chosen = _asked(request, actor, test)
    named = history_of(actor, found, chosen)
    return text_file(f"history-of-test-{found.pk}.csv", csv_of_history(named))


def _asked(request: HttpRequest, actor: Actor, pk: int):
    """The test, the form, and the filters that it holds."""
    found = find(_TESTS, actor, pk=pk)
    form = TestHistoryFilterForm(request.GET, project=found.campaign.project)
    return found, form, form.chosen()


@login_required
@require_GET
def history(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    form, chosen = _overview_asked(request, found)
    pairs = in_order(histories(actor, found, chosen), quiet_changes(actor, found))
    page = Paginator(pairs, ROWS).get_page(request.GET.get("page"))
    context = {
        "project": found,
        "form": form,
        "metric": METRICS[chosen.metric],
        "since": chosen.since,
        "sentence": overview_sentence(counts_of(pairs)),
        "page": page,
        "rows": rows_of(list(page)),
        "triage": overview_block(actor, found),
        "query": request.GET.urlencode(),
        "is_filtered": any(request.GET.get(name) for name in form.fields),
    }
    return render(request, "history/overview.html", context)


@login_required
@require_GET
def history_csv(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    _, chosen = _overview_asked(request, found)
    pairs = in_order(histories(actor, found, chosen), quiet_changes(actor, found))
    text = csv_of_histories(named for _, named in pairs)
    return text_file(f"history-of-project-{found.pk}.csv", text)


def _overview_asked(request: HttpRequest, project: Project):
    """The form and its filters; of the last 90 days where no time is given."""
    form = HistoryFilterForm(request.GET, project=project)
    return form, recent(form.chosen())

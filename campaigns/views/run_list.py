"""A project's runs, filtered by the query string; two ticked runs can be compared."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from campaigns.exports.files import text_stream
from campaigns.exports.runs import csv_of_runs
from campaigns.forms.filters import RunFilterForm
from campaigns.live.waiting import without_connection
from campaigns.models import Project
from campaigns.queries.columns import LETTERS
from campaigns.queries.measured import whole_runs
from campaigns.queries.pages import page_of
from campaigns.queries.run_list import filtered_runs, run_rows
from campaigns.views.access import actor_of, find

PAGE_SIZE = 50


@login_required
@require_GET
def run_list(request: HttpRequest, project: int) -> HttpResponse:
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    form = RunFilterForm(request.GET, project=found)
    chosen = form.chosen()
    page = page_of(filtered_runs(actor, found, chosen), PAGE_SIZE, request.GET.get("page", ""))
    shown = run_rows(page.rows)
    context = {
        "project": found,
        "form": form,
        "page": page,
        "rows": shown.rows,
        "has_exchanges": shown.has_exchanges,
        "nouns": shown.nouns,
        "is_filtered": any(request.GET.get(name) for name in form.fields),
        "campaign_id": chosen.campaign,
        "query": request.GET.urlencode(),
        "most_compared": len(LETTERS),
        "ticked": {pk for pk in request.GET.getlist("candidate") if pk.isdecimal()},
    }
    return render(request, "runs/list.html", context)


@login_required
@require_GET
def run_list_csv(request: HttpRequest, project: int) -> HttpResponse:
    """The filtered runs, a row each, all pages together."""
    actor = actor_of(request)
    found = find(Project, actor, pk=project)
    chosen = RunFilterForm(request.GET, project=found).chosen()
    runs = whole_runs(filtered_runs(actor, found, chosen))
    text = without_connection(csv_of_runs(runs))
    return text_stream(f"runs-of-project-{found.pk}.csv", text)

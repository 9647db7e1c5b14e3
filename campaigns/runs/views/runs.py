"""The list of runs, and one run: the same page while it is active and afterwards. What tools
printed on the target's machine: add it to a run, download it, delete it. A failure's reply."""

import re
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from campaigns.campaigns.queries.campaigns import final_key, rows_of_run, run_key
from campaigns.campaigns.views.kept_pages import CacheablePage, kept_page
from campaigns.compare.queries.columns import LETTERS
from campaigns.core.access import (
    actor_of,
    acts_on,
    answers_refusals,
    find,
    rights_in,
    signed_in_get,
    signed_in_post,
)
from campaigns.core.database import without_connection
from campaigns.core.permissions import Action, Actor, require
from campaigns.core.tables import text_file, text_stream, unless_known
from campaigns.core.transfer import takes_bytes
from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.series import columns_of
from campaigns.domain.other_tools.reports import STYLE_WORDS, styles_for
from campaigns.domain.presentation.run_points import thinned_columns
from campaigns.engine.services.endings import stop_run
from campaigns.items.forms import OutputForm
from campaigns.items.queries.filters import RunFilterSet
from campaigns.items.views.lists import (
    Chip,
    asked_of,
    filter_rows,
    list_context,
    result_chips,
    since_chip,
)
from campaigns.live.hub import points_so_far, report_of
from campaigns.live.views import is_asked_again, live_page
from campaigns.machines.queries.machine_runs import machine_columns_between
from campaigns.machines.services import MOST_BYTES, add_output, delete_output
from campaigns.models import FailureExample, Project, Run, ToolOutput
from campaigns.runs.exports import (
    csv_of_machine_seconds,
    csv_of_runs,
    csv_of_seconds,
    requests_file,
    run_tables_file,
    tool_report_file,
)
from campaigns.runs.queries.measurements import (
    columns_in_parts,
    error_kinds_of,
    machines_of_run,
    points_between,
    whole_runs,
)
from campaigns.runs.queries.runs import list_runs, run_rows
from campaigns.runs.views.run_page import run_context

RUNS = 50  # on a page: a row of figures takes longer than one of words
_STATES = {
    "going": "Not finished",
    "complete": "Complete",
    "partial": "Partial",
    "stopped": "Stopped",
    "failed": "Failed",
}


@signed_in_get(Project)
def run_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    rows = list_runs(actor).filter(campaign__project=project)
    targets = project.targets.outside_trash().filter(is_kept=True).order_by("name")
    plans = project.plans.outside_trash().order_by("name")
    chips = [
        Chip("target", "Target", list(targets.values_list("pk", "name"))),
        Chip("plan", "Plan", list(plans.values_list("pk", "name"))),
        Chip("state", "State", list(_STATES.items())),
        *result_chips(),
        since_chip(),
    ]
    rows_of_page = list_context(request, RunFilterSet, rows, chips, nouns="runs", size=RUNS)
    table = run_rows(rows_of_page["page"].rows)
    context = {
        **rows_of_page,
        "project": project,
        "rows": table.rows,
        "has_exchanges": table.has_exchanges,
        "requests": table.nouns,
        "query": request.GET.urlencode(),
        "most_compared": len(LETTERS),
        "ticked": {pk for pk in request.GET.getlist("candidate") if pk.isdecimal()},
    }
    return render(request, "runs/list.html", context)


@signed_in_get(Project)
def run_list_csv(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The filtered runs, a row each, all pages together."""
    rows = list_runs(actor).filter(campaign__project=project)
    rows_left = filter_rows(actor, RunFilterSet, rows, asked_of(request)).qs
    text = without_connection(csv_of_runs(whole_runs(rows_left)))
    return text_stream(f"runs-of-project-{project.pk}.csv", text)


_TEMPLATE = "runs/detail.html"
_ALL_S = 10**9  # no run is longer


@signed_in_get
def run_detail(request: HttpRequest, run: int) -> HttpResponse:
    actor, is_again = actor_of(request), is_asked_again(request)
    rows = "" if is_again else rows_of_run(run)  # dear, and read before what it is of
    row = find_run(actor, run)
    project = row.campaign.project
    may = rights_in(project, actor)
    rights = tuple(may.values())
    if not row.is_done or is_again:
        context = partial(_context, row, actor, OutputForm(), request.GET.get("time", ""))
        return live_page(request, ("run", run), _TEMPLATE, context, (*run_key(row), *rights))

    def context() -> dict[str, Any]:
        return _context(find_run(actor, run), actor, OutputForm(), request.GET.get("time", ""))

    page = CacheablePage(_TEMPLATE, request.path, request.GET, (rights, rows), context)
    return kept_page(request, project, may, page)


def _context(run: Run, actor: Actor, output_form: OutputForm, time: str = "") -> dict[str, Any]:
    project = run.campaign.project
    # (style, label), best first; none before the run has ended. Their texts are made when one is
    # opened.
    styles = styles_for(run.frozen.plan) if run.is_done else ()
    return {
        **run_context(run, actor, time),
        "stream_url": reverse("run-stream", args=[run.pk]),
        "tool_reports": [(style, STYLE_WORDS[style]) for style in styles],
        "output_form": output_form,
        "project": project,
        "may": rights_in(project, actor),
    }


_ROWS = Run.objects.select_related("campaign__project", "test__endpoint")


def find_run(actor: Actor, pk: int) -> Run:
    return find(_ROWS, actor, pk=pk)


@acts_on(_ROWS, "run-detail")
def run_stop(request: HttpRequest, by: Actor, run: Run) -> str:
    stop_run(by=by, run=run)
    return "Stop requested. Results so far are kept."


@signed_in_get(_ROWS)
def run_csv(request: HttpRequest, actor: Actor, run: Run) -> HttpResponse:
    return run_tables_file(run, report_of(run))


@signed_in_get(_ROWS)
def run_seconds_csv(request: HttpRequest, actor: Actor, run: Run) -> HttpResponseBase:
    return unless_known(request, final_key(run), lambda: _seconds_file(run))


def _seconds_file(run: Run) -> HttpResponseBase:
    if run.is_done:
        parts, kinds = columns_in_parts(run, as_written=True), error_kinds_of(run)
    else:
        points = points_so_far(run.pk)
        parts = [columns_of(points)] if points else []
        kinds = sorted({kind for point in points for kind in point["errors"]})
    text = without_connection(csv_of_seconds(parts, kinds))
    return text_stream(f"run-{run.label}-seconds.csv", text)


@signed_in_get(_ROWS)
def run_points(request: HttpRequest, actor: Actor, run: Run) -> HttpResponseBase:
    """{"points", "machine"}: the columns of a stretch, by the seconds `?from=` and `?until=`. Of a
    long run the page has only some of them."""
    stretch = _second(request, "from", -_ALL_S), _second(request, "until", _ALL_S)
    final = final_key(run)
    version = final and (*final, run.machine_seconds.count())
    return unless_known(request, version, lambda: JsonResponse(_points_of(run, *stretch)))


def _second(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else otherwise


def _points_of(run: Run, first: int, until: int) -> dict[str, Any]:
    points = (
        points_between(run, first, until)
        if run.is_done
        else [each for each in points_so_far(run.pk) if first <= each["second"] < until]
    )
    machine = machine_columns_between(run, first, until)
    return {"points": thinned_columns(points), "machine": machine}


@signed_in_get(_ROWS)
def run_machine_seconds_csv(request: HttpRequest, actor: Actor, run: Run) -> HttpResponse:
    text = csv_of_machine_seconds(machines_of_run(run))
    return text_stream(f"run-{run.label}-machines.csv", text)


@signed_in_get
def run_requests_csv(request: HttpRequest, run: int) -> HttpResponse:
    return requests_file(find_run(actor_of(request), run))


@signed_in_get(_ROWS)
def run_report_text(request: HttpRequest, actor: Actor, run: Run) -> HttpResponse:
    return tool_report_file(run, request.GET.get("style", ""))


@takes_bytes(2 * MOST_BYTES + 10_000)  # line ends become two bytes each
@answers_refusals("run-detail")
@signed_in_post(_ROWS)
def output_new(request: HttpRequest, actor: Actor, run: Run) -> HttpResponse:
    """The run's page with the text and what is wrong with it, until it can be kept."""
    require(actor, Action.EDIT, run.campaign.project)
    form = OutputForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            data = form.cleaned_data
            output = add_output(by=actor, run=run, tool=data["tool"], text=data["text"])
        except InvalidFields as invalid:
            for field, fault in invalid.errors.items():
                form.add_error(field, fault)
        else:
            messages.success(request, f"The output of {output.tool} is added.")
            return redirect("run-detail", run=run.pk)
    # The run's page with what is wrong with an output that was to be added.
    return render(request, _TEMPLATE, _context(run, actor, form), status=422)


@signed_in_get(FailureExample.objects.select_related("run"))
def example_reply(request: HttpRequest, actor: Actor, example: FailureExample) -> HttpResponse:
    """A failure's reply as it is kept: a file, which no browser runs, whatever it is."""
    return text_file(f"run-{example.run.label}-reply-{example.pk}.txt", example.reply)


@signed_in_get(ToolOutput.objects.select_related("run"))
def output_text(request: HttpRequest, actor: Actor, output: ToolOutput) -> HttpResponse:
    return text_file(f"run-{output.run.label}-output-{output.pk}.txt", output.text)


@acts_on(ToolOutput.objects.select_related("run__campaign__project"), "run-detail", "run_id")
def output_delete(request: HttpRequest, by: Actor, output: ToolOutput) -> str:
    delete_output(by=by, output=output)
    return f"The output of {output.tool} is deleted."

"""Two runs side by side: the older one is the baseline."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from campaigns.live.memory import report_of
from campaigns.models import Run
from campaigns.queries.comparisons import compare_runs
from campaigns.views.access import actor_of, find
from campaigns.views.runs import find_run


@login_required
@require_GET
def comparison(request: HttpRequest, baseline: int, candidate: int) -> HttpResponse:
    actor = actor_of(request)
    older, newer = find_run(actor, baseline), find_run(actor, candidate)
    compared = compare_runs(older, newer)
    context = {
        "project": newer.campaign.project,
        "baseline": older,
        "candidate": newer,
        "comparison": compared,
        "parts": [report_of(older).parts, report_of(newer).parts],
        "curves": {
            "lines": [
                _line(f"baseline {older.label}", older, compared.curves["baseline"], [1, 3]),
                _line(f"candidate {newer.label}", newer, compared.curves["candidate"], []),
            ]
        },
    }
    return render(request, "comparisons/detail.html", context)


def _line(label: str, run: Run, curve: list, dash: list[int]) -> dict:
    return {
        "label": label,
        "scheme": run.frozen.endpoint.scheme,
        "mode": run.frozen.connection_mode,
        "dash": dash,
        "curve": curve,
    }


@login_required
@require_GET
def comparison_choose(request: HttpRequest) -> HttpResponse:
    """Redirect from two ticked runs to their comparison; the older run is the baseline."""
    actor = actor_of(request)
    ticked = list(dict.fromkeys(pk for pk in request.GET.getlist("run") if pk.isdecimal()))
    runs = [find(Run, actor, pk=pk) for pk in ticked[:3]]
    if len(runs) == 2:
        older, newer = sorted(runs, key=lambda run: run.pk)
        return redirect("comparison", baseline=older.pk, candidate=newer.pk)
    messages.error(request, f"Tick two runs to compare them; {len(runs) or 'none'} are ticked.")
    if runs:
        return redirect("run-list", project=runs[0].campaign.project_id)
    return redirect("project-list")

"""Make runs a baseline, from a campaign or from a test's history, and stop comparing with one."""

from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.models import Baseline, Campaign, Project, Test
from campaigns.queries.history import key_of
from campaigns.services.baselines import make_baseline, release_baseline
from campaigns.views.access import actor_of, answers_refusals, find


@login_required
@require_POST
@answers_refusals("campaign-detail")
def campaign_baseline(request: HttpRequest, campaign: int) -> HttpResponse:
    """All tests of the campaign."""
    found = find(Campaign.objects.select_related("project"), actor_of(request), pk=campaign)
    _make(request, found.project, list(found.tests.all()))
    return redirect("campaign-detail", campaign=campaign)


@login_required
@require_POST
@answers_refusals("history-test")
def history_baseline(request: HttpRequest, test: int) -> HttpResponse:
    """The campaigns of this test that are ticked; `in` are their tests."""
    actor = actor_of(request)
    found = find(Test.objects.select_related("campaign__project", "plan_version"), actor, pk=test)
    ticked = [int(pk) for pk in request.POST.getlist("in") if pk.isdecimal() and len(pk) < 19]
    tests = Test.objects.visible_to(actor).filter(pk__in=ticked).select_related("plan_version")
    same = [each for each in tests if key_of(each) == key_of(found)]
    if not same:
        raise Refused("Tick the campaigns whose runs are to be the baseline.")
    _make(request, found.campaign.project, same)
    return redirect("history-test", test=test)


def _make(request: HttpRequest, project: Project, tests: Sequence[Test]) -> None:
    seen = request.POST.get("seen", "")
    try:
        made = make_baseline(
            by=actor_of(request),
            project=project,
            name=request.POST.get("name", ""),
            tests=tests,
            seen=int(seen) if seen.isdecimal() and len(seen) < 19 else 0,
        )
    except InvalidFields as invalid:
        raise Refused(next(iter(invalid.errors.values()))) from None
    messages.success(
        request, f"“{made[0].name}” is the baseline. New campaigns are compared with it."
    )


@login_required
@require_POST
def baseline_release(request: HttpRequest, baseline: int) -> HttpResponse:
    found = find(Baseline.objects.select_related("project"), actor_of(request), pk=baseline)
    release_baseline(by=actor_of(request), baseline=found)
    messages.success(request, f"Nothing is compared with “{found.name}” any more.")
    if found.test_id is None:
        return redirect("history", project=found.project_id)
    return redirect("history-test", test=found.test_id)

"""Hosts that need a proof or an approval: on the page of their target, and for administrators."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from campaigns.models import HostClaim, HostPermit, Target
from campaigns.queries.ownership import permits_of_all, waiting_claims
from campaigns.services import ownership as services
from campaigns.views.access import (
    actor_of,
    answers_refusals,
    find,
    for_administrators,
    signed_in_post,
)


def _of_target(request: HttpRequest, target: int) -> str:
    return reverse("target-detail", args=[target]) + "#ownership"


@signed_in_post
@answers_refusals(_of_target)
def target_ownership(request: HttpRequest, target: int) -> HttpResponse:
    """`do` is token, check, ask or withdraw."""
    actor = actor_of(request)
    found = find(Target.objects.select_related("project"), actor, pk=target)
    claim = services.claim_host(by=actor, target=found, host=request.POST.get("host", ""))
    reason = request.POST.get("reason", "")
    match request.POST.get("do"):
        case "token":
            said = f"Put the file on {claim.host}, then check it."
        case "check":
            services.check_host(by=actor, claim=claim)
            said = f"A worker looks at {claim.host} now. Reload this page in a few seconds."
        case "ask":
            services.ask_approval(by=actor, claim=claim, reason=reason)
            said = f"{claim.host} is on the administrators' list."
        case "withdraw":
            permit = _permit(claim.permits, request)
            services.withdraw(by=actor, permit=permit, reason=reason)
            said = f"The {permit.kind} for {claim.host} is withdrawn. The next run needs another."
        case _:
            raise Http404
    messages.success(request, said)
    return redirect(_of_target(request, target))


@for_administrators
@require_GET
def ownership(request: HttpRequest) -> HttpResponse:
    context = {"waiting": waiting_claims(), "permits": permits_of_all()}
    return render(request, "ownership/list.html", context)


@for_administrators
@require_POST
@answers_refusals(lambda request, **kwargs: "ownership")
def ownership_decide(request: HttpRequest, claim: int) -> HttpResponse:
    """`do` is approve, refuse, check or withdraw."""
    actor = actor_of(request)
    found = get_object_or_404(HostClaim.objects.select_related("project"), pk=claim)
    reason = request.POST.get("reason", "")
    match request.POST.get("do"):
        case "approve":
            seen = request.POST.getlist("place")
            services.approve(by=actor, claim=found, seen=seen, reason=reason)
            said = f"{found.host} is approved for {found.project.name}."
        case "refuse":
            services.refuse(by=actor, claim=found, reason=reason)
            said = f"{found.host} is refused. {found.project.name} reads why."
        case "check":
            services.check_host(by=actor, claim=found)
            said = f"A worker looks at {found.host} now. Reload this page in a few seconds."
        case "withdraw":
            permit = _permit(found.permits, request)
            services.withdraw(by=actor, permit=permit, reason=reason)
            said = f"The {permit.kind} for {found.host} is withdrawn."
        case _:
            raise Http404
    messages.success(request, said)
    return redirect("ownership")


def _permit(permits, request: HttpRequest) -> HostPermit:
    number = request.POST.get("permit", "")
    return get_object_or_404(permits, pk=number if number.isdecimal() and len(number) < 19 else 0)

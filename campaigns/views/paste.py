"""Pasted requests become a plan: the field, the choice among several, the plan's form."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.paste.reader import Paste, read_paste
from campaigns.domain.plan.step import MAX_STEPS
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest
from campaigns.models import Project
from campaigns.services.typed_targets import plan_from_requests
from campaigns.views.access import actor_of, project_to_edit, signed_in_form
from campaigns.views.transfer import takes_bytes


@dataclass(frozen=True, slots=True)
class OriginChoice:
    """The requests of one origin, each with its number; `is_first`: of the first one's."""

    place: str
    requests: list[tuple[int, TypedRequest]]
    is_first: bool


@takes_bytes(settings.MOST_PASTE_BYTES)
@signed_in_form
def plan_paste(request: HttpRequest, project: int) -> HttpResponse:
    found = project_to_edit(actor_of(request), project)
    if request.method != "POST":
        return _page(request, found)
    upload = request.FILES.get("file")
    text = upload.read().decode("utf-8", "replace") if upload else request.POST.get("what", "")
    try:
        paste = read_paste(text)
    except NotUnderstood as fault:
        return _page(request, found, text=text, fault=str(fault), status=422)
    chosen = {int(each) for each in request.POST.getlist("chosen") if each.isdecimal()}
    if len(paste.requests) > 1 and "choose" not in request.POST:
        return choice_page(request, found, text, paste)
    numbered = enumerate(paste.requests)
    requests = [each for number, each in numbered if number in chosen or len(paste.requests) == 1]
    try:
        version = plan_from_requests(by=actor_of(request), project=found, requests=requests)
    except (InvalidFields, Refused) as fault:
        told = " ".join(dict.fromkeys(getattr(fault, "errors", {"": str(fault)}).values()))
        return choice_page(request, found, text, paste, fault=told, chosen=chosen, status=422)
    messages.success(request, f"{version.plan.name} created. {paste.note}".strip())
    return redirect("plan-edit", plan=version.plan_id)


def choice_page(
    request: HttpRequest, project: Project, text: str, paste: Paste, **more
) -> HttpResponse:
    """Which of several requests become steps; those of third parties are not ticked."""
    origins = _origins(paste.requests)
    first = [number for each in origins if each.is_first for number, _ in each.requests]
    chosen = more.pop("chosen", None)
    ticked = set(first[:MAX_STEPS]) if chosen is None else chosen
    return _page(
        request, project, text=text, note=paste.note, origins=origins, ticked=ticked, **more
    )


def _origins(requests: Sequence[TypedRequest]) -> list[OriginChoice]:
    by_origin: dict[tuple, list[tuple[int, TypedRequest]]] = {}
    for number, each in enumerate(requests):
        by_origin.setdefault(each.origin, []).append((number, each))
    return [
        OriginChoice(_place(numbered[0][1]), numbered, numbered[0][0] == 0)
        for numbered in by_origin.values()
    ]


def _place(request: TypedRequest) -> str:
    return request.address.removesuffix(request.path)


def _page(
    request: HttpRequest, project: Project, *, text: str = "", status: int = 200, **more
) -> HttpResponse:
    context = {"project": project, "text": text, "most_steps": MAX_STEPS, **more}
    response = render(request, "plans/paste.html", context, status=status)
    if text:
        # It may contain a password.
        response["Cache-Control"] = "no-store"
    return response

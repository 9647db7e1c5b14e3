"""From a typed address to a started campaign: the field, what came back, three questions. Pasted
requests become a plan: the choice among several, the plan's form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.queries.checks import machine_checks
from campaigns.campaigns.views.campaign_tiles import cards_of
from campaigns.campaigns.views.open_questions import address_of_ladder, address_of_search
from campaigns.core.access import (
    actor_of,
    answers_refusals,
    find,
    rights_in,
    signed_in_form,
    signed_in_post,
    whole,
)
from campaigns.core.drawings import TICK_STEPS, Tick, round_up
from campaigns.core.permissions import Action, Actor, require
from campaigns.core.transfer import takes_bytes
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.metrics.snapshot import PARTS
from campaigns.domain.paste.reader import Paste, read_paste
from campaigns.domain.plan.estimates import estimate_campaign, estimate_side_by_side
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.questions import QUESTIONS, Question, recommended
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS
from campaigns.domain.plan.step import MAX_STEPS
from campaigns.domain.plan.typed_request import FilesMissing, NotUnderstood, TypedRequest
from campaigns.domain.presentation.cost_words import duration_words
from campaigns.domain.presentation.what_to_do import ASKED_QUESTIONS
from campaigns.domain.units import counted
from campaigns.items.queries.items import installation, samples, stored_sample
from campaigns.models import Probe, Project, Target
from campaigns.probes.queries.first_requests import Tried, tried_of
from campaigns.probes.queries.probes import ProbePhase, ProbeReport
from campaigns.probes.services import typed_targets
from campaigns.probes.services.probes import try_again
from campaigns.probes.services.typed_targets import plan_from_requests
from campaigns.search.views.search_new import search_words, usual_cost
from campaigns.targets.forms import DEMO

_HTTPS_DEMO = next(each for each in DEMO["endpoints"] if each[0] == "https")
DEMO_ADDRESS = "{}://{}:{}/".format(*_HTTPS_DEMO)


@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@signed_in_form
def measure(request: HttpRequest) -> HttpResponse:
    """What is typed where there is no project yet, or several: `project` is posted with it."""
    if request.method != "POST":
        return redirect("project-list")
    number = request.POST.get("project", "")
    project = find(Project, actor_of(request), pk=whole(number)) if number else None
    return _try_typed(request, project)


@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@signed_in_form(Project)
def project_measure(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    if request.method == "POST":
        return _try_typed(request, project)
    require(actor, Action.EDIT, project)
    return field_page(request, project)


def _try_typed(request: HttpRequest, project: Project | None) -> HttpResponse:
    """To the page of the try; back to the field, with all that was typed, if it says nothing."""
    actor, text = actor_of(request), request.POST.get("what", "")
    if project is not None:
        require(actor, Action.EDIT, project)
    try:
        paste = _read(request, text)
        if len(paste.requests) > 1:
            project = project or typed_targets.first_project(by=actor)
            return choice_page(request, project, text, paste)
        (request_typed,) = paste.requests
        probe = typed_targets.try_typed(by=actor, project=project, request=request_typed)
    except FilesMissing as fault:
        return field_page(request, project, text=text, files=_numbered(paste, fault))
    except (NotUnderstood, Refused) as fault:
        return field_page(request, project, text=text, fault=str(fault), status=422)
    if paste.note:
        messages.info(request, paste.note)
    return redirect(_address_of(probe))


def _read(request: HttpRequest, text: str) -> Paste:
    """With the files that were sent for those that the text names. Raises NotUnderstood."""
    paste = read_paste(text)
    uploads = {n: request.FILES.get(f"file_{n}") for n in range(len(paste.files))}
    files = {paste.files[n]: upload.read() for n, upload in uploads.items() if upload is not None}
    return read_paste(text, files) if files else paste


def _numbered(paste: Paste, fault: FilesMissing) -> list[tuple[int, str]]:
    return [(paste.files.index(name), name) for name in fault.names]


def _address_of(probe: Probe) -> str:
    address = reverse("target-measure", args=[probe.endpoint.target_id])
    return f"{address}?probe={probe.pk}"


def field_page(
    request: HttpRequest,
    project: Project | None,
    *,
    text: str = "",
    fault: str = "",
    files: Sequence[tuple[int, str]] = (),
    status: int = 200,
) -> HttpResponse:
    """The page before anything was tried: what this is, the field, a good result to look at.
    `files`: those that the request names, to be chosen."""
    actor = actor_of(request)
    sample = stored_sample(actor)
    context = {
        **_page(request, project),
        "text": text,
        "fault": fault,
        "files": files,
        "machine": machine_checks(),
        "stored": sample,
        "here": samples(actor).filter(started_at__isnull=False).first(),
        "questions": ASKED_QUESTIONS,
    }
    if sample:
        answer = answer_of(sample)
        cards = cards_of(answer, sample.practical_threshold)
        context |= {"sentence": answer.gist.sentence, "cards": cards}
    response = render(request, "probes/first.html", context, status=status)
    if text:
        # It may contain a password.
        response["Cache-Control"] = "no-store"
    return response


def _page(request: HttpRequest, project: Project | None) -> dict[str, Any]:
    return {
        "project": project,
        "may": rights_in(project, actor_of(request)) if project else {"edit": True},
        "installation": installation(),
        "demo_address": DEMO_ADDRESS,
    }


@answers_refusals("target-measure")
@signed_in_form(Target.objects.select_related("project"))
def target_measure(request: HttpRequest, actor: Actor, target: Target) -> HttpResponse:
    """What came back and the three questions; a POST starts the one that it names, or opens its
    form."""
    number = request.POST.get("probe") or request.GET.get("probe", "")
    answers = tried_of(target, whole(number), timezone.now())
    if request.method == "POST":
        require(actor, Action.EDIT, target.project)
        if answers and "other" in request.POST:
            typed_targets.try_other(by=actor, probe=answers.typed, text=request.POST["other"])
            return redirect(_address_of(answers.typed))
        question = QUESTIONS.get(request.POST.get("question", ""))
        if question is None or answers is None:
            raise Refused("Choose one of the questions, after one request was tried.")
        values = {
            "by": actor,
            "question": question,
            "step": answers.step,
            "probes": [each.probe for each in answers.right],
        }
        if question.has_form:
            (cell,) = typed_targets.cells_of_question(**values)
            form = address_of_ladder if question.is_ladder else address_of_search
            return redirect(form(cell))
        campaign = typed_targets.start_question(**values)
        return redirect("campaign-detail", campaign=campaign.pk)
    web = target.endpoints.filter(archived_at=None, scheme__in=("http", "https"))
    endpoint = web.order_by("-scheme").first()
    address = f"{endpoint.origin}/" if endpoint else ""
    context = {
        **_page(request, target.project),
        "target": target,
        "tried": answers,
        "text": answers.text if answers else address,
        # Those that can be asked, each with what it takes.
        "questions": [
            {"question": question, "takes": _takes(question, answers)}
            for question in (QUESTIONS.values() if answers and answers.is_finished else ())
            if question.arms(answers.schemes)
        ],
        "recommended": recommended(answers.schemes) if answers else "",
    }
    if answers:  # the endpoints with their bars, the axis, and the names of the parts in them
        drawing = draw_stacked([each.report for each in answers.endpoints])
        parts = {part.name for row in drawing.rows for part in row}
        context |= {
            "rows": list(zip(answers.endpoints, drawing.rows, strict=True)),
            "ticks": drawing.ticks,
            "part_names": [name for name in PARTS if name in parts],
        }
    return render(request, "probes/page.html", context)


def _takes(question: Question, answers: Tried) -> tuple[str, str]:
    """(how long, how many requests) in words."""
    request_sent = answers.typed.request
    facts = (
        request_sent.get("auth", {}),
        request_sent.get("http_version", ""),
        request_sent.get("redirects", ""),
    )
    plan = Plan.from_json(question.spec(answers.step, *facts))
    if question.is_search:
        return search_words(usual_cost(plan))
    modes = [mode for _, mode in question.arms(answers.schemes)]
    if question.is_ladder:
        modes = [RUNGS[key].mode for key in USUAL_RUNGS]
    tests, pause_s = [(plan, mode, 1) for mode in modes], question.pause_s
    if question.repeats is None:
        values = {"repeats": 1, "limit_s": None, "until_settled": True}
        estimate = estimate_side_by_side([tests], pause_s=pause_s, **values)
    else:
        estimate = estimate_campaign(tests, repeats=question.repeats, pause_s=pause_s)
    lasts = duration_words(estimate)
    if not estimate.requests:
        return lasts, "as many requests as it answers"
    return lasts, counted(estimate.requests, "requests")


@signed_in_post(Probe.objects.select_related("endpoint__target__project", "campaign"))
def certificate_accept(request: HttpRequest, actor: Actor, probe: Probe) -> HttpResponse:
    try:
        typed_targets.accept_certificate(
            by=actor, probe=probe, fingerprint=request.POST.get("fingerprint", "")
        )
        if probe.campaign:
            try_again(by=actor, campaign=probe.campaign)
            return redirect("campaign-detail", campaign=probe.campaign_id)
        probe.endpoint.refresh_from_db()
        return redirect(_address_of(typed_targets.try_again(by=actor, probe=probe)))
    except Refused as refusal:
        messages.error(request, str(refusal))
        if probe.campaign:
            return redirect("campaign-detail", campaign=probe.campaign_id)
        return redirect(_address_of(probe))


@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@signed_in_form(Project, Action.EDIT)
def plan_paste(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    if request.method != "POST":
        return _paste_page(request, project)
    upload = request.FILES.get("file")
    text = upload.read().decode("utf-8", "replace") if upload else request.POST.get("what", "")
    try:
        paste = _read(request, text)
    except NotUnderstood as fault:
        return _paste_page(request, project, text=text, fault=str(fault), status=422)
    chosen = request.POST.getlist("chosen")
    numbers = {number for number in range(len(paste.requests)) if str(number) in chosen}
    if len(paste.requests) > 1 and "choose" not in request.POST:
        return choice_page(request, project, text, paste)
    numbered = enumerate(paste.requests)
    requests = [each for number, each in numbered if number in numbers or len(paste.requests) == 1]
    try:
        version, note = plan_from_requests(by=actor, project=project, requests=requests)
    except FilesMissing as fault:
        context = {"files": _numbered(paste, fault), "requests": requests, "chosen": numbers}
        return _paste_page(request, project, text=text, note=paste.note, **context)
    except (InvalidFields, Refused) as fault:
        message = " ".join(dict.fromkeys(getattr(fault, "errors", {"": str(fault)}).values()))
        return choice_page(request, project, text, paste, fault=message, chosen=numbers, status=422)
    messages.success(
        request, " ".join(filter(None, (f"{version.plan.name} created.", paste.note, note)))
    )
    return redirect("plan-edit", plan=version.plan_id)


def choice_page(
    request: HttpRequest, project: Project, text: str, paste: Paste, **more
) -> HttpResponse:
    """Which of several requests become steps; those of third parties are not ticked."""
    by_origin: dict[tuple, list[tuple[int, TypedRequest]]] = {}
    for number, each in enumerate(paste.requests):
        by_origin.setdefault(each.origin, []).append((number, each))
    origins = [
        {
            "place": requests[0][1].address.removesuffix(requests[0][1].path),
            "requests": requests,
            "is_first": requests[0][0] == 0,
        }
        for requests in by_origin.values()
    ]
    first = [number for each in origins if each["is_first"] for number, _ in each["requests"]]
    numbers = more.pop("chosen", None)
    ticked = set(first[:MAX_STEPS]) if numbers is None else numbers
    return _paste_page(
        request, project, text=text, note=paste.note, origins=origins, ticked=ticked, **more
    )


def _paste_page(
    request: HttpRequest, project: Project, *, text: str = "", status: int = 200, **more
) -> HttpResponse:
    context = {"project": project, "text": text, "most_steps": MAX_STEPS, **more}
    response = render(request, "plans/paste.html", context, status=status)
    if text:
        # It may contain a password.
        response["Cache-Control"] = "no-store"
    return response


# A phase that took no time is still visible.
_LEAST_WIDTH = 0.2


@dataclass(frozen=True, slots=True)
class StackedPart:
    """One part in a stacked bar; its label is as long as there is room for it."""

    name: str
    label: str
    title: str
    x: float
    width: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One row of parts for each report, in their order, on one axis in ms."""

    rows: list[list[StackedPart]]
    ticks: list[Tick]


# In percent of a bar that is some 420 px wide: a name needs 66 px, a number 24.
_NAME_WIDTH, _NUMBER_WIDTH = 16, 7


def draw_stacked(reports: Sequence[ProbeReport | None]) -> Stacked:
    """Each request as one bar of its parts; no parts where no answer came."""
    ends = [each.parts[-1] for each in reports if each and each.parts]
    total_ms = max((end.start_us + end.duration_us for end in ends), default=0) / 1000 or 1
    step_ms = round_up(total_ms / 4, TICK_STEPS)
    n_steps = int(total_ms / step_ms) + 1
    scale = 100 / (n_steps * step_ms)
    return Stacked(
        rows=[
            [_part(part, scale / 1000) for part in each.parts] if each else [] for each in reports
        ],
        ticks=[Tick(round(n * step_ms * scale, 3), f"{n * step_ms:,.12g}") for n in range(n_steps)],
    )


def _part(part: ProbePhase, scale_us: float) -> StackedPart:
    width = max(_LEAST_WIDTH, round(part.duration_us * scale_us, 3))
    words = f"{part.name} {part.duration_ms}"
    label = words if width >= _NAME_WIDTH else part.duration_ms if width >= _NUMBER_WIDTH else ""
    return StackedPart(part.name, label, f"{words} ms", round(part.start_us * scale_us, 3), width)

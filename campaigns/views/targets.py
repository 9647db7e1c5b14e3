"""Targets: the list, one target with its endpoints and facts, and the form. Try one request:
requested on the target's page, shown on its own page. Agents on a target's machine: how to start
one, what is heard of it, and its program. Prometheus exporters of a target: set, check and remove
them."""

import io
import zipfile
from contextlib import suppress
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from campaigns.domain.errors import InvalidPlan, InvalidTarget, Refused
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import PROFILES, VERSIONS
from campaigns.domain.presentation.history_words import METRICS, overview_sentence
from campaigns.forms.requests import ProbeForm, write_headers
from campaigns.forms.targets import FACT_LABELS, ExporterForm, TargetForm
from campaigns.models import Agent, Endpoint, Exporter, Probe, Project, Target
from campaigns.permissions import Action, Actor, require
from campaigns.queries import probes as queries
from campaigns.queries.baselines import quiet_changes
from campaigns.queries.history import HistoryFilter, histories, recent
from campaigns.queries.ownership import hosts_of
from campaigns.queries.probes import reason_to_wait, report_of
from campaigns.services import agents as exporter_services
from campaigns.services import targets as services
from campaigns.services.agents import create_agent, revoke_agent
from campaigns.services.probes import request_probe
from campaigns.services.typed_targets import try_untried
from campaigns.views.access import (
    Edit,
    actor_of,
    acts_on,
    answers_refusals,
    labels_of,
    rights_in,
    saved_by,
    signed_in_form,
    signed_in_post,
    signed_in_safe,
)
from campaigns.views.history_rows import counts_of, directions_of, in_order, row_of
from campaigns.views.items import TRASH, items_context, trash_list
from campaigns.views.load_plots import waterfall_charts

_MOST_RESULTS = 12  # the history has all
_LABELS = {"name": "Name", "endpoints": "Endpoints", "environment": "Environment"}


@signed_in_safe(Project)
def target_list(request: HttpRequest, actor: Actor, project: Project):
    if request.GET.get("view") == TRASH:
        return trash_list(request, "target", project)
    context = {**items_context(request, "target", project), "may": rights_in(project, actor)}
    return render(request, "targets/list.html", context)


@signed_in_form(Project, Action.EDIT)
def target_new(request: HttpRequest, actor: Actor, project: Project):
    form = TargetForm.demo() if request.GET.get("preset") == "demo" else TargetForm.blank()
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        target = _saved(form, services.create_target, by=actor, project=project)
        if target:
            messages.success(request, f"{target.name} created. Next, try one request.")
            return redirect("target-detail", target=target.pk)
    return _form_page(request, project, form)


@signed_in_form(Target, Action.EDIT)
def target_edit(request: HttpRequest, actor: Actor, target: Target):
    edit = Edit(request, lambda: services.content_of(target), _LABELS)
    form = TargetForm.of(target)
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        if _saved(form, partial(edit.save, services.edit_target), by=actor, target=target):
            with suppress(Refused):
                try_untried(by=actor, target=target)
            messages.success(request, f"{target.name} saved.")
            return redirect("target-detail", target=target.pk)
    return _form_page(request, target.project, form, Target.objects.get(pk=target.pk), edit)


@signed_in_safe(Target)
def target_detail(request: HttpRequest, actor: Actor, target: Target):
    return detail_page(request, target, ProbeForm())


def detail_page(request, target: Target, form: ProbeForm, status: int = 200, start_agent: str = ""):
    """The target's page; also shown for an invalid "try one request", and with the line that
    starts a new agent."""
    endpoints = list(target.endpoints.filter(archived_at=None))
    is_websocket = {endpoint.scheme in WEBSOCKET_SCHEMES for endpoint in endpoints}
    actor = actor_of(request)
    may = rights_in(target.project, actor)
    answers = queries.latest_answers(target, timezone.now())
    context = {
        "project": target.project,
        "target": target,
        "endpoints": [(each, answers.get(each.pk)) for each in endpoints],
        "first_endpoint": endpoints[0] if endpoints else None,
        **_results(actor, target),
        "speaks_websocket": True in is_websocket,
        "speaks_http": False in is_websocket,
        "old_endpoints": queries.archived_endpoints(target),
        "probes": queries.recent_probes(target),
        "form": form,
        "may": may,
        "can_try": may["run"] and endpoints and not target.archived_at,
        "agents": queries.live_agents(target),
        "exporters": queries.exporters_of(target),
        "hosts": hosts_of(target),
        "start_agent": start_agent,
    }
    return render(request, "targets/detail.html", context, status=status)


def _results(actor: Actor, target: Target) -> dict[str, Any]:
    """The latest result of each of its tests, the largest change first; {} without any."""
    by = recent(HistoryFilter(target=target.pk))
    found = histories(actor, target.project, by)
    pairs = in_order(found, quiet_changes(actor, target.project))
    pairs = [pair for pair in pairs if not pair[1].is_of_reference]
    if not pairs:
        return {}
    return {
        "sentence": overview_sentence(counts_of(pairs), moved=directions_of(pairs)),
        "results": [row_of(*pair) for pair in pairs[:_MOST_RESULTS]],
        "n_more": max(0, len(pairs) - _MOST_RESULTS),
        "metric": METRICS[by.metric],
    }


def _saved(form: TargetForm, service, **whose) -> Target | None:
    try:
        return service(**whose, **form.fields())
    except InvalidTarget as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        form.take_errors({"refused": str(refusal)})
    return None


def _form_page(
    request,
    project: Project,
    form: TargetForm,
    target: Target | None = None,
    edit: Edit | None = None,
):
    context = {
        "project": project,
        "form": form,
        "target": target,
        "edit": edit,
        "labels": FACT_LABELS,
        "versions": VERSIONS,
        "profiles": PROFILES.values(),
        "own_profiles": [each.value() for each in project.tls_profiles.all()],
    }
    status = edit.status(form.errors) if edit else 422 if form.errors else 200
    return render(request, "targets/form.html", context, status=status)


@signed_in_post(Endpoint)
def probe_new(request: HttpRequest, actor: Actor, endpoint: Endpoint):
    require(actor, Action.RUN, endpoint.target.project)
    form = ProbeForm(request.POST)
    try:
        if form.is_valid():
            asked = form.opening() if endpoint.scheme in WEBSOCKET_SCHEMES else form.step()
            follows = form.cleaned_data["redirects"]
            probe = request_probe(by=actor, endpoint=endpoint, request=asked, redirects=follows)
            return redirect("probe-detail", probe=probe.pk)
    except InvalidPlan as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("target-detail", target=endpoint.target_id)
    return detail_page(request, endpoint.target, form, status=422)


@signed_in_safe(Probe.objects.select_related("endpoint__target__project", "requested_by"))
def probe_detail(request: HttpRequest, actor: Actor, probe: Probe):
    project = probe.endpoint.target.project
    now = timezone.now()
    report = report_of(probe, now) if probe.finished_at else None
    context = {
        "project": project,
        "probe": probe,
        "target": probe.endpoint.target,
        "report": report,
        "refuses_certificate": (probe.result or {}).get("error") in CERTIFICATE_KINDS,
        "waterfall": report and waterfall_charts(report.parts),
        "reason_to_wait": reason_to_wait(probe, now),
        "headers_text": write_headers(probe.request.get("headers", [])),
        "may": rights_in(project, actor),
    }
    return render(request, "probes/detail.html", context)


_PROGRAM = settings.BASE_DIR / "workers" / "agent"
_START = "import sys\nfrom workers.agent.__main__ import main\nsys.exit(main())\n"


@answers_refusals("target-detail")
@signed_in_post(Target.objects.select_related("project"))
@never_cache
def agent_new(request: HttpRequest, actor: Actor, target: Target) -> HttpResponse:
    """The token is only in this answer: never stored, never in a URL."""
    _, text = create_agent(by=actor, target=target)
    # What to type on the machine: it watches whatever listens at the target's ports.
    site = request.build_absolute_uri("/").rstrip("/")
    ports = sorted(set(target.endpoints.filter(archived_at=None).values_list("port", flat=True)))
    watch = f" --watch {','.join(f':{port}' for port in ports)}" if ports else ""
    program = reverse("agent-file")
    return detail_page(
        request,
        target,
        ProbeForm(),
        start_agent=(
            f"curl -fsSO {site}{program} && BENCHSITE_AGENT_TOKEN={text} "
            f"python3 {program.lstrip('/')} --url {site}{watch}"
        ),
    )


@acts_on(Agent.objects.select_related("target__project"), "target-detail", "target_id")
def agent_revoke(request: HttpRequest, by: Actor, agent: Agent) -> str:
    revoke_agent(by=by, agent=agent)
    return "The agent's token is revoked. What it reported is kept."


@require_GET
def agent_file(request: HttpRequest) -> HttpResponse:
    """The program as one file. It holds nothing of this installation."""
    return HttpResponse(_packed(), content_type="application/zip")


@cache
def _packed() -> bytes:
    """As `python -m zipapp` packs a folder."""
    files = {"__main__.py": _START, "workers/__init__.py": ""}
    files |= {f"workers/agent/{each.name}": each.read_text() for each in _PROGRAM.glob("*.py")}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


_ROWS = Exporter.objects.select_related("target__project")


def _of_target(target: int) -> str:
    return reverse("target-detail", args=[target]) + "#agents"


@signed_in_form(Target.objects.select_related("project"), Action.EDIT)
def exporter_new(request: HttpRequest, actor: Actor, target: Target) -> HttpResponse:
    form = ExporterForm(request.POST) if request.method == "POST" else ExporterForm()
    saved = saved_by(
        form, lambda fields: exporter_services.add_exporter(by=actor, target=target, **fields)
    )
    return _answer(request, target, form, saved)


@signed_in_form(_ROWS)
def exporter_edit(request: HttpRequest, actor: Actor, exporter: Exporter) -> HttpResponse:
    require(actor, Action.EDIT, exporter.target.project)
    edit = Edit(request, lambda: exporter_services.content_of(exporter), labels_of(ExporterForm))
    form = ExporterForm.of(exporter)
    if request.method == "POST":
        form = ExporterForm(request.POST, has_token=exporter.has_token)
    saved = saved_by(
        form,
        lambda given: edit.save(
            exporter_services.change_exporter, by=actor, exporter=exporter, **given
        ),
    )
    return _answer(request, exporter.target, form, saved, edit)


@acts_on(_ROWS, "target-detail", "target_id", "#agents")
def exporter_check(request: HttpRequest, by: Actor, exporter: Exporter) -> str:
    exporter_services.ask_check(by=by, exporter=exporter)
    return f"A worker asks {exporter.name} now. Reload this page in a few seconds."


@acts_on(_ROWS, "target-detail", "target_id", "#agents")
def exporter_remove(request: HttpRequest, by: Actor, exporter: Exporter) -> str:
    exporter_services.remove_exporter(by=by, exporter=exporter)
    return f"{exporter.name} is no longer scraped. What it reported is kept."


def _answer(
    request: HttpRequest,
    target: Target,
    form: ExporterForm,
    saved: Exporter | None,
    edit: Edit | None = None,
) -> HttpResponse:
    if saved:
        messages.success(request, f"{saved.name} is saved. A worker asks it now what it offers.")
        return redirect(_of_target(target.pk))
    context = {"project": target.project, "target": target, "form": form, "edit": edit}
    status = edit.status(form.errors) if edit else 422 if form.errors else 200
    return render(request, "targets/exporter.html", context, status=status)

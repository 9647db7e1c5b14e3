"""Targets: the list, one target with its endpoints and facts, and the form. Try one request:
requested on the target's page, shown on its own page. What watches a target's machine: how to start
the agent, and its exporters: set, check and remove them."""

import secrets
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from campaigns.campaigns.queries.campaign_list import on_target
from campaigns.campaigns.views.campaigns import active_strip
from campaigns.core.access import (
    Edit,
    actor_of,
    acts_on,
    labels_of,
    render_page,
    rights_in,
    saved_by,
    signed_in_form,
    signed_in_post,
    signed_in_safe,
)
from campaigns.core.database import db_now
from campaigns.core.forms import ProbeForm, write_headers
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.analysis.changes import MIN_CAMPAIGNS
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS
from campaigns.domain.plan.addresses import LOOPBACK, written_addresses
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import PROFILES, VERSIONS
from campaigns.domain.presentation.charts import Axis, Chart, Charts, LineStyle, Places, Series
from campaigns.domain.presentation.history_words import METRICS, overview_sentence
from campaigns.domain.units import figure
from campaigns.history.queries.history import (
    HistoryFilter,
    histories,
    marks_of,
    quiet_changes,
    recent,
)
from campaigns.history.views.history_chart import value_chart
from campaigns.history.views.history_rows import counts_of, directions_of, in_order, row_of
from campaigns.items.queries.items import IN_USE
from campaigns.items.views.items import TRASH, items_context, trash_list
from campaigns.machines import services as exporter_services
from campaigns.models import Campaign, Endpoint, Exporter, Probe, Project, Target
from campaigns.probes.queries.probes import ProbePhase, reason_to_wait, report_of
from campaigns.probes.services.probes import request_probe
from campaigns.probes.services.typed_targets import try_untried
from campaigns.targets import services
from campaigns.targets.forms import FACT_LABELS, ExporterForm, TargetForm
from campaigns.targets.queries import hosts_of

_MOST_RESULTS = 12  # the history has all
_MOST_MARKS = 5
_MOST_PROBES = 8
_ASKED_S = 30  # a worker that lives answers a check in a second or two
_LABELS = {"name": "Name", "endpoints": "Endpoints", "environment": "Environment"}


@signed_in_safe(Project)
def target_list(request: HttpRequest, actor: Actor, project: Project):
    if request.GET.get("view") == TRASH:
        return trash_list(request, "target", project)
    return render_page(request, "targets/list.html", **items_context(request, "target", project))


@signed_in_form(Project, Action.EDIT)
def target_new(request: HttpRequest, actor: Actor, project: Project):
    form = TargetForm.demo() if request.GET.get("preset") == "demo" else TargetForm.blank()
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        if target := saved_by(form, services.create_target, by=actor, project=project):
            messages.success(request, f"{target.name} created. Next, try one request.")
            return redirect(_of_target(target.pk, "try"))
    return _form_page(request, project, form)


@signed_in_form(Target, Action.EDIT)
def target_edit(request: HttpRequest, actor: Actor, target: Target):
    edit = Edit(request, lambda: services.content_of(target), _LABELS)
    form = TargetForm.of(target)
    if request.method == "POST":
        form = TargetForm.posted(request.POST)
        if saved_by(form, edit.save, service=services.edit_target, by=actor, target=target):
            with suppress(Refused):
                try_untried(by=actor, target=target)
            messages.success(request, f"{target.name} saved.")
            return redirect("target-detail", target=target.pk)
    return _form_page(request, target.project, form, Target.objects.get(pk=target.pk), edit)


@signed_in_safe(Target)
def target_detail(request: HttpRequest, actor: Actor, target: Target):
    return detail_page(request, target, ProbeForm())


def detail_page(request, target: Target, form: ProbeForm, status: int = 200):
    """The target's page; also shown for an invalid "try one request"."""
    endpoints = list(target.endpoints.filter(archived_at=None))
    is_websocket = {endpoint.scheme in WEBSOCKET_SCHEMES for endpoint in endpoints}
    actor = actor_of(request)
    may = rights_in(target.project, actor)
    probes, now = Probe.objects.filter(endpoint__target=target), timezone.now()
    # What came back of the newest single request of each endpoint.
    probes_with_end = probes.exclude(finished_at=None).select_related("endpoint")
    newest = probes_with_end.order_by("endpoint_id", "-pk").distinct("endpoint_id")
    answers = {probe.endpoint_id: report_of(probe, now) for probe in newest}
    probes = probes.select_related("endpoint", "requested_by").order_by("-pk")[:_MOST_PROBES]
    can_try = may["run"] and endpoints and not target.archived_at
    is_asked = Case(When(asked_at__gt=db_now(-_ASKED_S), then=True), default=False)
    context = {
        "project": target.project,
        "target": target,
        "endpoints": [(each, answers.get(each.pk)) for each in endpoints],
        "first_endpoint": endpoints[0] if endpoints else None,
        **_results(actor, target),
        "active": active_strip(actor, target.project, target=target.pk),
        "n_campaigns": Campaign.objects.visible_to(actor)
        .filter(IN_USE, on_target(target.pk), started_at__isnull=False)
        .count(),
        "marks": marks_of(actor, target)[:_MOST_MARKS],
        "speaks_websocket": True in is_websocket,
        "speaks_http": False in is_websocket,
        "old_endpoints": target.endpoints.exclude(archived_at=None),
        "probes": probes,
        "form": form,
        "may": may,
        "can_try": can_try,
        "exporters": target.exporters.annotate(is_asked=is_asked),
        "hosts": hosts_of(target),
        # (panel, title) of those that have something.
        "tabs": [
            ("overview", "Overview"),
            *([("requests", "Requests")] if can_try or probes else []),
            ("setup", "Setup"),
        ],
    }
    return render(request, "targets/detail.html", context, status=status)


def _results(actor: Actor, target: Target) -> dict[str, Any]:
    """The latest result of each of its tests, the largest change first; {} without any."""
    by = recent(HistoryFilter(target=target.pk))
    own = histories(actor, target.project, by)
    pairs = in_order(own, quiet_changes(actor, target.project))
    pairs = [pair for pair in pairs if not pair[1].is_of_reference]
    if not pairs:
        return {}
    first = pairs[0][1]
    has_level = len(first.history.points) >= MIN_CAMPAIGNS
    return {
        "charts": value_chart(first, by.metric, METRICS[by.metric]) if has_level else None,
        "sentence": overview_sentence(counts_of(pairs), moved=directions_of(pairs)),
        "results": [row_of(*pair) for pair in pairs[:_MOST_RESULTS]],
        "n_more": max(0, len(pairs) - _MOST_RESULTS),
        "metric": METRICS[by.metric],
    }


def _form_page(
    request,
    project: Project,
    form: TargetForm,
    target: Target | None = None,
    edit: Edit | None = None,
):
    context = {
        "form": form,
        "target": target,
        "edit": edit,
        "labels": FACT_LABELS,
        "versions": VERSIONS,
        "profiles": PROFILES.values(),
        "own_profiles": [each.value() for each in project.tls_profiles.all()],
    }
    return render_page(request, "targets/form.html", project, **context)


@signed_in_post(Endpoint)
def probe_new(request: HttpRequest, actor: Actor, endpoint: Endpoint):
    require(actor, Action.RUN, endpoint.target.project)
    form = ProbeForm(request.POST)
    try:
        if form.is_valid():
            values = form.opening() if endpoint.scheme in WEBSOCKET_SCHEMES else form.step()
            follows = form.cleaned_data["redirects"]
            probe = request_probe(by=actor, endpoint=endpoint, request=values, redirects=follows)
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
        "probe": probe,
        "target": probe.endpoint.target,
        "report": report,
        "refuses_certificate": (probe.result or {}).get("error") in CERTIFICATE_KINDS,
        "waterfall": report and waterfall_charts(report.parts),
        "reason_to_wait": reason_to_wait(probe, now),
        "headers_text": write_headers(probe.request.get("headers", [])),
    }
    return render_page(request, "probes/detail.html", project, **context)


_ROWS = Exporter.objects.select_related("target__project")


def _of_target(target: int, part: str) -> str:
    return f"{reverse('target-detail', args=[target])}#{part}"


AGENT_PORT = 9800


@never_cache
@signed_in_form(Target.objects.select_related("project"), Action.EDIT)
def exporter_new(request: HttpRequest, actor: Actor, target: Target) -> HttpResponse:
    """The line that starts an agent has a new token; it is stored when the form is saved."""
    endpoints = list(target.endpoints.filter(archived_at=None))
    # An agent on the machine of the first endpoint.
    host = endpoints[0].host if endpoints else "10.0.0.5"
    url = f"http://{f'[{host}]' if ':' in host else host}:{AGENT_PORT}/metrics"
    initial = {"url": url, "token": secrets.token_urlsafe(32)}
    form = ExporterForm(request.POST or None, initial=initial)
    if exporter := saved_by(form, exporter_services.add_exporter, by=actor, target=target):
        return _to_agents(request, exporter)
    context = {"form": form, "target": target}
    # What to type on the machine: the agent watches whatever listens at the target's ports.
    token = form["token"].value() or ""
    site = request.build_absolute_uri("/").rstrip("/")
    is_here = endpoints and written_addresses(endpoints[0].host) == [LOOPBACK]
    ports = " ".join(f":{port}" for port in sorted({each.port for each in endpoints}))
    program = reverse("agent-file")
    words = [
        f"curl -fsSO {site}{program} &&",
        *([f"BENCHSITE_AGENT_TOKEN={shlex.quote(token)}"] if token else []),
        f"python3 {program.lstrip('/')} --listen {'127.0.0.1' if is_here else ''}:{AGENT_PORT}",
        *([f"--process {ports}"] if ports else []),
    ]
    context["start_agent"] = " ".join(words)
    return render_page(request, "targets/exporter.html", target.project, **context)


@signed_in_form(_ROWS, Action.EDIT)
def exporter_edit(request: HttpRequest, actor: Actor, exporter: Exporter) -> HttpResponse:
    edit = Edit(request, lambda: exporter_services.content_of(exporter), labels_of(ExporterForm))
    initial, has_token = exporter_services.content_of(exporter), exporter.has_token
    form = ExporterForm(request.POST or None, initial=initial, has_token=has_token)
    change = exporter_services.change_exporter
    if is_saved := saved_by(form, edit.save, service=change, by=actor, exporter=exporter):
        return _to_agents(request, is_saved)
    target = exporter.target
    context = {"form": form, "edit": edit, "target": target, "exporter": exporter}
    return render_page(request, "targets/exporter.html", target.project, **context)


def _to_agents(request: HttpRequest, exporter: Exporter) -> HttpResponse:
    messages.success(request, f"{exporter.name} is saved. A worker asks it now what it offers.")
    return redirect(_of_target(exporter.target_id, "agents"))


@acts_on(_ROWS, "target-detail", "target_id", "#agents")
def exporter_check(request: HttpRequest, by: Actor, exporter: Exporter) -> str:
    exporter_services.ask_check(by=by, exporter=exporter)
    return f"A worker asks {exporter.name} now. Reload this page in a few seconds."


@acts_on(_ROWS, "target-detail", "target_id", "#agents")
def exporter_remove(request: HttpRequest, by: Actor, exporter: Exporter) -> str:
    exporter_services.remove_exporter(by=by, exporter=exporter)
    return f"{exporter.name} is no longer scraped. What it reported is kept."


_PARTS = {
    "redirects": "part-outline",
    "dns": "part-dns",
    "close": "part-dns",
    "connect": "part-connect",
    "tls": "https",
    "send": "ink",
}


def waterfall_charts(parts: Sequence[ProbePhase]) -> Charts | None:
    """One row a part, on one axis of ms; None without an answer."""
    if not parts:
        return None
    rows = range(1, len(parts) + 1)
    spans = [(p.start_us / 1000, (p.start_us + p.duration_us) / 1000) for p in parts]
    last = max(end for _, end in spans) or 0.001
    return Charts(
        "waterfall",
        "Waterfall of the response time's parts",
        panels=[
            Chart(
                "waterfall",
                "Waterfall",
                "ms since the request began",
                "Waterfall of the response time's parts. The table below has the figures.",
                size="low" if len(parts) < 5 else "middle",
                x=Axis(title="ms", low=0, high=1.02 * last),
                y=Axis(
                    low=len(parts) + 0.6,
                    high=0.4,
                    ticks=[(row, part.name) for row, part in zip(rows, parts, strict=True)],
                ),
                series=[
                    Series(
                        name=part.name,
                        style=LineStyle(_PARTS.get(part.name, "part-wait")),
                        look="span",
                        x=[end],
                        y=[row],
                        left=[begin],
                        right=[end],
                        end=f"{part.duration_ms} ms",
                        texts=[f"{part.duration_ms} ms"],
                    )
                    for row, part, (begin, end) in zip(rows, parts, spans, strict=True)
                ],
            )
        ],
        places=Places(
            x=list(dict.fromkeys(end for _, end in spans)),
            at=[f"{figure(end)} ms" for end in dict.fromkeys(end for _, end in spans)],
        ),
    )

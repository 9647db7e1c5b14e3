"""Try one request: requested on the target's page, shown on its own page."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.measured.outcomes import CERTIFICATE_KINDS
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.forms.requests import ProbeForm, write_headers
from campaigns.models import Endpoint, Probe
from campaigns.permissions import Action, require
from campaigns.queries import probes as queries
from campaigns.services import probes as services
from campaigns.views.access import actor_of, find, rights_in
from campaigns.views.targets import detail_page
from campaigns.views.waterfall import draw_waterfall


@login_required
@require_POST
def probe_new(request, endpoint: int):
    actor = actor_of(request)
    found = find(Endpoint, actor, pk=endpoint)
    require(actor, Action.RUN, found.target.project)
    form = ProbeForm(request.POST)
    try:
        if form.is_valid():
            asked = form.opening() if found.scheme in WEBSOCKET_SCHEMES else form.step()
            probe = services.request_probe(by=actor, endpoint=found, request=asked)
            return redirect("probe-detail", probe=probe.pk)
    except InvalidPlan as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("target-detail", target=found.target_id)
    return detail_page(request, found.target, form, status=422)


@require_safe
@login_required
def probe_detail(request, probe: int):
    actor = actor_of(request)
    rows = Probe.objects.select_related("endpoint__target__project", "requested_by")
    found = find(rows, actor, pk=probe)
    project = found.endpoint.target.project
    now = timezone.now()
    report = queries.report_of(found, now) if found.finished_at else None
    context = {
        "project": project,
        "probe": found,
        "target": found.endpoint.target,
        "report": report,
        "refuses_certificate": (found.result or {}).get("error") in CERTIFICATE_KINDS,
        "waterfall": report and draw_waterfall(report.parts),
        "reason_to_wait": queries.reason_to_wait(found, now),
        "headers_text": write_headers(found.request.get("headers", [])),
        "may": rights_in(project, actor),
    }
    return render(request, "probes/detail.html", context)

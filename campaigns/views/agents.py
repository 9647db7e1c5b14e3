"""Agents on a target's machine: how to start one, what is heard of it, and its program."""

import io
import zipfile
from functools import cache

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from campaigns.forms.requests import ProbeForm
from campaigns.models import Agent, Target
from campaigns.services import agents as services
from campaigns.views.access import actor_of, answers_refusals, find
from campaigns.views.targets import detail_page

_PROGRAM = settings.BASE_DIR / "workers" / "agent"
_START = "import sys\nfrom workers.agent.__main__ import main\nsys.exit(main())\n"


@login_required
@require_POST
@never_cache
@answers_refusals("target-detail")
def agent_new(request: HttpRequest, target: int) -> HttpResponse:
    """The token is only in this answer: never stored, never in a URL."""
    found = find(Target.objects.select_related("project"), actor_of(request), pk=target)
    _, text = services.create_agent(by=actor_of(request), target=found)
    # What to type on the machine: it watches whatever listens at the target's ports.
    site = request.build_absolute_uri("/").rstrip("/")
    ports = sorted(set(found.endpoints.filter(archived_at=None).values_list("port", flat=True)))
    watch = f" --watch {','.join(f':{port}' for port in ports)}" if ports else ""
    program = reverse("agent-file")
    return detail_page(
        request,
        found,
        ProbeForm(),
        start_agent=(
            f"curl -fsSO {site}{program} && BENCHSITE_AGENT_TOKEN={text} "
            f"python3 {program.lstrip('/')} --url {site}{watch}"
        ),
    )


@login_required
@require_POST
def agent_revoke(request: HttpRequest, agent: int) -> HttpResponse:
    rows = Agent.objects.select_related("target__project")
    found = find(rows, actor_of(request), pk=agent)
    services.revoke_agent(by=actor_of(request), agent=found)
    messages.success(request, "The agent's token is revoked. What it reported is kept.")
    return redirect("target-detail", target=found.target_id)


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

"""Liveness and readiness for supervisors and load balancers. `/metrics`: the installation in
Prometheus's text format, for allowed addresses only. All load of the installation, for its
administrators: see it, stop it, allow it again; its injector hosts and storage. Of a project, for
its owners: stop it. The audit log: of a project for its owners, of the installation for its
administrators."""

import logging
import queue
import threading
from collections.abc import Iterable, Iterator

import redis
from django.conf import settings
from django.contrib import messages
from django.db import Error, connection
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_GET, require_POST, require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from psycopg_pool import PoolTimeout

from campaigns.campaigns.services.campaigns import stop_all_of_project
from campaigns.core.access import (
    actor_of,
    acts_on,
    answers_refusals,
    client_address_of,
    find,
    for_administrators,
    rights_in,
    signed_in_get,
    signed_in_safe,
)
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Action, Actor, may, may_anywhere
from campaigns.core.tables import csv_of_rows, text_file
from campaigns.core.transfer import is_in
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.units import counted
from campaigns.engine.queries.engine import gauges
from campaigns.engine.queries.injector_hosts import hosts
from campaigns.engine.services.endings import stop_any_run
from campaigns.items.queries.filters import AuditFilterSet
from campaigns.items.views.lists import Chip, asked_of, filter_rows, list_context, since_chip
from campaigns.models import AuditEntry, Project, Run
from campaigns.operations import queries
from campaigns.operations.models import AuditEvent
from campaigns.operations.services import load_control as services

logger = logging.getLogger(__name__)

PING_TIMEOUT_S = 2
# Load balancers ask every few seconds and wait no longer.
ANSWER_WITHIN_S = 4.0


def load_state(request: HttpRequest) -> dict:
    """For every page."""
    return {"nothing_begins": SimpleLazyObject(lambda: _nothing_begins(request))}


def _nothing_begins(request: HttpRequest) -> str:
    """Why, for those who are signed in; "" while runs begin as usual."""
    user = getattr(request, "user", None)
    return queries.why_nothing_begins() if user is not None and user.is_authenticated else ""


@require_safe
def healthz(request):
    """The process responds. Touches nothing else, so a database outage restarts no web server."""
    return HttpResponse(f"ok {settings.VERSION}\n", content_type="text/plain")


@require_safe
def readyz(request):
    """200 if PostgreSQL and Redis respond, else 503 with what fails."""
    checks = {"postgresql": _ask(_ask_postgresql), "redis": _ask(_ask_redis)}
    is_ready = all(answer == "ok" for answer in checks.values())
    # Results can be read without a dispatcher, so its silence takes no web server out of service.
    if is_ready:
        silent_s = queries.dispatcher_silent_for_s()
        checks["dispatcher"] = f"not heard of for {silent_s:.0f} s" if silent_s else "ok"
    return JsonResponse({"ready": is_ready, **checks}, status=200 if is_ready else 503)


def _ask(question) -> str:
    """The answer, in time: a server that is frozen accepts a question and says nothing."""
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_answer, args=(question, answers), daemon=True).start()
    try:
        return answers.get(timeout=ANSWER_WITHIN_S)
    except queue.Empty:
        logger.warning("Not ready: no answer within %s s", ANSWER_WITHIN_S)
        return "does not answer"


def _answer(question, answers: queue.SimpleQueue) -> None:
    try:
        question()
    except (Error, PoolTimeout, redis.RedisError, OSError) as error:
        # The error text names hosts and accounts, so it goes only to the log.
        logger.warning("Not ready: %s", error)
        answers.put("does not answer")
    else:
        answers.put("ok")
    finally:
        connection.close()  # this thread's own


def _ask_postgresql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        retry=None,
        socket_timeout=PING_TIMEOUT_S,
        socket_connect_timeout=PING_TIMEOUT_S,
    )
    try:
        client.ping()
    finally:
        client.close()


class _Installation(Collector):
    """Asks the database when it is asked."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for gauge in gauges():
            family = GaugeMetricFamily(f"benchsite_{gauge.name}", gauge.text, labels=gauge.labels)
            for labels, value in gauge.values.items():
                family.add_metric(labels, value)
            yield family

    def describe(self) -> list[GaugeMetricFamily]:
        """Empty, so that to register it asks nothing yet."""
        return []


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    # Behind a proxy that no setting lists, everybody has the proxy's address.
    is_behind_stranger = "X-Forwarded-For" in request.headers and not settings.TRUSTED_PROXIES
    if is_behind_stranger or not is_in(client_address_of(request), settings.METRICS_FOR):
        raise Http404
    registry = CollectorRegistry()
    registry.register(_Installation())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


@signed_in_safe
def injector_host_list(request):
    """`?project=` only keeps the top bar's sections; hosts belong to the installation."""
    rows = hosts(has_names=may_anywhere(actor_of(request), Action.RUN))
    projects = Project.objects.visible_to(actor_of(request))
    number = request.GET.get("project", "")
    context = {
        "hosts": rows,
        "n_alive": sum(host.is_alive for host in rows),
        "n_slots": sum(host.slots for host in rows if host.is_alive),
        "n_busy": sum(host.busy for host in rows if host.is_alive),
        "project": projects.filter(pk=int(number)).first() if number.isdecimal() else None,
    }
    return render(request, "operations/injector_hosts.html", context)


@for_administrators
@require_GET
def storage(request: HttpRequest) -> HttpResponse:
    kinds = queries.stored_kinds()
    context = {
        "kinds": kinds,
        "total_bytes": sum(kind.total_bytes for kind in kinds),
        "projects": queries.stored_projects(),
        "growth": queries.growth(),
        "growth_days": queries.GROWTH_DAYS,
    }
    return render(request, "operations/storage.html", context)


@for_administrators
@require_GET
def load_page(request: HttpRequest) -> HttpResponse:
    waiting = list(queries.waiting_campaigns())
    context = {
        "control": queries.load_control(),
        "runs": [(run, plan_load_words(run.frozen.plan)) for run in queries.active_runs()],
        "waiting": waiting,
        "n_queued": sum(each.n_queued for each in waiting),
    }
    return render(request, "operations/load_control.html", context)


@for_administrators
@require_POST
def load_stop(request: HttpRequest) -> HttpResponse:
    n_stopped = services.stop_all_load(by=actor_of(request))
    messages.success(request, f"Load is off. {counted(n_stopped, 'active runs')} told to stop.")
    return redirect("load")


@for_administrators
@require_POST
def load_allow(request: HttpRequest) -> HttpResponse:
    services.allow_load(by=actor_of(request))
    messages.success(request, "Load control: enabled. Queued runs start now.")
    return redirect("load")


@for_administrators
@require_POST
@answers_refusals(lambda request, **kwargs: "load")
def load_run_stop(request: HttpRequest, run: int) -> HttpResponse:
    row = get_object_or_404(Run.objects.select_related("campaign"), pk=run)
    stop_any_run(by=actor_of(request), run=row)
    messages.success(request, f"Run {row.label} of {row.campaign.name} is told to stop.")
    return redirect("load")


@acts_on(Project, "project-use")
def project_stop(request: HttpRequest, by: Actor, project: Project) -> str:
    n_stopped = stop_all_of_project(by=by, project=project)
    return f"{counted(n_stopped, 'campaigns')} of {project.name} told to stop."


MOST_EXPORTED = 100_000


@signed_in_get
def audit(request: HttpRequest, project: int | None = None) -> HttpResponse:
    entries = _readable(request, project)
    deeds = Chip("deed", "Action", [(str(deed), deed.words) for deed in AuditEvent])
    chips = [deeds, since_chip()]
    context = list_context(
        request, AuditFilterSet, _entries(request, entries), chips, nouns="entries", finds="Search"
    )
    may_do = rights_in(entries, actor_of(request)) if entries else {}
    return render(request, "operations/audit.html", {"project": entries, "may": may_do, **context})


@signed_in_get
def audit_csv(request: HttpRequest, project: int | None = None) -> HttpResponse:
    row = _readable(request, project)
    rows = _entries(request, row)
    entries = filter_rows(actor_of(request), AuditFilterSet, rows, asked_of(request)).qs
    name = f"audit-of-project-{row.pk}.csv" if row else "audit.csv"
    return text_file(name, csv_of_audit(entries[:MOST_EXPORTED]))


def _readable(request: HttpRequest, project: int | None) -> Project | None:
    """None of the installation. To others than owners and administrators a log does not exist."""
    actor = actor_of(request)
    project_row = find(Project, actor, pk=project) if project else None
    if not (may(actor, Action.MANAGE, project_row) if project_row else actor.is_administrator):
        raise Http404
    return project_row


def _entries(request: HttpRequest, project: Project | None) -> QuerySet[AuditEntry]:
    """Of one project, or of everything that the actor may see, newest first."""
    entries = AuditEntry.objects.visible_to(actor_of(request))
    return sorted_by(
        entries.filter(project=project.pk) if project else entries, F("pk"), falls=True
    )


_COLUMNS = ("id", "at", "project_id", "project", "who", "token", "address", "deed", "what")


def csv_of_audit(entries: Iterable[AuditEntry]) -> str:
    rows = (
        {
            "id": entry.pk,
            "at": entry.at.isoformat(),
            "project_id": entry.project,
            "project": entry.project_name,
            **{name: getattr(entry, name) for name in _COLUMNS[4:]},
        }
        for entry in entries
    )
    return csv_of_rows(_COLUMNS, rows)

"""Liveness and readiness for supervisors and load balancers. `/metrics`: the installation in
Prometheus's text format, for allowed addresses only."""

import logging
import queue
import threading
from collections.abc import Iterator

import redis
from django.conf import settings
from django.db import Error, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from psycopg_pool import PoolTimeout

from campaigns.domain.client_address import is_in
from campaigns.queries.installation import gauges
from campaigns.queries.load_control import dispatcher_silent_for_s
from campaigns.views.access import client_address_of

logger = logging.getLogger(__name__)

PING_TIMEOUT_S = 2
# Load balancers ask every few seconds and wait no longer.
ANSWER_WITHIN_S = 4.0


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
        silent_s = dispatcher_silent_for_s()
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

"""`/metrics`: the installation in Prometheus's text format, for allowed addresses only."""

from collections.abc import Iterator

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from campaigns.domain.client_address import is_in
from campaigns.queries.installation import gauges
from campaigns.views.access import client_address_of


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

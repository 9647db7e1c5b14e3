"""Probes ("try one request"): send one, and read what came back."""

from typing import Any

import django_filters
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import IdField, IdFilter, StrictSerializer, validated
from campaigns.api.specs import PairField
from campaigns.domain.errors import InvalidFields, InvalidPlan
from campaigns.domain.plan.step import METHODS
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.models import Endpoint, Probe
from campaigns.queries.first_requests import FirstRequest
from campaigns.queries.probes import report_of
from campaigns.services.probes import request_probe

_RESULT = ("status", "reason", "error", "response_us", "parts_us", "body_bytes", "peer", "tls")
_SEEN = ("headers", "snippet", "websocket")


class ProbeAnswerSerializer(serializers.Serializer):
    """What came back; names that do not apply are null."""

    sentence = serializers.CharField()
    is_ok = serializers.BooleanField()
    mend = serializers.CharField(allow_blank=True, help_text="What to do about it.")
    detail = serializers.CharField(allow_blank=True)
    is_expected = serializers.BooleanField(
        allow_null=True, help_text="Of a plan's first request: whether the plan counts it as ok."
    )
    status = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    error = serializers.CharField(allow_null=True, help_text="The kind of failure.")
    response_us = serializers.IntegerField(allow_null=True)
    parts_us = serializers.DictField(
        child=serializers.IntegerField(allow_null=True), allow_null=True
    )
    body_bytes = serializers.IntegerField(allow_null=True)
    peer = serializers.CharField(allow_null=True, help_text="The address that answered.")
    tls = serializers.JSONField(allow_null=True)
    headers = serializers.JSONField(allow_null=True, help_text="[[name, value], …]")
    snippet = serializers.CharField(allow_null=True, help_text="The beginning of the body.")
    websocket = serializers.JSONField(allow_null=True)
    certificates = serializers.JSONField(help_text="The server's first, each with its facts.")


class ProbeSerializer(serializers.ModelSerializer):
    requested_by = serializers.CharField(
        source="requested_by.username", allow_null=True, default=None
    )
    answer = serializers.SerializerMethodField(help_text="null until it has finished.")

    class Meta:
        model = Probe
        fields = (
            *("id", "endpoint", "plan_version", "campaign", "request", "requested_by"),
            *("requested_at", "finished_at", "answer"),
        )
        read_only_fields = fields

    @extend_schema_field(ProbeAnswerSerializer(allow_null=True))
    def get_answer(self, probe: Probe) -> dict[str, Any] | None:
        if probe.finished_at is None:
            return None
        now = timezone.now()
        report, result = report_of(probe, now), probe.result or {}
        is_first = probe.plan_version_id is not None
        return {
            "sentence": report.sentence,
            "is_ok": report.is_ok,
            "mend": report.mend,
            "detail": report.detail,
            "is_expected": FirstRequest(probe, report).is_expected if is_first else None,
            **{name: result.get(name) for name in (*_RESULT, *_SEEN)},
            "certificates": report.certificates,
        }


class ProbeRequest(StrictSerializer):
    """`body` and `method` are of HTTP endpoints, `subprotocols` and `message` of WebSocket ones."""

    method = serializers.ChoiceField(choices=METHODS, required=False)
    path = serializers.CharField(default="/")
    headers = serializers.ListField(
        child=PairField(), required=False, help_text="[name, value] pairs."
    )
    body = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    subprotocols = serializers.ListField(child=serializers.CharField(), required=False)
    message = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)


class NewProbe(StrictSerializer):
    endpoint = IdField()
    request = ProbeRequest(default=dict)


class ProbeFilterSet(django_filters.FilterSet):
    endpoint = IdFilter()
    target = IdFilter("endpoint__target")
    campaign = IdFilter()

    class Meta:
        model = Probe
        fields = ()


class ProbeViewSet(VisibleViewSet):
    model = Probe
    serializer_class = ProbeSerializer
    filterset_class = ProbeFilterSet

    def get_queryset(self):
        return super().get_queryset().select_related("requested_by")

    @extend_schema(request=NewProbe, responses={201: ProbeSerializer})
    def create(self, request):
        """Sends one request. Read it again until `finished_at` is set, a few seconds at most."""
        asked = validated(NewProbe, request.data)
        endpoint = find(Endpoint, request, pk=asked["endpoint"])
        try:
            probe = request_probe(
                by=self.actor, endpoint=endpoint, request=_as_sent(endpoint, asked["request"])
            )
        except InvalidPlan as invalid:
            # The plan reader's paths as those of the request: steps.0.path is request.path.
            short = {
                path.removeprefix("steps.0.").removeprefix("exchange."): invalid.errors[path]
                for path in invalid.errors
            }
            raise InvalidFields({f"request.{path}": text for path, text in short.items()}) from None
        return self.answer(probe.pk, status.HTTP_201_CREATED)


def _as_sent(endpoint: Endpoint, asked: dict[str, Any]) -> dict[str, Any]:
    if endpoint.scheme not in WEBSOCKET_SCHEMES:
        _refuse_others(asked, ("subprotocols", "message"), "an HTTP endpoint")
        return {"method": "GET", "path": "/", **asked}
    _refuse_others(asked, ("method", "body"), "a WebSocket endpoint")
    return {"path": "/", "headers": [], "subprotocols": [], "message": None, **asked}


def _refuse_others(asked: dict[str, Any], names: tuple[str, ...], endpoint: str) -> None:
    faults = {f"request.{name}": f"This is {endpoint}." for name in names if name in asked}
    if faults:
        raise InvalidFields(faults)

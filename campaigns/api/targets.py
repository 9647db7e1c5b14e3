"""Targets with their endpoints: read, create, edit, archive. Hosts of a target that need a proof or
an approval, and the check for a proof. Probes ("try one request"): send one, and read what came
back."""

from dataclasses import replace
from typing import Any

import django_filters
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.api.access import VisibleViewSet, actor_of, find
from campaigns.api.fields import IdField, IdFilter, StrictSerializer, user_field, validated
from campaigns.api.items import ITEM_FIELDS, ItemViewSet, OfProject, Tagged, ordering_of
from campaigns.api.specs import PairField
from campaigns.api.tls_profiles import TlsSerializer
from campaigns.domain.errors import InvalidFields, InvalidPlan
from campaigns.domain.plan.step import METHODS
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.models import Endpoint, HostPermit, Probe, Project, Target
from campaigns.permissions import Action, may, require
from campaigns.queries.first_requests import FirstRequest
from campaigns.queries.ownership import hosts_of
from campaigns.queries.probes import report_of
from campaigns.queries.targets import with_counts
from campaigns.services.items import archive_items, describe_item
from campaigns.services.ownership import check_host, claim_host
from campaigns.services.probes import request_probe
from campaigns.services.targets import create_target, edit_target


class EndpointSerializer(serializers.ModelSerializer):
    tls = serializers.SerializerMethodField()
    has_client_key = serializers.BooleanField()

    class Meta:
        model = Endpoint
        fields = (
            *("id", "scheme", "host", "port", "verify_tls", "tls", "has_client_key", "origin"),
            *("archived_at",),
        )
        read_only_fields = fields

    @extend_schema_field(TlsSerializer)
    def get_tls(self, endpoint):
        return TlsOptions.of(endpoint.tls).to_json()


class FactField(serializers.ListField):
    """A fact about the machine: ["CPU", "4 × Xeon 2.2 GHz"]."""

    def __init__(self, **options):
        child = serializers.CharField(allow_blank=True, max_length=500)
        super().__init__(child=child, min_length=2, max_length=2, **options)


class TargetSerializer(serializers.ModelSerializer):
    environment = serializers.ListField(child=FactField())
    endpoints = EndpointSerializer(many=True)

    class Meta:
        model = Target
        fields = ("id", "project", "name", "environment", "endpoints", "created_at", *ITEM_FIELDS)
        read_only_fields = fields


class EndpointInput(StrictSerializer):
    scheme = serializers.ChoiceField(choices=Endpoint.SCHEMES)
    host = serializers.CharField(max_length=253)
    port = serializers.IntegerField(min_value=1, max_value=65535)
    verify_tls = serializers.BooleanField(default=True)
    tls = TlsSerializer(required=False)
    client_key_pem = serializers.CharField(
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="The client certificate's key. Write-only; omit it to keep the stored one.",
    )


class TargetInput(StrictSerializer):
    name = serializers.CharField(max_length=100)
    environment = serializers.ListField(child=FactField(), max_length=100, default=list)
    endpoints = EndpointInput(many=True, allow_empty=False, max_length=50)


class NewTarget(TargetInput, Tagged):
    project = IdField()


class TargetFilterSet(OfProject):
    ordering = ordering_of(Target)


class TargetViewSet(ItemViewSet):
    model = Target
    serializer_class = TargetSerializer
    filterset_class = TargetFilterSet

    def get_queryset(self):
        found = super().get_queryset()
        if self.action == "list":
            found = found.filter(is_kept=True)
        return with_counts(found).prefetch_related("endpoints")

    @extend_schema(request=NewTarget, responses={201: TargetSerializer})
    @transaction.atomic
    def create(self, request):
        data = validated(NewTarget, request.data)
        project = find(Project, request, pk=data.pop("project"))
        tags = data.pop("tags", None)
        target = create_target(by=self.actor, project=project, **data)
        if tags:
            describe_item(by=self.actor, item=target, tags=tags)
        return self.answer(target.pk, status.HTTP_201_CREATED)

    @extend_schema(request=TargetInput)
    def update(self, request, pk):
        """Replaces all three fields. Omitted endpoints are deleted, those with tests archived."""
        target = self.get_object()
        require(self.actor, Action.EDIT, target.project)
        edit_target(by=self.actor, target=target, **validated(TargetInput, request.data))
        return self.answer(target.pk)

    @extend_schema(request=None, operation_id="targets_archive")
    def archive(self, request, pk):
        """Removes the target from lists and forms. Its results are kept."""
        target = self.get_object()
        archive_items(by=self.actor, items=[target])
        return self.answer(target.pk)


class PermitSerializer(serializers.ModelSerializer):
    class Meta:
        model = HostPermit
        fields = (
            *("id", "kind", "places", "given_at", "given_by", "reason", "withdrawn_at"),
            *("withdrawn_by", "withdrawal"),
        )
        read_only_fields = fields


class HostSerializer(serializers.Serializer):
    host = serializers.CharField()
    state = serializers.CharField(source="word", help_text="In a word, as on the target's page.")
    is_permitted = serializers.BooleanField(help_text="Whether load may go there now.")
    still_refused = serializers.ListField(child=serializers.CharField())
    proof_ends_at = serializers.DateTimeField(allow_null=True)
    file_urls = serializers.ListField(
        source="urls",
        child=serializers.CharField(),
        help_text="Where the file is looked for. For editors.",
    )
    checked_at = serializers.DateTimeField(source="claim.checked_at", default=None)
    faults = serializers.ListField(
        source="claim.faults", child=serializers.CharField(), default=list
    )
    permits = PermitSerializer(many=True, help_text="Proofs and approvals, newest first.")
    current = serializers.ListField(
        child=serializers.IntegerField(), help_text="The permits that count."
    )


class HostInput(StrictSerializer):
    host = serializers.CharField(max_length=253)


class OwnershipOfTarget(APIView):
    @extend_schema(responses=HostSerializer(many=True), operation_id="targets_ownership")
    def get(self, request, pk):
        """The target's hosts that need a proof or an approval before load goes there; empty where
        only listed networks count."""
        return Response(_told(request, find(Target, request, pk=pk)))

    @extend_schema(
        request=HostInput,
        responses={202: HostSerializer(many=True)},
        operation_id="targets_ownership_check",
    )
    def post(self, request, pk):
        """Have a worker look for the file with the token; the first check makes the token."""
        target = find(Target, request, pk=pk)
        actor = actor_of(request)
        require(actor, Action.EDIT, target.project)
        host = validated(HostInput, request.data)["host"]
        check_host(by=actor, claim=claim_host(by=actor, target=target, host=host))
        return Response(_told(request, target), status=status.HTTP_202_ACCEPTED)


def _told(request, target: Target):
    """Tokens are only for those who may have them checked."""
    hosts = hosts_of(target)
    if not may(actor_of(request), Action.EDIT, target.project):
        hosts = [replace(host, urls=()) for host in hosts]
    return HostSerializer(hosts, many=True).data


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
    requested_by = user_field("requested_by")
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

"""Targets with their endpoints: read, create, edit, archive. Hosts of a target that need a proof or
an approval, and the check for a proof. Probes ("try one request"): send one, and read what came
back. TLS profiles that a project named: list, create, change, delete."""

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.core.permissions import Action, may, require
from campaigns.domain.errors import InvalidFields, InvalidPlan
from campaigns.domain.plan.step import BODIES, MAX_METHOD, Redirects
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import (
    LONGEST_OFFER,
    MAX_PEM_BYTES,
    MOST_NAME,
    OFFERED,
    PROFILES,
    TlsOptions,
)
from campaigns.items.queries.filters import IdFilter, ListFilterSet, TargetFilterSet
from campaigns.items.services import archive_items, describe_item
from campaigns.models import Endpoint, HostPermit, OwnTlsProfile, Probe, Project, Target
from campaigns.plans.api import FileField, PartSerializer, pairs
from campaigns.probes.queries.first_requests import FirstRequest
from campaigns.probes.queries.probes import report_of, with_counts
from campaigns.probes.services.probes import request_probe
from campaigns.rest import fields
from campaigns.rest.access import (
    ITEM_FIELDS,
    ItemViewSet,
    ResourceViewSet,
    Tagged,
    VisibleViewSet,
    actor_of,
    describe,
    find,
)
from campaigns.targets import services
from campaigns.targets.queries import hosts_of


def _version() -> serializers.ChoiceField:
    return serializers.ChoiceField(choices=fields.TLS_VERSIONS, allow_null=True, default=None)


def _offer(help_text: str) -> serializers.CharField:
    return fields.text(help_text, LONGEST_OFFER, default="")


class TlsOffer(fields.StrictSerializer):
    """What a profile sets; what is left out stays at its default. Lists of names are in the order
    of preference, with colons in between."""

    min_version, max_version = _version(), _version()
    groups = _offer("Key exchange groups, such as X25519MLKEM768:X25519.")
    ciphersuites = _offer("Ciphers of TLS 1.3.")
    ciphers = _offer("OpenSSL's list for TLS 1.2.")
    signatures = _offer("Signature algorithms, such as ecdsa_secp256r1_sha256.")


class TlsSerializer(TlsOffer):
    """TLS 1.2 is the oldest version; groups are those of a current browser, every other default is
    OpenSSL's. Lists of names are in the order of preference, with colons in between.
    """

    profile = fields.text(
        f"One of {', '.join(filter(None, PROFILES))}, or the name of a TLS profile of the project. "
        "Sets what is left at its default. Tells endpoints of one origin apart.",
        MOST_NAME,
        default="",
    )
    ca_pem = fields.text("Trusted instead of the system's authorities.", MAX_PEM_BYTES, default="")
    sni = fields.text("Server name to send (SNI) and verify. Default: the host.", 253, default="")
    client_certificate_pem = fields.text(most=MAX_PEM_BYTES, default="")
    fingerprint = fields.text(
        "SHA-256 of the one certificate to accept, instead of verifying it.", 200, default=""
    )
    alpn = serializers.BooleanField(
        default=True, help_text="Whether ALPN offers http/1.1, with HTTP/2 h2."
    )


class TlsProfileInput(TlsOffer):
    name = serializers.CharField(
        max_length=MOST_NAME, help_text="What endpoints name it by, under `tls.profile`."
    )


class TlsProfileSerializer(fields.ReadSerializer):
    offers = serializers.SerializerMethodField()
    words = serializers.CharField(source="value.summary", help_text="What it sets.")

    class Meta:
        model = OwnTlsProfile
        fields = ("id", "project", "name", "offers", "words", "created_at")

    @extend_schema_field(TlsOffer)
    def get_offers(self, profile: OwnTlsProfile) -> dict:
        offers = TlsOptions(**profile.offers).to_json()
        return {name: offers[name] for name in OFFERED}


@describe(
    list="The project's own TLS profiles, by name. Those that come with benchsite are not listed:\n"
    "`browser`, `tls12`, `classical`, `ecdsa` and `rsa`.",
    create="Names a set of TLS options, for `tls.profile` of endpoints.",
    update="Replaces name and options. Endpoints that name it follow; runs that have been started\n"
    "keep what was offered then.",
    destroy="Refused while an endpoint in use names it.",
)
class TlsProfileViewSet(ResourceViewSet):
    model = OwnTlsProfile
    parent = Project
    serializer_class = TlsProfileSerializer
    input_class = TlsProfileInput

    def get_queryset(self):
        return super().get_queryset().select_related("project")

    def perform_create(self, project, **values):
        return services.create_profile(by=self.actor, project=project, **values)

    def perform_update(self, profile, **values):
        services.change_profile(by=self.actor, profile=profile, **values)

    def perform_destroy(self, profile):
        services.delete_profile(by=self.actor, profile=profile)


class EndpointSerializer(fields.ReadSerializer):
    tls = serializers.SerializerMethodField()
    has_client_key = serializers.BooleanField()

    class Meta:
        model = Endpoint
        fields = (
            *("id", "scheme", "host", "port", "address", "verify_tls", "tls", "has_client_key"),
            *("origin", "archived_at"),
        )

    @extend_schema_field(TlsSerializer)
    def get_tls(self, endpoint):
        return TlsOptions(**endpoint.tls).to_json()


class FactField(serializers.ListField):
    """A fact about the machine: ["CPU", "4 × Xeon 2.2 GHz"]."""

    def __init__(self, **options):
        child = serializers.CharField(allow_blank=True, max_length=500)
        super().__init__(child=child, min_length=2, max_length=2, **options)


class TargetSerializer(fields.ReadSerializer):
    environment = serializers.ListField(child=FactField())
    endpoints = EndpointSerializer(many=True)

    class Meta:
        model = Target
        fields = (
            *("id", "project", "name", "environment", "endpoints", "created_at"),
            *ITEM_FIELDS,
        )


class EndpointInput(fields.StrictSerializer):
    scheme = serializers.ChoiceField(choices=Endpoint.SCHEMES)
    host = serializers.CharField(max_length=253)
    port = serializers.IntegerField(min_value=1, max_value=65535)
    address = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=45,
        help_text="Connections go to it, whatever a name server says of the host; Host header and "
        "SNI stay the host's.",
    )
    verify_tls = serializers.BooleanField(default=True)
    tls = TlsSerializer(required=False)
    client_key_pem = serializers.CharField(
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="The client certificate's key. Write-only; omit it to keep the stored one.",
    )


class TargetInput(fields.StrictSerializer):
    name = serializers.CharField(max_length=100)
    environment = serializers.ListField(child=FactField(), max_length=100, default=list)
    endpoints = EndpointInput(many=True, allow_empty=False, max_length=50)


class NewTarget(TargetInput, Tagged):
    project = fields.IdField()


class TargetViewSet(ItemViewSet):
    model = Target
    serializer_class = TargetSerializer
    input_class = TargetInput
    filterset_class = TargetFilterSet

    def get_queryset(self):
        rows = super().get_queryset()
        if self.action == "list":
            rows = rows.filter(is_kept=True)
        return with_counts(rows).prefetch_related("endpoints")

    @extend_schema(request=NewTarget, responses={201: TargetSerializer})
    @transaction.atomic
    def create(self, request):
        data = fields.validated(NewTarget, request.data)
        project = find(Project, request, pk=data.pop("project"))
        tags = data.pop("tags", None)
        target = services.create_target(by=self.actor, project=project, **data)
        if tags:
            describe_item(by=self.actor, item=target, tags=tags)
        return self.answer(target.pk, status.HTTP_201_CREATED)

    def update(self, request, pk):
        """Replaces all three fields. Omitted endpoints are deleted, those with tests archived."""
        target = self.get_object()
        services.edit_target(by=self.actor, target=target, **self.input(target))
        return self.answer(target.pk)

    @extend_schema(request=None, operation_id="targets_archive")
    def archive(self, request, pk):
        """Removes the target from lists and forms. Its results are kept."""
        target = self.get_object()
        archive_items(by=self.actor, items=[target])
        return self.answer(target.pk)


class PermitSerializer(fields.ReadSerializer):
    class Meta:
        model = HostPermit
        fields = (
            *("id", "kind", "places", "given_at", "given_by", "reason", "withdrawn_at"),
            *("withdrawn_by", "withdrawal"),
        )


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


class HostInput(fields.StrictSerializer):
    host = serializers.CharField(max_length=253)


class OwnershipOfTarget(APIView):
    @extend_schema(responses=HostSerializer(many=True), operation_id="targets_ownership")
    def get(self, request, pk):
        """The target's hosts that need a proof or an approval before load goes there; empty where
        only listed networks count."""
        return Response(_hosts_json(request, find(Target, request, pk=pk)))

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
        host = fields.validated(HostInput, request.data)["host"]
        services.check_host(by=actor, claim=services.claim_host(by=actor, target=target, host=host))
        return Response(_hosts_json(request, target), status=status.HTTP_202_ACCEPTED)


def _hosts_json(request, target: Target):
    """Tokens are only for those who may have them checked."""
    hosts = hosts_of(target)
    if not may(actor_of(request), Action.EDIT, target.project):
        hosts = [replace(host, urls=()) for host in hosts]
    return HostSerializer(hosts, many=True).data


_RESULT = ("status", "reason", "error", "response_us", "parts_us", "body_bytes", "peer", "tls")
_SEEN = ("headers", "snippet", "websocket", "redirects")


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
    redirects = serializers.JSONField(
        allow_null=True, help_text="Replies that were followed: url, status, response_us."
    )
    certificates = serializers.JSONField(help_text="The server's first, each with its facts.")


class ProbeSerializer(fields.ReadSerializer):
    requested_by = fields.user_field("requested_by")
    answer = serializers.SerializerMethodField(help_text="null until it has finished.")

    class Meta:
        model = Probe
        fields = (
            *("id", "endpoint", "plan_version", "campaign", "request", "requested_by"),
            *("requested_at", "finished_at", "answer"),
        )

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


class ProbeRequest(fields.StrictSerializer):
    """`body` and `method` are of HTTP endpoints, `subprotocols` and `message` of WebSocket ones."""

    method = serializers.CharField(required=False, max_length=MAX_METHOD)
    path = serializers.CharField(default="/")
    headers = pairs()
    body = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    body_file = FileField(required=False, help_text="As in a plan's step.")
    form = pairs(None)
    multipart = PartSerializer(many=True, required=False)
    subprotocols = serializers.ListField(child=serializers.CharField(), required=False)
    message = serializers.CharField(required=False, allow_null=True, trim_whitespace=False)


class NewProbe(fields.StrictSerializer):
    endpoint = fields.IdField()
    request = ProbeRequest(default=dict)
    redirects = serializers.ChoiceField(
        [str(each) for each in Redirects], default=Redirects.OFF, help_text="As of a plan."
    )


class ProbeFilterSet(ListFilterSet):
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
        values = fields.validated(NewProbe, request.data)
        endpoint = find(Endpoint, request, pk=values["endpoint"])
        try:
            probe = request_probe(
                by=self.actor,
                endpoint=endpoint,
                request=_as_sent(endpoint, values["request"]),
                redirects=values["redirects"],
            )
        except InvalidPlan as invalid:
            # The plan reader's paths as those of the request: steps.0.path is request.path.
            short = {
                path.removeprefix("steps.0.").removeprefix("exchange."): invalid.errors[path]
                for path in invalid.errors
            }
            raise InvalidFields({f"request.{path}": text for path, text in short.items()}) from None
        return self.answer(probe.pk, status.HTTP_201_CREATED)


def _as_sent(endpoint: Endpoint, request: dict[str, Any]) -> dict[str, Any]:
    if endpoint.scheme not in WEBSOCKET_SCHEMES:
        _refuse_others(request, ("subprotocols", "message"), "an HTTP endpoint")
        return {"method": "GET", "path": "/", **request}
    _refuse_others(request, ("method", *BODIES), "a WebSocket endpoint")
    return {"path": "/", "headers": [], "subprotocols": [], "message": None, **request}


def _refuse_others(request: dict[str, Any], names: tuple[str, ...], endpoint: str) -> None:
    faults = {f"request.{name}": f"This is {endpoint}." for name in names if name in request}
    if faults:
        raise InvalidFields(faults)

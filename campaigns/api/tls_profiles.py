"""TLS profiles that a project named: list, create, change, delete."""

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import TLS_VERSIONS, StrictSerializer, validated
from campaigns.domain.plan.tls_options import (
    LONGEST_OFFER,
    MAX_PEM_BYTES,
    MOST_NAME,
    OFFERED,
    TlsOptions,
)
from campaigns.domain.plan.tls_profiles import PROFILES
from campaigns.models import OwnTlsProfile, Project
from campaigns.permissions import Action, require
from campaigns.services.tls_profiles import change_profile, create_profile, delete_profile


def _text(most: int, help_text: str = "") -> serializers.CharField:
    words = {"help_text": help_text} if help_text else {}
    return serializers.CharField(allow_blank=True, default="", max_length=most, **words)


class TlsSerializer(StrictSerializer):
    """TLS 1.2 is the oldest version; groups are those of a current browser, every other default is
    OpenSSL's. Lists of names are in the order of preference, with colons in between.
    """

    profile = serializers.CharField(
        max_length=MOST_NAME,
        allow_blank=True,
        default="",
        help_text=f"One of {', '.join(filter(None, PROFILES))}, or the name of a TLS profile of "
        "the project. Sets what is left at its default. Tells endpoints of one origin apart.",
    )
    min_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    max_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    ciphers = _text(1000, "OpenSSL's list for TLS 1.2.")
    ca_pem = _text(MAX_PEM_BYTES, "Trusted instead of the system's authorities.")
    sni = _text(253, "Server name to send (SNI) and verify. Default: the host.")
    client_certificate_pem = _text(MAX_PEM_BYTES)
    fingerprint = _text(200, "SHA-256 of the one certificate to accept, instead of verifying it.")
    groups = _text(1000, "Key exchange groups, such as X25519MLKEM768:X25519.")
    ciphersuites = _text(1000, "Ciphers of TLS 1.3.")
    signatures = _text(1000, "Signature algorithms, such as ecdsa_secp256r1_sha256.")
    alpn = serializers.BooleanField(
        default=True, help_text="Whether ALPN offers http/1.1, with HTTP/2 h2."
    )


class TlsOffer(StrictSerializer):
    """What a profile sets; what is left out stays at its default. Lists of names are in the order
    of preference, with colons in between."""

    min_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    max_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    groups = _text(LONGEST_OFFER, "Key exchange groups, such as X25519MLKEM768:X25519.")
    ciphersuites = _text(LONGEST_OFFER, "Ciphers of TLS 1.3.")
    ciphers = _text(LONGEST_OFFER, "OpenSSL's list for TLS 1.2.")
    signatures = _text(LONGEST_OFFER, "Signature algorithms, such as ecdsa_secp256r1_sha256.")


class TlsProfileInput(TlsOffer):
    name = serializers.CharField(
        max_length=MOST_NAME, help_text="What endpoints name it by, under `tls.profile`."
    )


class TlsProfileSerializer(serializers.ModelSerializer):
    offers = serializers.SerializerMethodField()
    words = serializers.CharField(source="value.summary", help_text="What it sets.")

    class Meta:
        model = OwnTlsProfile
        fields = ("id", "project", "name", "offers", "words", "created_at")
        read_only_fields = fields

    @extend_schema_field(TlsOffer)
    def get_offers(self, profile: OwnTlsProfile) -> dict:
        offered = TlsOptions.of(profile.offers).to_json()
        return {name: offered[name] for name in OFFERED}


class TlsProfileViewSet(VisibleViewSet):
    model = OwnTlsProfile
    serializer_class = TlsProfileSerializer

    def get_queryset(self):
        return super().get_queryset().select_related("project")

    def filter_queryset(self, queryset):
        found = super().filter_queryset(queryset)
        return found.filter(project=self.kwargs["project"]) if self.action == "list" else found

    @extend_schema(operation_id="projects_tls_profiles_list")
    def list(self, request, project):
        """The project's own TLS profiles, by name. Those that come with benchsite are not listed:
        `browser`, `tls12`, `classical`, `ecdsa` and `rsa`."""
        find(Project, request, pk=project)
        return super().list(request)

    @extend_schema(
        request=TlsProfileInput,
        responses={201: TlsProfileSerializer},
        operation_id="projects_tls_profiles_create",
    )
    def create(self, request, project):
        """Names a set of TLS options, for `tls.profile` of endpoints."""
        found = find(Project, request, pk=project)
        require(self.actor, Action.EDIT, found)
        data = validated(TlsProfileInput, request.data)
        profile = create_profile(by=self.actor, project=found, **data)
        return self.answer(profile.pk, status.HTTP_201_CREATED)

    @extend_schema(request=TlsProfileInput)
    def update(self, request, pk):
        """Replaces name and options. Endpoints that name it follow; runs that have been started
        keep what was offered then."""
        found = self.get_object()
        require(self.actor, Action.EDIT, found.project)
        data = validated(TlsProfileInput, request.data)
        profile = change_profile(by=self.actor, profile=found, **data)
        return self.answer(profile.pk)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Refused while an endpoint in use names it."""
        delete_profile(by=self.actor, profile=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

"""An endpoint's TLS options in the API's schema; domain.plan.tls_options validates them."""

from rest_framework import serializers

from campaigns.api.choices import TLS_VERSIONS
from campaigns.api.fields import StrictSerializer
from campaigns.domain.plan.tls_options import MAX_PEM_BYTES


class TlsSerializer(StrictSerializer):
    """Each default is OpenSSL's; TLS 1.2 is the oldest version."""

    min_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    max_version = serializers.ChoiceField(choices=TLS_VERSIONS, allow_null=True, default=None)
    ciphers = serializers.CharField(
        allow_blank=True, default="", max_length=1000, help_text="OpenSSL's list for TLS 1.2."
    )
    ca_pem = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=MAX_PEM_BYTES,
        help_text="Trusted instead of the system's authorities.",
    )
    sni = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=253,
        help_text="Server name to send (SNI) and verify. Default: the host.",
    )
    client_certificate_pem = serializers.CharField(
        allow_blank=True, default="", max_length=MAX_PEM_BYTES
    )
    fingerprint = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=200,
        help_text="SHA-256 of the one certificate to accept, instead of verifying it.",
    )
    alpn = serializers.BooleanField(default=True, help_text="Whether ALPN offers http/1.1.")

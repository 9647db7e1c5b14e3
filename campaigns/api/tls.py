"""An endpoint's TLS options in the API's schema; domain.plan.tls_options validates them."""

from rest_framework import serializers

from campaigns.api.choices import TLS_VERSIONS
from campaigns.api.fields import StrictSerializer
from campaigns.domain.plan.own_tls_profiles import MOST_NAME
from campaigns.domain.plan.tls_options import MAX_PEM_BYTES
from campaigns.domain.plan.tls_profiles import PROFILES


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
    groups = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=1000,
        help_text="Key exchange groups, such as X25519MLKEM768:X25519.",
    )
    ciphersuites = serializers.CharField(
        allow_blank=True, default="", max_length=1000, help_text="Ciphers of TLS 1.3."
    )
    signatures = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=1000,
        help_text="Signature algorithms, such as ecdsa_secp256r1_sha256.",
    )
    alpn = serializers.BooleanField(
        default=True, help_text="Whether ALPN offers http/1.1, with HTTP/2 h2."
    )

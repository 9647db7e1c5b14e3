"""The form of a TLS profile that a project names. The domain says what is wrong with it."""

from typing import Any

from django import forms

from campaigns.domain.plan.tls_options import (
    CIPHERSUITES,
    GROUPS,
    LONGEST_OFFER,
    MOST_NAME,
    OFFERED,
    SIGNATURES,
    VERSIONS,
    TlsProfile,
)
from campaigns.forms.requests import CheckedForm, text_widget

_VERSIONS = [("", "default"), *((each, f"TLS {each}") for each in VERSIONS)]


def _version(label: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=_VERSIONS, required=False)


def _names(label: str, example: str, hint: str) -> forms.CharField:
    widget = text_widget("input-wide", placeholder=example, maxlength=LONGEST_OFFER)
    return forms.CharField(label=label, required=False, widget=widget, help_text=hint)


class TlsProfileForm(CheckedForm):
    name = forms.CharField(
        label="Name",
        required=False,
        widget=text_widget("input-medium", placeholder="our mobile clients", maxlength=MOST_NAME),
        help_text="It tells endpoints and arms apart wherever they are shown.",
    )
    min_version = _version("Minimum version")
    max_version = _version("Maximum version")
    groups = _names(
        "Key exchange groups",
        "X25519MLKEM768:X25519",
        f"In the order of preference. Known: {', '.join(GROUPS)}.",
    )
    ciphersuites = _names(
        "Ciphers of TLS 1.3", "TLS_AES_128_GCM_SHA256", f"Known: {', '.join(CIPHERSUITES)}."
    )
    ciphers = _names("Ciphers of TLS 1.2", "ECDHE+AESGCM", "As OpenSSL writes lists of ciphers.")
    signatures = _names("Signatures", "ecdsa_secp256r1_sha256", f"Known: {', '.join(SIGNATURES)}.")

    @classmethod
    def starting_from(cls, profile: TlsProfile, name: str = "") -> "TlsProfileForm":
        """Filled in with what another profile offers."""
        return cls(initial={**profile.offers, "name": name})

    def fields_of_service(self) -> dict[str, Any]:
        """The name, and what the profile offers."""
        data = self.cleaned_data
        return {"name": data["name"], **{name: data[name] for name in OFFERED}}

"""Reads a server's DER certificates into facts that a page can list."""

import base64
import binascii
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from campaigns.domain.measured.certificate_key import key_words

MAX_CHAIN = 10
# What the library raises for certificates that servers may send all the same; the errors of its own
# are no ValueErrors.
CERTIFICATE_FAULTS = (ValueError, UnsupportedAlgorithm, binascii.Error, x509.InvalidVersion)
EXTENSION_FAULTS = (x509.DuplicateExtension, x509.UnsupportedGeneralNameType, ValueError)


def chain_facts(certificates_der_b64: list[str]) -> list[dict[str, Any]]:
    """Facts of each certificate, the server's own first. Unreadable ones are left out."""
    facts = []
    for text in certificates_der_b64[:MAX_CHAIN]:
        try:
            facts.append(_facts(x509.load_der_x509_certificate(base64.b64decode(text))))
        except CERTIFICATE_FAULTS:
            continue
    return facts


def names_of_der(der: bytes) -> list[str]:
    """The names that a client compares; the common one only where there are no others."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        return _alternative_names(certificate) or [_name(certificate.subject)]
    except CERTIFICATE_FAULTS:
        return []


def _facts(certificate: x509.Certificate) -> dict[str, Any]:
    digest = certificate.signature_hash_algorithm
    name = getattr(certificate.signature_algorithm_oid, "_name", "unknown")
    signature = name if digest is None else f"{name} ({digest.name})"
    return {
        "subject": _name(certificate.subject),
        "issuer": _name(certificate.issuer),
        "self_signed": certificate.subject == certificate.issuer,
        "names": _alternative_names(certificate),
        "not_before": certificate.not_valid_before_utc.isoformat(),
        "not_after": certificate.not_valid_after_utc.isoformat(),
        "key": key_words(certificate.public_bytes(Encoding.DER)) or "unknown",
        "signature": signature,
        "serial": f"{certificate.serial_number:x}",
        "sha256": certificate.fingerprint(SHA256()).hex(),
    }


def _name(name: x509.Name) -> str:
    common = name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(common[0].value) if common else name.rfc4514_string() or "(no name)"


def _alternative_names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, *EXTENSION_FAULTS):
        return []
    return [str(name.value) for name in extension.value]

"""Reads a server's DER certificates into facts that a page can list; and, without a parser of the
whole, the kind and size of a public key (RFC 5280, section 4.1).
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from campaigns.domain.metrics.outcomes import ALSO, Detail, Kind

MAX_CHAIN = 10
_MOST_NAMES = 5
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


def refusal_words(kind: Kind, chain_der: Sequence[bytes], name: str, at: datetime) -> str:
    """Why a chain, the server's own certificate first, is refused for a name at a time: "expired on
    2021-01-01", "issued by Acme, also expired on 2021-01-01"; "" where the kind says it all, or it
    cannot be read."""
    try:
        chain = [x509.load_der_x509_certificate(der) for der in chain_der]
        own = chain[0]
    except (IndexError, *CERTIFICATE_FAULTS):
        return ""
    words = ""
    if kind == Kind.TLS_NAME:
        # The common name, which is not an address to any client, only where there are no others.
        names = _alternative_names(own) or [f"the common name {_name(own.subject)}"]
        names = ", ".join(names[:_MOST_NAMES])
        words = f"issued for {names}, not for {name}"
    elif kind == Kind.TLS_UNKNOWN_ISSUER:
        words = f"issued by {_name(chain[-1].issuer)}"
    elif kind == Kind.TLS_SELF_SIGNED:
        words = f"issued by {_name(own.issuer)} for itself"
    if words:  # OpenSSL looks at the dates after these, and names only the first fault
        late = _date_words(own, at)
        return f"{words}{ALSO}{late}" if late else words
    if kind not in {Kind.TLS_EXPIRED, Kind.TLS_NOT_YET_VALID}:
        return ""
    wrong, words = next(
        ((each, late) for each in chain if (late := _date_words(each, at))), (own, "")
    )
    return words if wrong is own else f"that of {_name(wrong.subject)}, which signed it, {words}"


def _date_words(certificate: x509.Certificate, at: datetime) -> str:
    if certificate.not_valid_after_utc < at:
        return f"{Detail.EXPIRED} on {certificate.not_valid_after_utc:%Y-%m-%d}"
    if certificate.not_valid_before_utc > at:
        return f"{Detail.NOT_YET_VALID} until {certificate.not_valid_before_utc:%Y-%m-%d}"
    return ""


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


_SEQUENCE, _INTEGER, _BIT_STRING, _VERSION = 0x30, 0x02, 0x03, 0xA0
_UNCOMPRESSED = 4
# Its coordinates do not fill their 66 bytes.
_P521_BYTES, _P521_BITS = 66, 521
# Object identifiers as in DER.
_RSA, _EC = bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2a8648ce3d0201")
_RSA_PSS = bytes.fromhex("2a864886f70d01010a")
_KINDS = {
    _RSA: "RSA",
    _RSA_PSS: "RSA-PSS",
    _EC: "ECDSA",
    bytes.fromhex("2b6570"): "Ed25519",
    bytes.fromhex("2b6571"): "Ed448",
    bytes.fromhex("608648016503040311"): "ML-DSA-44",
    bytes.fromhex("608648016503040312"): "ML-DSA-65",
    bytes.fromhex("608648016503040313"): "ML-DSA-87",
}
_CURVES = {
    bytes.fromhex("2a8648ce3d030107"): "secp256r1",
    bytes.fromhex("2b81040022"): "secp384r1",
    bytes.fromhex("2b81040023"): "secp521r1",
}


def key_bits(certificate_der_b64: str | None) -> int | None:
    """Bits of an RSA modulus or an elliptic curve; None for other keys and what cannot be read."""
    try:
        der = base64.b64decode(certificate_der_b64 or "", validate=True)
        return _bits(der) if der else None
    except (binascii.Error, ValueError, IndexError, StopIteration):
        return None


def key_words(der: bytes) -> str | None:
    """RSA 2048, ECDSA secp256r1, Ed25519; None for other keys and what cannot be read."""
    try:
        algorithm, _ = _elements(_public_key(der))
        kind, *parameters = (content for _, content in _elements(algorithm[1]))
        bits = _bits(der)
    except (ValueError, IndexError, StopIteration):
        return None
    if kind not in _KINDS:
        return None
    curve = _CURVES.get(parameters[0]) if kind == _EC and parameters else None
    size = curve or (str(bits) if bits else "")
    return f"{_KINDS[kind]} {size}".rstrip()


def _public_key(der: bytes) -> bytes:
    certificate = next(_elements(der))[1]
    body = next(_elements(certificate))[1]
    fields = [each for each in _elements(body) if each[0] != _VERSION]
    # Serial number, signature, issuer, validity, subject, public key.
    return fields[5][1]


def _bits(der: bytes) -> int | None:
    algorithm, (tag, bits) = _elements(_public_key(der))
    _, kind = next(_elements(algorithm[1]))
    if tag != _BIT_STRING or kind not in {_RSA, _RSA_PSS, _EC}:
        return None  # any other key is bytes without a form, which may look like one
    key = bits[1:]
    if key[0] == _UNCOMPRESSED and len(key) % 2:
        size = len(key) // 2
        return _P521_BITS if size == _P521_BYTES else 8 * size
    if key[0] != _SEQUENCE:
        return None
    tag, modulus = next(_elements(next(_elements(key))[1]))
    return int.from_bytes(modulus, "big").bit_length() if tag == _INTEGER else None


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, content) of each element in a row."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:
            n_bytes = length & 0x7F
            length, at = int.from_bytes(der[at : at + n_bytes], "big"), at + n_bytes
        if at + length > len(der):
            raise ValueError("the DER is cut off")
        yield tag, der[at : at + length]
        at += length

"""Reads the OCSP reply that a server stapled to its certificate (RFC 6960)."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID

from campaigns.domain.measured.certificates import CERTIFICATE_FAULTS, EXTENSION_FAULTS

MAX_BYTES = 64 * 1024
UNREADABLE = "unreadable"


def staple_facts(
    staple_der_b64: str | None, certificates_der_b64: Sequence[str]
) -> dict[str, Any] | None:
    """What the reply says of the chain's first certificate; None if there is no reply.

    {"status": good, revoked, unknown, UNREADABLE, or why the responder did not say; "this_update",
    "next_update": ISO 8601 or None; "is_of_it": about this certificate; "is_signed": by its issuer
    or whom that appointed, None if the server did not send the issuer}.
    """
    if not staple_der_b64:
        return None
    try:
        reply = ocsp.load_der_ocsp_response(_der(staple_der_b64))
        chain = [x509.load_der_x509_certificate(_der(each)) for each in certificates_der_b64[:2]]
        return _facts(reply, chain)
    except CERTIFICATE_FAULTS:
        return {"status": UNREADABLE}


def _der(text: str) -> bytes:
    return base64.b64decode(text[: MAX_BYTES * 2])


def _facts(reply: ocsp.OCSPResponse, chain: list[x509.Certificate]) -> dict[str, Any]:
    if reply.response_status != ocsp.OCSPResponseStatus.SUCCESSFUL:
        return {"status": reply.response_status.name.lower().replace("_", " ")}
    return {
        "status": reply.certificate_status.name.lower(),
        "this_update": _iso(reply.this_update_utc),
        "next_update": _iso(reply.next_update_utc),
        "is_of_it": bool(chain) and reply.serial_number == chain[0].serial_number,
        "is_signed": _is_signed(reply, chain[1]) if len(chain) > 1 else None,
    }


def _iso(instant: datetime | None) -> str | None:
    return instant and instant.isoformat()


def _is_signed(reply: ocsp.OCSPResponse, issuer: x509.Certificate) -> bool:
    signers = [issuer, *(each for each in reply.certificates if _is_appointed(each, issuer))]
    return any(_has_signed(each, reply) for each in signers)


def _is_appointed(responder: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        responder.verify_directly_issued_by(issuer)
        usage = responder.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except (TypeError, InvalidSignature, x509.ExtensionNotFound, *EXTENSION_FAULTS):
        return False
    return ExtendedKeyUsageOID.OCSP_SIGNING in usage.value


def _has_signed(signer: x509.Certificate, reply: ocsp.OCSPResponse) -> bool:
    key, digest = signer.public_key(), reply.signature_hash_algorithm
    try:
        match key:
            case rsa.RSAPublicKey():
                how = (padding.PKCS1v15(), digest)
            case ec.EllipticCurvePublicKey():
                how = (ec.ECDSA(digest),)
            case _:
                how = ()
        key.verify(reply.signature, reply.tbs_response_bytes, *how)
    except (InvalidSignature, TypeError, AttributeError, UnsupportedAlgorithm):
        return False
    return True

"""OCSP replies as a server staples them."""

from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp

from tests.injector.authority import Issued

GOOD, REVOKED = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED
_DAY = timedelta(days=1)


def reply_about(
    issued: Issued,
    *,
    by: Issued | None = None,
    status: ocsp.OCSPCertStatus = GOOD,
    days: tuple[float, float] = (-1, 6),
) -> bytes:
    """As DER, from `days[0]` to `days[1]` from now; signed by the issuer unless `by` somebody."""
    now, signer = datetime.now(UTC), by or issued.above[0]
    reply = ocsp.OCSPResponseBuilder().add_response(
        cert=issued.certificate,
        issuer=issued.above[0].certificate,
        algorithm=hashes.SHA256(),
        cert_status=status,
        this_update=now + days[0] * _DAY,
        next_update=now + days[1] * _DAY,
        revocation_time=now if status is REVOKED else None,
        revocation_reason=None,
    )
    reply = reply.responder_id(ocsp.OCSPResponderEncoding.HASH, signer.certificate)
    if by is not None:
        reply = reply.certificates([by.certificate])
    return reply.sign(signer.key, hashes.SHA256()).public_bytes(Encoding.DER)

"""How a call of TLS ends that does not do what it is for."""

from campaigns.domain.metrics.outcomes import Kind

# X509_V_ERR_… of OpenSSL's x509_vfy.h, which the binding does not name.
_CAUSES = {
    2: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_GET_ISSUER_CERT
    9: Kind.TLS_NOT_YET_VALID,  # CERT_NOT_YET_VALID
    10: Kind.TLS_EXPIRED,  # CERT_HAS_EXPIRED
    18: Kind.TLS_SELF_SIGNED,  # DEPTH_ZERO_SELF_SIGNED_CERT
    19: Kind.TLS_UNKNOWN_ISSUER,  # SELF_SIGNED_CERT_IN_CHAIN
    20: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_GET_ISSUER_CERT_LOCALLY
    21: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_VERIFY_LEAF_SIGNATURE
    62: Kind.TLS_NAME,  # HOSTNAME_MISMATCH
    64: Kind.TLS_NAME,  # IP_ADDRESS_MISMATCH
}


class TlsError(OSError):
    """The server broke the rules of TLS, or refused something. `is_refusal`: our certificate."""

    def __init__(self, detail: str, *, is_refusal: bool = False):
        super().__init__(detail)
        self.is_refusal = is_refusal


class CertificateRefused(TlsError):
    """The server's certificate does not verify; `code` is OpenSSL's X509_V_ERR_…"""

    def __init__(self, detail: str, code: int):
        super().__init__(detail)
        self.kind = _CAUSES.get(code, Kind.TLS_VERIFY)


class RaggedEnd(TlsError):
    """TCP ended without a close_notify."""


class WantRead(BlockingIOError):
    """Nothing can be done before bytes have arrived."""


class WantWrite(BlockingIOError):
    """Nothing can be done before there is room to write."""

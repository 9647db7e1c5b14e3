"""How a call of TLS ends that does not do what it is for."""

from campaigns.domain.metrics.outcomes import Detail, Kind

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

# SSL_R_… of OpenSSL's sslerr.h. An alert's reason is its number and this.
_ALERT = 1000
NO_RECORD = 267  # WRONG_VERSION_NUMBER, of what is no record of TLS
_DETAILS = {
    NO_RECORD: Detail.NO_TLS,
    181: Detail.NO_CIPHER,  # NO_CIPHERS_AVAILABLE
    258: Detail.NO_VERSION,  # UNSUPPORTED_PROTOCOL
    _ALERT + 40: Detail.NO_CIPHER,  # handshake_failure
    _ALERT + 70: Detail.NO_VERSION,  # protocol_version
    _ALERT + 71: Detail.NO_CIPHER,  # insufficient_security
    _ALERT + 112: Detail.UNKNOWN_NAME,  # unrecognized_name
    _ALERT + 116: Detail.WANTS_CERTIFICATE,  # certificate_required
}
# Bad, unsupported, revoked, expired, unknown, of an unknown authority, access denied, required.
_REFUSALS = {_ALERT + number for number in (42, 43, 44, 45, 46, 48, 49, 116)}


class TlsError(OSError):
    """The server broke the rules of TLS, or refused something; `reason` is OpenSSL's SSL_R_…"""

    def __init__(self, detail: str, reason: int = 0):
        super().__init__(_DETAILS.get(reason, detail))
        self.reason = reason

    @property
    def is_refusal(self) -> bool:
        """Whether it is our certificate that the server refuses, or misses."""
        return self.reason in _REFUSALS


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

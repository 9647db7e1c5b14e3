"""How a call of TLS ends that does not do what it is for."""


class TlsError(OSError):
    """The server broke the rules of TLS, or refused something. `is_refusal`: our certificate."""

    def __init__(self, detail: str, *, is_refusal: bool = False):
        super().__init__(detail)
        self.is_refusal = is_refusal


class CertificateRefused(TlsError):
    """The server's certificate does not verify."""


class RaggedEnd(TlsError):
    """TCP ended without a close_notify."""


class WantRead(BlockingIOError):
    """Nothing can be done before bytes have arrived."""


class WantWrite(BlockingIOError):
    """Nothing can be done before there is room to write."""

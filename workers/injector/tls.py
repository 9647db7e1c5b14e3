"""The TLS context of a run: what it verifies, offers, and presents to the server."""

import ssl
import tempfile

from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions
from workers.injector.order import Refusal

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def make_tls_context(endpoint: Origin) -> ssl.SSLContext:
    """A client context; without verification it accepts any certificate, and with a fingerprint
    TlsClient compares it after the handshake. Raises Refusal.

    Without verification it loads no authorities: they would make each handshake a quarter slower.
    """
    try:
        return _make(endpoint)
    except (OSError, ValueError) as error:
        raise Refusal("bad_order", f"TLS cannot be set up with these options: {error}.") from None


def _make(endpoint: Origin) -> ssl.SSLContext:
    options = endpoint.tls
    if endpoint.verify_tls and not options.fingerprint:
        context = ssl.create_default_context(cadata=options.ca_pem or None)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.min_version:
        context.minimum_version = _VERSIONS[options.min_version]
    if options.max_version:
        context.maximum_version = _VERSIONS[options.max_version]
    if options.ciphers:
        context.set_ciphers(options.ciphers)
    if options.alpn:
        context.set_alpn_protocols(["http/1.1"])
    # Python 3.11.2 (Debian 12) would have OpenSSL take a missing close_notify for a proper end.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    if options.client_certificate_pem:
        _show_certificate(context, options, endpoint.client_key_pem)
    return context


def _show_certificate(context: ssl.SSLContext, options: TlsOptions, key_pem: str) -> None:
    """OpenSSL only reads keys from files; this one has no name and is deleted at once."""
    with tempfile.TemporaryFile() as file:
        file.write(f"{key_pem.strip()}\n{options.client_certificate_pem}\n".encode())
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=_no_password)


def _no_password() -> str:
    """Raise instead of prompting on the terminal."""
    raise ValueError("the client key is encrypted; use one without a passphrase")

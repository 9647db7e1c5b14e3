"""The TLS context of a run: what it verifies, offers, and presents to the server."""

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL

from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_names import with_key_shares
from campaigns.domain.plan.tls_profiles import USUAL_GROUPS
from workers.injector import tls_library
from workers.injector.key_log import KeyLog
from workers.injector.order import Refusal

_VERSIONS = {"1.2": SSL.TLS1_2_VERSION, "1.3": SSL.TLS1_3_VERSION}
_OLDEST = "1.2"


def make_tls_context(
    endpoint: Origin,
    name: str,
    key_log: KeyLog | None = None,
    protocol: str = "http/1.1",
) -> SSL.Context:
    """A client context; without verification it accepts any certificate, and with a fingerprint
    TlsClient compares it after the handshake. `name`: the name or address to verify, as ASCII.
    `key_log`: gets the secrets of all connections. `protocol`: what ALPN offers. Raises Refusal.

    Without verification it loads no authorities, which take longer than a handshake.
    """
    try:
        context = _make(endpoint, name, protocol)
    except (OSError, TypeError, ValueError, SSL.Error, UnsupportedAlgorithm) as error:
        words = _words(error) if isinstance(error, SSL.Error) else error
        raise Refusal("bad_order", f"TLS cannot be set up with these options: {words}.") from None
    if key_log is not None:
        tls_library.log_secrets(context, key_log.write)
    return context


def _make(endpoint: Origin, name: str, protocol: str) -> SSL.Context:
    options = endpoint.tls
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    tls_library.write_as_much_as_fits(context)
    tls_library.offer_groups(context, with_key_shares(options.groups or USUAL_GROUPS))
    if options.signatures:
        tls_library.offer_signatures(context, options.signatures)
    if endpoint.verify_tls and not options.fingerprint:
        context.set_verify(SSL.VERIFY_PEER)
        _trust(context, options.ca_pem)
        address = ip_address(name).packed if is_address(name) else None
        tls_library.expect_name(context, name, address)
    else:
        context.set_verify(SSL.VERIFY_NONE)
    context.set_min_proto_version(_VERSIONS[options.min_version or _OLDEST])
    if options.max_version:
        context.set_max_proto_version(_VERSIONS[options.max_version])
    if options.ciphers:
        context.set_cipher_list(options.ciphers.encode())
    if options.ciphersuites:
        context.set_tls13_ciphersuites(options.ciphersuites.encode())
    if options.alpn:
        context.set_alpn_protos([protocol.encode()])
    if options.client_certificate_pem:
        with _as_file(options.client_certificate_pem) as path:
            context.use_certificate_chain_file(path)
        context.use_privatekey(_key(endpoint.client_key_pem))
    return context


def _trust(context: SSL.Context, ca_pem: str) -> None:
    """These authorities; without any, those that the rest of the machine trusts."""
    if ca_pem:
        with _as_file(ca_pem) as path:
            context.load_verify_locations(path)
        return
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        context.load_verify_locations(paths.cafile, paths.capath)


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """OpenSSL reads several certificates only from a file; this one has no name and is deleted at
    once."""
    with tempfile.TemporaryFile() as file:
        file.write(f"{pem.strip()}\n".encode())
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _key(pem: str) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(pem.strip().encode(), None)
    except TypeError:
        raise ValueError("the client key is encrypted; use one without a passphrase") from None


def _words(error: SSL.Error) -> str:
    """pyOpenSSL raises a list of (library, function, reason)."""
    entries = error.args[0] if error.args else ()
    return "; ".join(entry[-1] for entry in entries if entry[-1]) or "OpenSSL does not say why"

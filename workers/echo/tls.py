"""TLS of the demo target, by the same OpenSSL as the injector's. The demo target's own
certificates: self-signed, ECDSA P-256 and RSA, made once and kept."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from gevent import get_hub
from gevent.socket import timeout, wait
from OpenSSL import SSL

from workers.injector.connection import READ, WRITE
from workers.injector.tls_library import (
    RaggedEnd,
    ReadBuffer,
    ServerTls,
    WantRead,
    WantWrite,
    write_as_much_as_fits,
)

_PROTOCOLS = frozenset({b"h2", b"http/1.1"})


def make_tls_context(*certificates: tuple[Path, Path]) -> SSL.Context:
    """`certificates`: (certificate, key) as PEM files, one of each kind of key; the client's
    signature algorithms decide which one it is shown."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    write_as_much_as_fits(context)
    for certificate, key in certificates:
        context.use_certificate_chain_file(str(certificate))
        context.use_privatekey_file(str(key))

    def select(_: SSL.Connection, names: list[bytes]) -> Any:
        """What the client prefers."""
        return next((each for each in names if each in _PROTOCOLS), SSL.NO_OVERLAPPING_PROTOCOLS)

    context.set_alpn_select_callback(select)
    return context


class TlsSocket:
    """A connection of the demo target over TLS, with those calls of a socket that it uses. All
    raise OSError."""

    def __init__(self, sock: Any, context: SSL.Context, buffer: ReadBuffer):
        """`buffer` may be the same for all connections of a thread."""
        self._sock = sock
        self._tls = ServerTls(context, sock, buffer)
        loop = get_hub().loop
        self._readable = loop.io(sock.fileno(), READ)
        self._writable = loop.io(sock.fileno(), WRITE)
        self._timeout_s: float | None = None
        self.setsockopt = sock.setsockopt

    def shake_hands(self) -> None:
        self._wait_for(self._tls.shake_hands)

    def recv(self, size: int) -> bytes:
        """b"" after the end of TLS, and of TCP."""
        try:
            return self._wait_for(self._tls.read, size)
        except RaggedEnd:
            return b""

    def sendall(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[self._wait_for(self._tls.write, unsent) :]

    def settimeout(self, seconds: float | None) -> None:
        self._timeout_s = seconds

    def close(self) -> None:
        """Ends TCP without ending TLS, as many servers do."""
        for watcher in (self._readable, self._writable):
            watcher.stop()
            watcher.close()
        self._tls.close()
        self._sock.close()

    def _wait_for(self, call: Callable[..., Any], *arguments: Any) -> Any:
        while True:
            try:
                return call(*arguments)
            except WantRead:
                watcher = self._readable
            except WantWrite:
                watcher = self._writable
            wait(watcher, self._timeout_s, timeout("timed out"))


_DAYS = 3650
_RSA_BITS, _RSA_EXPONENT = 2048, 65537
_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def ensure_certificate(directory: Path, host: str) -> tuple[Path, Path]:
    """(certificate, key) of ECDSA as PEM files in `directory`; made if they are missing."""
    return _ensure(directory, "demo-target", host, partial(ec.generate_private_key, ec.SECP256R1()))


def ensure_rsa_certificate(directory: Path, host: str) -> tuple[Path, Path]:
    """The same of RSA."""
    make_key = partial(rsa.generate_private_key, _RSA_EXPONENT, _RSA_BITS)
    return _ensure(directory, "demo-target-rsa", host, make_key)


def _ensure(
    directory: Path, name: str, host: str, make_key: Callable[[], _Key]
) -> tuple[Path, Path]:
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    if not (certificate.exists() and key.exists()):
        directory.mkdir(parents=True, exist_ok=True)
        _make(certificate, key, host, make_key())
    return certificate, key


def _make(certificate: Path, key: Path, host: str, private: _Key) -> None:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "benchsite demo target")])
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    addresses = {"127.0.0.1", "::1"}
    try:
        addresses.add(str(ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    names += (x509.IPAddress(ip_address(each)) for each in sorted(addresses))
    x509_certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(pem)
    certificate.write_bytes(x509_certificate.public_bytes(serialization.Encoding.PEM))

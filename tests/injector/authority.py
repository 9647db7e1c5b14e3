"""Certificates as tests need them: signed by an authority of our own, right or wrong in one way."""

import ssl
import tempfile
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_NOW = datetime.now(UTC)
_DAY = timedelta(days=1)
_TOO_SHORT = 1024
SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, and what was issued above it, nearest first."""

    certificate: x509.Certificate
    key: Any
    above: tuple["Issued", ...] = ()

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()


def issue(
    by: Issued | None = None,
    *,
    names: tuple[str, ...] = ("127.0.0.1",),
    days: tuple[float, float] = (-1, 30),
    is_authority: bool = False,
    usage: x509.ObjectIdentifier = SERVER,
    key: Any = None,
    common_name: str = "test",
) -> Issued:
    """A certificate from `days[0]` to `days[1]` from now; self-signed unless `by` somebody."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    issuer = by.certificate.subject if by else name
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW + days[0] * _DAY)
        .not_valid_after(_NOW + days[1] * _DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if names and not is_authority:
        builder = builder.add_extension(x509.SubjectAlternativeName(_names(names)), critical=False)
    if not is_authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    certificate = builder.sign(by.key if by else key, hashes.SHA256())
    return Issued(certificate, key, (by, *by.above) if by else ())


def _names(names: tuple[str, ...]) -> list[x509.GeneralName]:
    kinds: list[x509.GeneralName] = []
    for name in names:
        try:
            kinds.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            kinds.append(x509.DNSName(name))
    return kinds


@cache
def authority() -> Issued:
    """The authority that the tests trust."""
    return issue(is_authority=True, common_name="trusted by the tests")


@cache
def weak_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, key_size=_TOO_SHORT)


def server_context(leaf: Issued, sends: tuple[Issued, ...] = (), **options: Any) -> ssl.SSLContext:
    """A server that shows `issued` and sends the certificates of `sends` with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The server must be able to be worse than OpenSSL lets anybody be by default.
    context.set_ciphers(options.get("ciphers", "ALL:@SECLEVEL=0"))
    with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
        context.minimum_version = options.get("oldest", ssl.TLSVersion.TLSv1)
        if "newest" in options:
            context.maximum_version = options["newest"]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(leaf.key_pem + leaf.pem + "".join(each.pem for each in sends))
        file.flush()
        context.load_cert_chain(file.name)
    if "clients_of" in options:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=options["clients_of"].pem)
    return context

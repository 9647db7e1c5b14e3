"""Looks up hosts, and opens connections to literal addresses, which the caller has vetted, each
with one deadline. And this machine's own addresses."""

import ipaddress
import re
import socket
import ssl
import time
from pathlib import Path

from campaigns.domain.plan.target import Origin

_IPV4 = Path("/proc/net/fib_trie")
_IPV6 = Path("/proc/net/if_inet6")
_LOCAL = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")


def own_addresses(ipv4: Path = _IPV4, ipv6: Path = _IPV6) -> list[str]:
    """Every address of every interface, sorted, as far as the kernel lists them."""
    addresses = set(_LOCAL.findall(_text(ipv4)))
    addresses |= {
        str(ipaddress.IPv6Address(int(line.split()[0], 16))) for line in _text(ipv6).splitlines()
    }
    return sorted(addresses)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def addresses_of(host: str, port: int) -> list[str]:
    """All addresses of a host, IPv4 and IPv6; [] if the name server knows none."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(each[4][0]) for each in rows})


def left_s(ends: float) -> float:
    """What is left until this value of CLOCK_MONOTONIC; raises TimeoutError where nothing is."""
    seconds = ends - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("it took too long")
    return seconds


def tls_context(origin: Origin) -> ssl.SSLContext | None:
    """The origin's certificate is verified as in runs; None without TLS. Takes some 20 ms."""
    if not origin.is_tls:
        return None
    context = ssl.create_default_context(cadata=origin.tls.ca_pem or None)
    if not origin.verify_tls or origin.tls.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def dial(
    origin: Origin, address: str, ends: float, context: ssl.SSLContext | None
) -> socket.socket:
    """A connection to the origin's server at this address. Raises OSError, ValueError."""
    plain = socket.create_connection((address, origin.port), timeout=left_s(ends))
    if context is None:
        return plain
    try:
        plain.settimeout(left_s(ends))
        name = (origin.tls.sni or origin.host).rstrip(".")
        return context.wrap_socket(plain, server_hostname=name)
    except (OSError, ValueError):
        plain.close()
        raise

"""From which address a request came, where proxies stand in front of the web process."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network


def client_address(meta: Mapping[str, str], trusted_proxies: Iterable[str]) -> str:
    """The last address that no trusted proxy has; `meta` is a WSGI environment.

    X-Forwarded-For is read from its end, where our own proxies write: what a client puts before
    that is not believed. `trusted_proxies` are addresses or networks; "*" trusts the peer, whoever
    it is, and nobody behind it.
    """
    trusted = list(trusted_proxies)
    peer = meta.get("REMOTE_ADDR", "")
    hops = [hop.strip() for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    if "*" in trusted:
        return hops[-1] if hops and _is_address(hops[-1]) else peer
    address = peer
    while hops and is_in(address, trusted) and _is_address(hops[-1]):
        address = hops.pop()
    return address


def is_in(address: str, networks: Iterable[str]) -> bool:
    """Whether one of these addresses or networks has it."""
    # A socket of the same machine has no address; only our own proxy can reach it.
    if not address:
        return True
    return any(ip_address(address) in ip_network(each, strict=False) for each in networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True

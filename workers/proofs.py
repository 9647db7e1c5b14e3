"""Looks for the file that proves a host to be a project's own, at each of its addresses.

What is dialled is a literal address that was vetted, so a name may change meanwhile. Nothing is
followed, little is read, and all requests of a check have one deadline.
"""

import time
from collections.abc import Collection, Iterable

from django.conf import settings

from campaigns.domain.plan.addresses import (
    MOST_ADDRESSES,
    HostCheck,
    parse_address,
    parse_networks,
    place_of,
    proof_fault,
    proof_path,
    vet,
    why_not_checked,
    written,
)
from campaigns.domain.plan.target import Origin
from workers.dialling import dial, left_s, tls_context

LIMIT_S = 5.0
LIMIT_OF_ALL_S = 20.0
MOST_BYTES = 4096


def check_host(
    host: str,
    origins: Iterable[Origin],
    addresses: Collection[str],
    token: str,
    never: Collection[str] = (),
) -> HostCheck:
    """A port is proven if the file is at all addresses of the host that no list has: any of them
    may be dialled. `never` are servers of the installation, as 10.0.0.5:5432."""
    if not addresses:
        return HostCheck(faults=(f"The name server has no address for {host}.",))
    if len(addresses) > MOST_ADDRESSES:
        fault = f"{host} has {len(addresses)} addresses; at most {MOST_ADDRESSES} are checked."
        return HostCheck(faults=(f"{fault} Ask for an approval of a host with fewer.",))
    listed = parse_networks(settings.ALLOWED_NETWORKS)
    places: list[str] = []
    proven: list[str] = []
    faults: list[str] = []
    ends = time.monotonic() + LIMIT_OF_ALL_S
    for origin in origins:
        places += [place_of(address, origin.port) for address in addresses]
        unlisted = [each for each in addresses if vet(each, origin.port, listed)]
        if fault := _fault(origin, unlisted, token, never, ends):
            faults.append(fault)
        else:
            proven += [place_of(address, origin.port) for address in unlisted]
    return HostCheck(tuple(places), tuple(proven), tuple(dict.fromkeys(faults)))


def _fault(
    origin: Origin, unlisted: Collection[str], token: str, never: Collection[str], ends: float
) -> str:
    """Why this port is not proven at these addresses; "" where it is, or none needs a proof."""
    for address in unlisted:
        if why := why_not_checked(address) or _own(address, origin.port, never):
            return why
    for address in unlisted:
        try:
            limit_s = min(LIMIT_S, left_s(ends))
            why = proof_fault(fetch(origin, address, proof_path(token), limit_s), token)
        except (OSError, ValueError) as error:
            why = f"there was no answer ({error})"
        if why:
            return f"{origin}, asked at {address}: {why}."
    return ""


def _own(address: str, port: int, never: Collection[str]) -> str | None:
    service = written(parse_address(address), port)
    if service in never:
        return f"{service} is a server of this installation; no load is ever sent there."
    return None


def fetch(origin: Origin, address: str, path: str, limit_s: float = LIMIT_S) -> bytes:
    """The beginning of the raw reply of the server at this address. Raises OSError, ValueError."""
    ends = time.monotonic() + limit_s
    with dial(origin, address, ends, tls_context(origin)) as connection:
        host = str(origin).partition("://")[2]
        # In HTTP/1.0 no server sends chunks, and it closes at the end.
        request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: benchsite\r\n\r\n"
        connection.settimeout(left_s(ends))
        connection.sendall(request.encode("ascii"))
        reply = b""
        while len(reply) < MOST_BYTES:
            connection.settimeout(left_s(ends))
            data = connection.recv(MOST_BYTES - len(reply))
            if not data:
                break
            reply += data
        return reply

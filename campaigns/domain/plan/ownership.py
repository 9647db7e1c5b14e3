"""What shows that a host may be put under load although no listed network has its addresses.

A proof is a file with a token on the host itself. It counts for the addresses and ports where it
was found, as literal places: whatever the name means later, load goes to no other address.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_network

from campaigns.domain.plan.addresses import Allowed, never_words, parse_address, vet, written

# A name with more is a service that many share, of which no single file is a proof.
MOST_ADDRESSES = 8
MOST_PORTS = 8


@dataclass(frozen=True, slots=True)
class HostCheck:
    """What a worker saw of a host. `places` are all that would be dialled, `proven` those where the
    file was found, as networks of one address and one port; `faults` are sentences."""

    places: tuple[str, ...] = ()
    proven: tuple[str, ...] = ()
    faults: tuple[str, ...] = field(default=())


def host_key(host: str) -> str:
    """The host that a proof is for: shop.example. is shop.example."""
    return host.lower().rstrip(".")


def place_of(address: str, port: int) -> str:
    """One address and one port as a network that may be dialled: 10.0.0.5/32:443."""
    return str(Allowed(ip_network(parse_address(address)), (port, port)))


def written_place(place: str) -> str:
    """As people write it: 10.0.0.5:443."""
    allowed = Allowed.parse(place)
    return written(allowed.network.network_address, allowed.ports[0])


def refusals(places: Iterable[str], allowed: Iterable[Allowed]) -> list[str]:
    """Why some of these places may not be dialled; empty if all may."""
    allowed = tuple(allowed)
    parsed = map(Allowed.parse, places)
    found = (vet(str(each.network.network_address), each.ports[0], allowed) for each in parsed)
    return list(dict.fromkeys(filter(None, found)))


def proof_path(token: str) -> str:
    return f"/.well-known/benchsite-{token}.txt"


def why_not_checked(address: str) -> str | None:
    """Why no proof is looked for at this address; None where it is. Private networks have to be
    listed or approved, so that nobody explores them by asking for checks."""
    parsed = parse_address(address)
    if never := never_words(parsed):
        return never
    if not parsed.is_global:
        return (
            f"{parsed} is not a public address, so no file is looked for there. An administrator "
            "can approve this host, or list its network."
        )
    return None


def proof_fault(reply: bytes, token: str) -> str | None:
    """What is wrong with a raw HTTP reply to the request for the file; None if it is the proof."""
    head, _, body = reply.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if not status[0].startswith(b"HTTP/1.") or len(status) < 2:
        return "it did not answer with HTTP/1.1"
    if status[1] != b"200":
        shown = status[1][:3].decode("ascii", "replace")
        follows = ", and redirects are not followed" if shown.startswith("3") else ""
        return f"it answered with status {shown}, not 200{follows}"
    if body.strip() != token.encode():
        return "the file holds something else than the token alone"
    return None

"""Where load may go. An address is allowed only if a listed network holds it, and some never are.

The never zones (link-local, cloud metadata, multicast, translation prefixes …) are refused even if
a list names them, because a mistake there would hit something unintended.

A host may be put under load although no listed network has its addresses where a proof is found: a
file with a token on the host itself. It counts for the addresses and ports where it was found, as
literal places: whatever the name means later, load goes to no other address.
"""

import re
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

ALL_PORTS = (1, 65535)
# 10.0.0.0/8, 10.0.0.0/8:443, [fc00::/7]:8000-8999; without brackets the colons are of IPv6.
_WRITTEN = re.compile(
    r"(?:\[(?P<six>[^]]*)]|(?P<four>[^][:]*))(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?"
)

_METADATA = "the metadata service of a cloud"
_NEVER: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(text), words)
    for text, words in (
        ("169.254.169.254/32", _METADATA),
        ("169.254.170.2/32", _METADATA),
        ("100.100.100.200/32", _METADATA),
        ("168.63.129.16/32", _METADATA),
        ("192.0.0.192/32", _METADATA),
        ("fd00:ec2::254/128", _METADATA),
        ("0.0.0.0/8", "an address that means no host"),
        ("169.254.0.0/16", "link-local"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("64:ff9b::/96", "translated to IPv4 (NAT64)"),
        ("64:ff9b:1::/48", "translated to IPv4 (NAT64)"),
        ("2001::/32", "a tunnel (Teredo)"),
        ("2002::/16", "a tunnel (6to4)"),
        ("2001:db8::/32", "reserved for documentation"),
        ("3fff::/20", "reserved for documentation"),
        ("100::/64", "a discard prefix"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local, which no longer exists"),
        ("ff00::/8", "multicast"),
    )
)
NO_LOAD = "no load is ever sent there"
_UNSPECIFIED = IPv6Address("::")
_LOOPBACK_6 = IPv6Address("::1")
_V4_COMPATIBLE = ip_network("::/96")


def parse_address(text: str) -> Address:
    """The address that would be dialled; ::ffff:a.b.c.d is a.b.c.d. Raises ValueError."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def written(address: Address, port: int) -> str:
    """10.0.0.5:443, or [fc00::5]:443."""
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def is_address(host: str) -> bool:
    """Whether a host is written as an address, not as a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def never_words(address: Address) -> str | None:
    """Why no list can allow this address, as a sentence; None where a list may."""
    never = _never_because(address)
    return f"{address} is {never}; {NO_LOAD}." if never else None


def _never_because(address: Address) -> str | None:
    if address == _UNSPECIFIED:
        return "an address that means no host"
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "an address with a zone"
    if address != _LOOPBACK_6 and address.version == 6 and address in _V4_COMPATIBLE:
        return "an IPv4-compatible address, which no longer exists"
    return next((words for network, words in _NEVER if _holds(network, address)), None)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A network with the ports that may be dialled in it, from the first to the last."""

    network: Network
    ports: tuple[int, int] = ALL_PORTS

    @classmethod
    def parse(cls, text: str) -> Self:
        """A network in CIDR form, alone or with a port or a range of them. Raises ValueError."""
        match = _WRITTEN.fullmatch(text.strip())
        if match is None or match["first"] is None:
            return cls(ip_network(text.strip().removeprefix("[").removesuffix("]"), strict=False))
        first = int(match["first"])
        last = int(match["last"] or first)
        if not ALL_PORTS[0] <= first <= last <= ALL_PORTS[1]:
            raise ValueError(f"{text!r} has ports that are not from 1 to 65535, in this order")
        network = ip_network(match["six"] or match["four"] or "", strict=False)
        return cls(network, (first, last))

    def __str__(self) -> str:
        if self.ports == ALL_PORTS:
            return str(self.network)
        network = f"[{self.network}]" if self.network.version == 6 else str(self.network)
        return f"{network}:{self.port_words}"

    @property
    def port_words(self) -> str:
        first, last = self.ports
        return str(first) if first == last else f"{first}-{last}"

    def has(self, port: int) -> bool:
        return self.ports[0] <= port <= self.ports[1]

    def common_with(self, other: Self) -> Self | None:
        """What both allow; None if that is nothing."""
        if self.network.version != other.network.version:
            return None
        first, last = max(self.ports[0], other.ports[0]), min(self.ports[1], other.ports[1])
        if not self.network.overlaps(other.network) or first > last:
            return None
        smaller = max(self.network, other.network, key=lambda each: each.prefixlen)
        return type(self)(smaller, (first, last))


def parse_networks(texts: Iterable[str]) -> tuple[Allowed, ...]:
    """Networks, with or without ports. Raises ValueError naming the one that is not."""
    return tuple(map(Allowed.parse, texts))


def common_networks(these: Iterable[str], those: Iterable[str]) -> list[str]:
    """What both lists allow: of each pair that overlaps, the smaller network and common ports."""
    pairs = ((one, other) for one in parse_networks(these) for other in parse_networks(those))
    networks = (one.common_with(other) for one, other in pairs)
    return list(dict.fromkeys(str(each) for each in networks if each))


def vet(text: str, port: int, allowed: Iterable[Allowed]) -> str | None:
    """Why this literal address may not be connected to at this port, or None. What is not listed is
    refused."""
    try:
        address = parse_address(text)
    except ValueError:
        return f"{text!r} is not an IP address."
    if never := never_words(address):
        return never
    networks = [each for each in allowed if _holds(each.network, address)]
    if not networks:
        return f"{address} is in none of the networks that this installation allows."
    if any(each.has(port) for each in networks):
        return None
    ports = " or ".join(each.port_words for each in networks)
    return f"{address} may be put under load only at port {ports}, not at port {port}."


def why_refused(
    text: str, port: int, allowed: Iterable[Allowed], never: Container[str]
) -> str | None:
    """As `vet`; `never` are servers of the installation, as 10.0.0.5:5432."""
    if refusal := vet(text, port, allowed):
        return refusal
    service = written(parse_address(text), port)
    if service in never:
        return f"{service} is a server of this installation; {NO_LOAD}."
    return None


def _holds(network: Network, address: Address) -> bool:
    return network.version == address.version and address in network


# Stands for every loopback address, and for the injector hosts' own ones: all are one machine.
LOOPBACK = "127.0.0.1"


def written_addresses(host: str) -> list[str] | None:
    """The addresses that a host is without asking a name server; None for any other name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return [LOOPBACK]
    return machines_of([host]) if is_address(host) else None


def machines_of(addresses: Iterable[str], own: Collection[str] = ()) -> list[str]:
    """One address for each machine, sorted. `own` are the addresses of the injector hosts."""
    return sorted(
        {
            LOOPBACK if each.is_loopback or str(each) in own else str(each)
            for each in map(parse_address, addresses)
        }
    )


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
    faults = (
        vet(str(each.network.network_address), each.ports[0], allowed)
        for each in map(Allowed.parse, places)
    )
    return list(dict.fromkeys(filter(None, faults)))


def proof_path(token: str) -> str:
    return f"/.well-known/benchsite-{token}.txt"


def why_not_checked(address: str) -> str | None:
    """Why no proof is looked for at this address; None where it is. Private networks have to be
    listed or approved, so that nobody explores them by asking for checks."""
    ip = parse_address(address)
    if never := never_words(ip):
        return never
    if not ip.is_global:
        return (
            f"{ip} is not a public address, so no file is looked for there. An administrator can "
            "approve this host, or list its network."
        )
    return None


def why_not_notified(
    text: str, port: int, allowed: Iterable[Allowed], never: Container[str]
) -> str | None:
    """Why no notification goes to this address, or None: to public ones, and in listed networks."""
    try:
        ip = parse_address(text)
    except ValueError:
        return f"{text!r} is not an IP address."
    if words := _never_because(ip):
        return f"{ip} is {words}; nothing is sent there."
    if written(ip, port) in never:
        return f"{written(ip, port)} is a server of this installation; nothing is sent there."
    if ip.is_global or any(_holds(each.network, ip) and each.has(port) for each in allowed):
        return None
    return (
        f"{written(ip, port)} is not a public address. An administrator can list its network "
        "in BENCHSITE_NOTIFY_NETWORKS."
    )


def proof_fault(reply: bytes, token: str) -> str | None:
    """What is wrong with a raw HTTP reply to the request for the file; None if it is the proof."""
    head, _, body = reply.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if not status[0].startswith(b"HTTP/1.") or len(status) < 2:
        return "it did not answer with HTTP/1.1"
    if status[1] != b"200":
        text = status[1][:3].decode("ascii", "replace")
        follows = ", and redirects are not followed" if text.startswith("3") else ""
        return f"it answered with status {text}, not 200{follows}"
    if body.strip() != token.encode():
        return "the file holds something else than the token alone"
    return None


def is_local(host: str) -> bool:
    """Whether it is the injectors' own host, as far as its written form tells."""
    return written_addresses(host) == [LOOPBACK]

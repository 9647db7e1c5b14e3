"""Where load may go. An address is allowed only if a listed network holds it, and some never are.

The never zones (link-local, cloud metadata, multicast, translation prefixes …) are refused even if
a list names them, because a mistake there would hit something unintended.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

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


def never_because(address: Address) -> str | None:
    """Why no list can allow this address, in words; None where a list may."""
    if address == _UNSPECIFIED:
        return "an address that means no host"
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "an address with a zone"
    if address != _LOOPBACK_6 and address.version == 6 and address in _V4_COMPATIBLE:
        return "an IPv4-compatible address, which no longer exists"
    return next((words for network, words in _NEVER if _holds(network, address)), None)


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks in CIDR form. Raises ValueError naming the one that is not."""
    return tuple(ip_network(text.strip(), strict=False) for text in texts)


def common_networks(these: Iterable[str], those: Iterable[str]) -> list[str]:
    """What both lists allow, in CIDR form: of each pair that overlaps, the smaller network."""
    smaller = [
        max(one, other, key=lambda each: each.prefixlen)
        for one in parse_networks(these)
        for other in parse_networks(those)
        if one.version == other.version and one.overlaps(other)
    ]
    return list(dict.fromkeys(map(str, smaller)))


def vet(text: str, allowed_networks: Iterable[Network]) -> str | None:
    """Why this literal address may not be connected to, or None. What is not listed is refused."""
    try:
        address = parse_address(text)
    except ValueError:
        return f"{text!r} is not an IP address."
    never = never_because(address)
    if never:
        return f"{address} is {never}; no load is ever sent there."
    if any(_holds(network, address) for network in allowed_networks):
        return None
    return f"{address} is in none of the networks that this installation allows."


def _holds(network: Network, address: Address) -> bool:
    return network.version == address.version and address in network

"""The addresses of this machine; a target at one of them shares its CPU with the injector."""

import ipaddress
import re
from pathlib import Path

_IPV4 = Path("/proc/net/fib_trie")
_IPV6 = Path("/proc/net/if_inet6")
_LOCAL = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")


def own_addresses(ipv4: Path = _IPV4, ipv6: Path = _IPV6) -> list[str]:
    """Every address of every interface, sorted, as far as the kernel lists them."""
    found = set(_LOCAL.findall(_text(ipv4)))
    found |= {_ipv6(line) for line in _text(ipv6).splitlines()}
    return sorted(found)


def _ipv6(line: str) -> str:
    return str(ipaddress.IPv6Address(int(line.split()[0], 16)))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

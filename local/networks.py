"""Where load may go from a workstation: to itself; to its own networks once somebody said so."""

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from local.console import say

NAME = "BENCHSITE_ALLOWED_NETWORKS"
# As the settings have it without this variable.
_ITSELF = "127.0.0.0/8 ::1/128"
_ROUTES = Path("/proc/net/route")
# Of RFC 1918. To most of what else ipaddress calls private no load may go.
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


def confirm_networks(
    var: Path, ask: Callable[[str], str] | None = None, routes: Path = _ROUTES
) -> None:
    """At the first start on a terminal, ask whether this machine's networks may be put under load.

    The answer is kept in var/networks; without a terminal nobody is asked, and nothing is kept.
    """
    kept = var / "networks"
    networks = own_networks(routes)
    if os.environ.get(NAME) or kept.exists() or not networks:
        return
    listed = " ".join(networks)
    if ask is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"Load may go to this machine only. For its networks: {NAME}='{_ITSELF} {listed}'")
        return
    said = (ask or input)(f"May load go to this machine's networks as well ({listed})? [y/N] ")
    is_allowed = said.strip().lower() in ("y", "yes")
    kept.write_text(f"{_ITSELF} {listed}\n" if is_allowed else f"{_ITSELF}\n")
    say(f"Kept in {kept}; delete the file to be asked again.")


def allowed_networks(var: Path) -> str:
    """What was confirmed; "" for the default of the settings."""
    kept = var / "networks"
    return kept.read_text().strip() if kept.exists() else ""


def own_networks(routes: Path = _ROUTES) -> list[str]:
    """The private IPv4 networks that this machine reaches without a router."""
    try:
        rows = [line.split() for line in routes.read_text().splitlines()[1:]]
    except OSError:
        return []
    nearby = {_network(row[1], row[7]) for row in rows if int(row[2], 16) == 0}
    return sorted(str(each) for each in nearby if any(map(each.subnet_of, _PRIVATE)))


def _network(destination: str, mask: str) -> ipaddress.IPv4Network:
    """The kernel writes both as hexadecimal numbers in the order of its bytes."""
    address, bits = (
        socket.inet_ntoa(struct.pack("=L", int(text, 16))) for text in (destination, mask)
    )
    return ipaddress.IPv4Network(f"{address}/{bits}", strict=False)

"""Where an installation listens, and where load may go from a workstation: to itself, and
to its own networks once somebody said so.

All ports are below 32768, where the range of a load generator's own connections begins.
"""

import ipaddress
import os
import random
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local.base import LocalError, say

LOOPBACK = "127.0.0.1"
HIGHEST = 65535


@dataclass(frozen=True)
class Ports:
    web: int = 8000
    demo_http: int = 8081
    demo_https: int = 8444


VARIABLES = {
    "web": "BENCHSITE_PORT",
    "demo_http": "BENCHSITE_DEMO_HTTP_PORT",
    "demo_https": "BENCHSITE_DEMO_HTTPS_PORT",
}


def ports_from_environment() -> Ports:
    """The ports of `make run`. Raises LocalError for a value that is not a port."""
    chosen = {}
    for name, variable in VARIABLES.items():
        text = os.environ.get(variable)
        if text:
            chosen[name] = _port(variable, text)
    return Ports(**chosen)


def free_ports() -> Ports:
    """Three currently free ports for a test."""
    found: list[int] = []
    while len(found) < 3:
        port = random.randint(10_000, 30_000)  # noqa: S311  no secret
        if port not in found and is_free(port):
            found.append(port)
    return Ports(*found)


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def listens(port: int) -> bool:
    """Whether the port accepts connections."""
    with socket.socket() as client:
        client.settimeout(2)
        return client.connect_ex((LOOPBACK, port)) == 0


def refuse_taken(ports: Ports, command: str) -> None:
    """Raises LocalError with what to do if one of the command's ports is taken, or given twice."""
    seen: dict[int, str] = {}
    for name, variable in VARIABLES.items():
        port = getattr(ports, name)
        other = port + 10 if port + 10 <= HIGHEST else port - 10
        if port in seen:
            raise LocalError(
                f"{seen[port]} and {variable} are both {port}. "
                f"Choose another port for one of them: {variable}={other} {command}"
            )
        seen[port] = variable
        if not is_free(port):
            raise LocalError(
                f"Port {port} on {LOOPBACK} is used by another program. Stop it, or "
                f"choose another port: {variable}={other} {command}"
            )


def _port(variable: str, text: str) -> int:
    if text.isdigit() and 1 <= int(text) <= HIGHEST:
        return int(text)
    raise LocalError(f"{variable}={text!r} is not a port. Write a number from 1 to {HIGHEST}.")


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

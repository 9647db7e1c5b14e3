"""Which ports this installation listens on, and whether they are free.

All are below 32768, where the range of a load generator's own connections begins.
"""

import os
import random
import socket
from dataclasses import dataclass

from local.console import LocalError

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

"""Namespaces for one installation: its processes, mounts and addresses are its own, so nothing that
is broken here is anybody else's, and nothing is left behind.

Two injector hosts reach PostgreSQL and Redis by one link each, `control`, and the target by
another, `load`. The target has an address for each campaign, as campaigns that share a machine
would wait for each other.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local.base import LocalError

HOSTS = ("host-1", "host-2")
TARGETS = tuple(f"10.77.0.{number}" for number in range(1, 5))
TARGET_NETWORK = "10.77.0.0/24"
CONTROL_NETWORK = "10.78.0.0/16"
# In memory, and gone with the namespace; `ip` keeps the names of namespaces beside it.
FOLDER = Path("/run/benchsite")
_TARGET = "target"
_INSIDE = "BENCHSITE_FAULTS_INSIDE"
_OWN = ("--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")


def is_inside() -> bool:
    return _INSIDE in os.environ


def enter(arguments: Sequence[str]) -> None:
    """Start this program again as the first process of its namespaces. Raises LocalError."""
    if os.geteuid() != 0:
        raise LocalError(
            "The fault lab breaks links, disks and clocks in namespaces of its own, and only root "
            "may make them: sudo .venv/bin/python -m benchmarks.faults"
        )
    os.environ[_INSIDE] = "1"
    own = [sys.executable, "-m", "benchmarks.faults", *arguments]
    try:
        os.execvp("unshare", ["unshare", *_OWN, *own])  # noqa: S606  nothing of it is typed
    except FileNotFoundError:
        raise LocalError("`unshare` was not found: install util-linux.") from None


def build() -> None:
    """The hosts, the target and the links between them; and `FOLDER`."""
    run("mount -t tmpfs tmpfs /run")
    FOLDER.mkdir(mode=0o711)  # PostgreSQL runs as nobody, which needs to traverse it
    run("ip link set lo up")
    run(f"ip netns add {_TARGET}")
    run(f"ip -n {_TARGET} link set lo up")
    for address in TARGETS:
        run(f"ip -n {_TARGET} addr add {address}/32 dev lo")
    for number, host in enumerate(HOSTS, 1):
        run(f"ip netns add {host}")
        run(f"ip -n {host} link set lo up")
        run(f"ip link add name {host} type veth peer name control netns {host}")
        run(f"ip addr add {control_address(host)}/30 dev {host}")
        run(f"ip -n {host} addr add 10.78.{number}.2/30 dev control")
        run(f"ip -n {_TARGET} link add name {host} type veth peer name load netns {host}")
        run(f"ip -n {_TARGET} addr add 10.79.{number}.1/30 dev {host}")
        run(f"ip -n {host} addr add 10.79.{number}.2/30 dev load")
        for link in ("control", "load"):
            run(f"ip -n {host} link set {link} up")
            set_link(link, host, is_up=True)
        run(f"ip -n {host} route add {TARGET_NETWORK} via 10.79.{number}.1")


def control_address(host: str) -> str:
    """Where this host reaches PostgreSQL and Redis."""
    return f"10.78.{HOSTS.index(host) + 1}.1"


def set_link(link: str, host: str, *, is_up: bool) -> None:
    """The far end of a host's link: packets get lost, and nobody is told."""
    place = f"-n {_TARGET} " if link == "load" else ""
    run(f"ip {place}link set {host} {'up' if is_up else 'down'}")


def at(host: str, command: Sequence[str]) -> tuple[str, ...]:
    """The command, run on that host."""
    return ("nsenter", f"--net=/run/netns/{host}", *command)


def at_target(command: Sequence[str]) -> tuple[str, ...]:
    return at(_TARGET, command)


def run(command: str) -> None:
    """Raises LocalError with what it said, if it failed."""
    try:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LocalError(f"`{command}` needs e2fsprogs, iproute2 and util-linux.") from None
    if done.returncode:
        raise LocalError(f"`{command}` failed: {done.stderr.strip()}")

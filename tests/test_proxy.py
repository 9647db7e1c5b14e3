"""The documented nginx in front of a server: what the site and its readers get to see."""

import os
import re
import ssl
import subprocess
from http.client import HTTPSConnection, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.conf import settings

from local.site import listens
from tests.injector.http2.log_lines import find, free_ports
from tests.waiting import eventually
from workers.echo.tls import ensure_certificate

pytestmark = [pytest.mark.sockets, pytest.mark.long]
OPERATING = Path(__file__).resolve().parent.parent / "docs" / "operating.md"
SHELL = """
%(user)s pid %(folder)s/pid; error_log %(folder)s/error.log; daemon off; events {}
http { access_log off; %(paths)s %(block)s }
"""
PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Site(BaseHTTPRequestHandler):
    """Answers a POST with its length, `/broken` with half of an export, and else nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.last_headers = dict(self.headers)
        length = str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(length)))
        self.end_headers()
        self.wfile.write(length)

    def do_GET(self):
        self.send_response(200)
        if self.request_version == "HTTP/1.1":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"4\r\nrow\n\r\n" if self.request_version == "HTTP/1.1" else b"row\n")
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def ask(site, tmp_path_factory):
    """Ask nginx: method, path, body, headers."""
    if find("nginx") is None:
        pytest.skip("nginx is not installed: apt install nginx")
    folder, (port,) = tmp_path_factory.mktemp("nginx"), free_ports(1)
    certificate, key = ensure_certificate(folder, "127.0.0.1")
    values = {
        "listen 443": f"listen 127.0.0.1:{port}",
        "/etc/ssl/bench.pem": certificate,
        "/etc/ssl/bench.key": key,
        "127.0.0.1:8000": f"127.0.0.1:{site.server_port}",
    }
    (folder / "nginx.conf").write_text(configuration(folder, values))
    trust = ssl.create_default_context(cafile=certificate)

    def ask(method, path, body=b"", **headers):
        connection = HTTPSConnection("127.0.0.1", port, context=trust)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    command = [find("nginx"), "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"]
    process = subprocess.Popen(command)
    eventually(lambda: listens(port), 20, "nginx listens")
    yield ask
    process.terminate()
    process.wait(20)


def configuration(folder: Path, values: dict[str, object]) -> str:
    """The documented server, with values of this test in place of its own."""
    (block,) = re.findall(r"^ {4}server \{\n(?:^ {8}.*\n)*^ {4}}\n", OPERATING.read_text(), re.M)
    for word, ours in values.items():
        assert word in block
        block = block.replace(word, str(ours))
    paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in PATHS)
    # Or its workers could not write into the folder of a test that root runs.
    user = "user root;" if os.geteuid() == 0 else ""
    return SHELL % {"user": user, "folder": folder, "paths": paths, "block": block}


def test_the_site_learns_the_name_the_scheme_and_the_address_that_were_asked_from(ask, site):
    own = {"Host": "bench.example.org:8443", "X-Forwarded-For": "192.0.2.1"}
    assert ask("POST", "/", b"x", **own).read() == b"1"
    assert site.last_headers["Host"] == "bench.example.org:8443"
    assert site.last_headers["X-Forwarded-Proto"] == "https"
    assert site.last_headers["X-Forwarded-For"] == "192.0.2.1, 127.0.0.1"


def test_what_is_too_large_is_refused_by_the_site_and_not_by_nginx(ask):
    length = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1
    assert ask("POST", "/", b"x" * length).read() == str(length).encode()


def test_an_export_that_broke_off_does_not_look_complete(ask):
    with pytest.raises(IncompleteRead):
        ask("GET", "/broken").read()

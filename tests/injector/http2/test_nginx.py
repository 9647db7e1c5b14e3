"""Counts against the log of a real nginx, in each load model, in clear text and over TLS."""

import os
import shutil
import socket
import subprocess
import time

import pytest

from tests.injector.servers import closed, measure
from workers.injector.http2.frames import HEAD_BYTES

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt install nginx")

CONFIG = """
{user} daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  log_format ours '$status $bytes_sent $request_length $connection $server_protocol $request_uri';
  access_log {folder}/access.log ours;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  keepalive_requests {per_connection};
  server {{
    listen 127.0.0.1:{port} http2;
    listen 127.0.0.1:{tls_port} ssl http2;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    location / {{ return 200 "some forty bytes for the reply to be of..."; }}
    location /missing {{ return 404; }}
    location /large {{ alias {folder}/large; }}
    location /upload {{ client_max_body_size 1m; proxy_pass http://127.0.0.1:{plain_port}; }}
  }}
  server {{
    listen 127.0.0.1:{plain_port};
    access_log off;
    location / {{ client_max_body_size 1m; return 200 "$content_length"; }}
  }}
}}
"""
LOADS = {
    "closed": {"model": "closed", "connections": 4, "requests": 2000},
    "sequential": {"model": "sequential", "requests": 100},
    "open": {"model": "open", "rate_per_s": 1000, "requests": 500, "max_in_flight": 64},
    "over": {"model": "over", "requests": 300, "over_s": 0.5, "max_in_flight": 64},
}


class Nginx:
    def __init__(self, folder, certificate, per_connection=100_000):
        self.port, self.tls_port = free_port(), free_port()
        self._log = folder / "access.log"
        (folder / "large").write_bytes(b"x" * 300_000)
        config = folder / "nginx.conf"
        cert, key = certificate
        config.write_text(
            CONFIG.format(
                folder=folder,
                # Or its workers could not read the folder of a test that root runs.
                user="user root;" if os.geteuid() == 0 else "",
                port=self.port,
                tls_port=self.tls_port,
                plain_port=free_port(),
                certificate=cert,
                key=key,
                per_connection=per_connection,
            )
        )
        command = [NGINX, "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")]
        self.process = subprocess.Popen(command)
        wait_for(self.port)

    def lines(self, count):
        """The log, once it has so many lines."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            lines = self._log.read_text().splitlines() if self._log.exists() else []
            if len(lines) >= count:
                break
            time.sleep(0.01)
        return [line.split() for line in lines]

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for(port):
    until = time.monotonic() + 5
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("nginx does not listen")


@pytest.fixture
def start_nginx(tmp_path, certificate):
    servers = []

    def start(**given):
        servers.append(Nginx(tmp_path, certificate, **given))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def run(server, scheme, load, streams=8, **given):
    port = server.tls_port if scheme == "https" else server.port
    plan = {"http_version": "2", "streams": streams, "expected_status": ["2xx", "4xx"]}
    timeouts = {"connect_s": 5, "tls_s": 5, "total_s": 10}
    return measure(port, scheme=scheme, load=load, plan=plan, timeouts=timeouts, **given)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("model", LOADS)
def test_requests_statuses_and_bytes_are_those_of_the_log(start_nginx, model, scheme):
    server, n_requests = start_nginx(), LOADS[model]["requests"]
    streams = 1 if model == "sequential" else 8
    steps = [{"path": "/"}, {"path": "/missing"}, {"path": "/large"}]
    total = run(server, scheme, LOADS[model], streams, steps=steps).total
    lines = server.lines(n_requests)
    assert total.count("started") == total.count("ok") == len(lines) == n_requests
    assert total.statuses == {
        status: sum(line[0] == status for line in lines) for status in ("200", "404")
    }
    assert total.count("bytes_received") == sum(int(line[1]) for line in lines)
    # nginx leaves out the head of the HEADERS frame.
    assert total.count("bytes_sent") == sum(int(line[2]) + HEAD_BYTES for line in lines)
    assert total.count("connections_opened") == len({line[3] for line in lines})
    assert {line[4] for line in lines} == {"HTTP/2.0"}


@pytest.mark.parametrize("mode", ["new", "resumed"])
def test_new_connections_are_those_of_the_log(start_nginx, mode):
    server = start_nginx()
    total = run(server, "https", closed(100, 4), mode=mode).total
    lines = server.lines(100)
    assert total.count("ok") == len({line[3] for line in lines}) == 100
    resumed = total.count("tls_resumed")
    assert (resumed >= 92) if mode == "resumed" else (resumed == 0)


def test_uploads_are_those_of_the_log(start_nginx):
    server = start_nginx()
    step = {"method": "POST", "path": "/upload", "body": "x" * 200_000}
    total = run(server, "http", closed(40, 2), steps=[step]).total
    lines = server.lines(40)
    assert total.count("ok") == 40
    assert total.count("body_received") == 40 * len("200000")
    # 13 DATA frames at least.
    assert 13 * 9 <= total.count("bytes_sent") / 40 - int(lines[0][2]) <= 40 * 9
    assert {line[0] for line in lines} == {"200"}


def test_a_server_that_ends_connections_loses_no_request(start_nginx):
    server = start_nginx(per_connection=20)
    total = run(server, "http", closed(1000, 2)).total
    lines = server.lines(1000)
    assert (total.count("ok"), total.errors, len(lines)) == (1000, {}, 1000)
    assert total.count("connections_opened") >= 50

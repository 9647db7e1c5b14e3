"""The printed commands are typed into the real tools: each takes them and sends what the plan does.

A tool that is not on this machine is left out, and the summary says so.
"""

import shutil
import subprocess

import pytest

from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import scripted

REPLY = b"HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\nok"
QUOTED = {"method": "GET", "path": "/a?x=1&y=it's"}
POST = {
    "method": "POST",
    "path": "/soap",
    "headers": [["Content-Type", "text/xml; charset=utf-8"], ["X-Said", 'it\'s "so"']],
    "body": "<a>'é'</a>",
}


def by_the_book(sock, server):
    """Keeps a connection exactly where the client says so in its version of HTTP."""
    while (request := server.read_request(sock)) is not None:
        head = request.partition(b"\r\n\r\n")[0].lower()
        is_old, says_keep = b"http/1.0" in head, b"connection: keep-alive" in head
        is_kept = says_keep if is_old else b"connection: close" not in head
        reply = REPLY % (b"Connection: Keep-Alive\r\n" if is_kept and is_old else b"")
        sock.sendall(reply[: -len(b"ok")] if head.startswith(b"head ") else reply)
        if not is_kept:
            return


def typed(tool, folder, step=QUOTED, mode="keep-alive", **spec):
    """What the server saw of the printed command."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    plan = Plan.from_json({"steps": [step], "connection_mode": mode, **spec})
    (command,) = [each.command for each in equivalents(plan) if each.tool == tool]
    (folder / "body.txt").write_text(step.get("body", ""))
    with scripted(by_the_book) as server:
        command = command.replace("TARGET", f"127.0.0.1:{server.port}")
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, capture_output=True, timeout=60
        )
    assert done.returncode == 0, (command, done.stderr)
    return server


def closed(requests, connections=2):
    return {"model": "closed", "connections": connections, "requests": requests}


@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_ab_sends_as_many_requests_over_as_many_connections(tmp_path, mode):
    server = typed("ab", tmp_path, mode=mode, load=closed(40, 4))
    assert server.n_requests == 40
    connections = 40 if mode == "new" else 4
    # ab may connect once more at the end and send nothing.
    assert connections <= server.n_connections <= connections + 4
    assert server.requests[0].startswith(b"GET /a?x=1&y=it's HTTP/1.0\r\n")


def test_ab_sends_body_and_headers_as_they_are_whatever_quotes_they_have(tmp_path):
    server = typed("ab", tmp_path, POST, load=closed(6))
    assert server.n_requests == 6
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /soap HTTP/1.0")
    assert b'X-Said: it\'s "so"' in head
    assert b"content-type: text/xml; charset=utf-8" in head.lower()
    assert body == POST["body"].encode()


@pytest.mark.parametrize("method", ["HEAD", "DELETE", "OPTIONS", "PUT"])
def test_ab_sends_the_method(tmp_path, method):
    step = {"method": method, "path": "/x", "body": "x" if method == "PUT" else ""}
    server = typed("ab", tmp_path, step, load=closed(4))
    assert server.n_requests == 4
    assert server.requests[0].startswith(f"{method} /x ".encode())


def test_ab_is_told_no_more_connections_than_it_takes(tmp_path):
    assert typed("ab", tmp_path, load=closed(3, 20)).n_requests == 3


@pytest.mark.parametrize("tool", ["ab", "wrk"])
@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_a_load_for_a_time_uses_its_connections(tmp_path, tool, mode):
    load = {"model": "closed", "connections": 3, "duration_s": 1}
    limits = {"connect_s": 1, "tls_s": 1, "total_s": 1.5}
    server = typed(tool, tmp_path, mode=mode, load=load, timeouts=limits)
    assert server.n_requests > 3
    # What is under way at the end is dropped, and wrk asks once whether anybody is there.
    most = server.n_requests + 4 if mode == "new" else 4
    assert 3 <= server.n_connections <= most

"""The agent's own program on a real socket: what it answers, whom it refuses, and what does not
hurt it."""

import contextlib
import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from campaigns.domain.metrics.exporter import ExporterSeconds, reading_of
from tests.injector.authority import authority, issue
from workers.agent import MOST_CONNECTIONS, why_no_listening

TOKEN = "a-token-of-some-length"


class Running(NamedTuple):
    port: int
    process: subprocess.Popen

    def ask(self, path: str = "/metrics", method: str = "GET", **headers: str):
        """(status, text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


@contextlib.contextmanager
def running(*words: str, token: str = "") -> Iterator[Running]:
    """The file alone, without benchsite."""
    command = [sys.executable, "-I", "workers/agent.py", "--listen", "127.0.0.1:0", *words]
    env = {"BENCHSITE_AGENT_TOKEN": token, "PATH": os.environ["PATH"]}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            yield Running(int(re.search(r":(\d+)/metrics", line)[1]), process)
        finally:
            process.terminate()
            assert process.wait(10) == 0


@pytest.fixture(scope="module")
def agent() -> Iterator[Running]:
    with running("--process", f"pid:{os.getpid()}") as running_agent:
        yield running_agent


def test_two_answers_make_a_second_of_this_machine(agent):
    seconds, before_s = ExporterSeconds(), time.process_time()
    seconds.take(time.monotonic_ns(), agent.ask()[1])
    began_s = time.process_time()
    while time.process_time() < began_s + 0.3:
        pass
    second = seconds.take(time.monotonic_ns(), agent.ask()[1])
    spent_s = time.process_time() - before_s  # threads of other tests may spend some, too
    assert sum(second.did[name] for name in ("user_s", "system_s")) >= 0.2
    assert len(second.did["cores"]) == os.cpu_count()
    own = second.did["processes"][f"pid:{os.getpid()}"]
    assert 0.25 <= own["cpu_s"] <= spent_s + 0.05
    assert own["threads"] >= 1


def test_only_metrics_are_there_and_only_to_be_read(agent):
    assert agent.ask("/")[0] == agent.ask("/etc/passwd")[0] == agent.ask("/profile")[0] == 404
    assert agent.ask(method="DELETE")[0] == 405
    assert agent.ask("/metrics?collect[]=cpu")[0] == 200


def test_without_the_token_nothing_is_told():
    with running(token=TOKEN) as agent:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            assert agent.ask(**headers) == (401, "Unauthorized\n")
        assert agent.ask(Authorization=f"Bearer {TOKEN}")[0] == 200


def test_perf_runs_only_where_the_agent_was_started_for_it(agent):
    text = agent.ask(**{"Benchsite-Perf": "machine", "Benchsite-Profile": "machine run-1"})[1]
    assert "without --perf" in reading_of(text).perf.faults["machine"]
    assert "without --perf" in agent.ask("/profile", **{"Benchsite-Profile": "machine run-1"})[1]
    assert reading_of(agent.ask()[1]).perf.faults == {}


def test_it_speaks_tls_with_a_certificate(tmp_path):
    ca = authority()
    mine = issue(ca)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(mine.pem.encode())
    key.write_bytes(mine.key_pem.encode())
    context = ssl.create_default_context(cadata=ca.pem)
    with running("--cert", str(cert), "--key", str(key)) as agent:
        connection = http.client.HTTPSConnection("127.0.0.1", agent.port, context=context)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            assert connection.getresponse().status == 200


def is_closed(sock: socket.socket) -> bool:
    """Waits for it."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


NO_REQUESTS = {
    "slow": b"GET /metrics HTTP/1.1\r\n",  # and no end
    "huge": b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00",
    "empty": b"\r\n\r\n",
    "malformed": b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
    "a body": b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n",
    "chunks": b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
}


def test_what_is_no_request_ends_its_connection_and_nothing_else(agent):
    with contextlib.ExitStack() as stack:
        bad = [stack.enter_context(agent.connect()) for _ in NO_REQUESTS]
        for sock, sent in zip(bad, NO_REQUESTS.values(), strict=True):
            sock.sendall(sent)
        assert agent.ask()[0] == 200
        assert all(map(is_closed, bad))


def test_many_that_say_nothing_do_not_keep_others_out(agent):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(agent.connect()) for _ in range(MOST_CONNECTIONS + 20)]
        assert agent.ask()[0] == 200
        assert is_closed(silent[0])


def test_many_requests_cost_no_more_than_twenty_a_second(agent):
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=20)
    texts, began_s = set(), time.monotonic()
    with contextlib.closing(connection):
        for _ in range(300):
            connection.request("GET", "/metrics")
            texts.add(connection.getresponse().read())
    assert len(texts) <= 1 + (time.monotonic() - began_s) / 0.05


@pytest.mark.parametrize(
    ("host", "has_perf", "is_allowed"),
    [
        ("127.0.0.1", True, True),
        ("::1", True, True),
        ("10.0.0.5", False, True),
        ("10.0.0.5", True, False),
        ("fd00::5", False, True),
        ("", False, False),
        ("0.0.0.0", False, False),  # noqa: S104
        ("::", False, False),
        ("8.8.8.8", False, False),
        ("100.64.0.1", False, False),
        ("2606:4700::1", False, False),
    ],
)
def test_strangers_are_not_answered_without_a_token(host, has_perf, is_allowed):
    assert (why_no_listening(host, "", has_perf) == "") is is_allowed
    assert why_no_listening(host, TOKEN, has_perf) == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen", "0.0.0.0:0"], "Set --token-file"),
        (["--listen", "shop.example:9800"], "no address"),
        (["--listen", "127.0.0.1"], "has no port"),
        (["--listen", "127.0.0.1:75336"], "has no port"),
        (["--cert", "cert.pem"], "go together"),
        (["--token-file", "/nowhere"], "Cannot read"),
        (["--process", "pid:nginx"], "Write a name, :PORT or pid:NUMBER"),
        (["--process", *map(str, range(21))], "At most 20"),
        (["--process", "x" * 101], "longer than 100"),
    ],
)
def test_what_it_cannot_do_it_says_before_it_starts(words, sentence):
    command = [sys.executable, "-I", "workers/agent.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr

"""Streams as a real server sends them: gunicorn with gevent workers, bytes over a socket."""

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from local.site import listens
from tests.factories import begin_run, make_campaign, make_run, make_test, store_second
from tests.injector.http2.log_lines import free_ports
from tests.measured import measure
from tests.values import make_second
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
N_VIEWERS = 20
TARGETS = "/api/v1/targets/"


@pytest.fixture(scope="module")
def port(django_db_setup):
    """A server on the database of the tests, for all tests of this file; it takes seconds to
    start."""
    (port,) = free_ports(1)
    database = urlsplit(os.environ["DATABASE_URL"])
    of_test = database._replace(path=f"/{connection.settings_dict['NAME']}")
    env = {
        **os.environ,
        "DATABASE_URL": urlunsplit(of_test),
        "BENCHSITE_BIND": f"127.0.0.1:{port}",
        "BENCHSITE_DB_POOL": "4",
    }
    command = [sys.executable, "-m", "gunicorn", "-c", "benchsite/gunicorn.py", "benchsite.wsgi"]
    server = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.DEVNULL)
    eventually(lambda: listens(port), 30, "the server is up")
    fetch(port, reverse("healthz"), {})  # it listens before it has loaded everything
    yield port
    server.terminate()
    server.wait(10)


class Viewer:
    """An open stream, read as bytes."""

    def __init__(self, port: int, path: str, cookie: str, last_event_id: str = ""):
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        resume = f"Last-Event-ID: {last_event_id}\r\n" if last_event_id else ""
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n{resume}\r\n"
        self._socket.sendall(request.encode())
        self.text = ""

    def read_until(self, words: str) -> str:
        until = time.monotonic() + 10
        while words not in self.text:
            assert time.monotonic() < until, f"{words!r} did not come; heard: {self.text!r}"
            self.text += self._socket.recv(65536).decode()
        return self.text

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def run(project):
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    begin_run(run)
    store_second(run, make_second(0, [10_000]))
    return run


def test_all_who_watch_get_the_finished_page_when_the_run_ends(project, vera, port):
    """Each fetches it in the same moment, with four database connections for them all."""
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    cookie = cookie_of(vera)
    viewers = [Viewer(port, reverse("run-stream", args=[run.pk]), cookie) for _ in range(N_VIEWERS)]
    measure(run, 12_000)
    for viewer in viewers:
        viewer.read_until("event: end\n")
        viewer.close()
    page = reverse("run-detail", args=[run.pk])
    headers = {"Cookie": cookie, "X-Requested-With": "XMLHttpRequest"}
    with ThreadPoolExecutor(N_VIEWERS) as pool:
        answers = list(pool.map(lambda _: fetch(port, page, headers), range(N_VIEWERS)))
    assert {status for status, _ in answers} == {200}
    assert not any("data-run-progress" in text for _, text in answers)


def cookie_of(user) -> str:
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def fetch(port: int, path: str, headers: dict[str, str]) -> tuple[int, str]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as server:
        server.request("GET", path, headers=headers)
        answer = server.getresponse()
        return answer.status, answer.read().decode()


def test_many_viewers_hear_each_second_once_and_go_on_where_they_were(run, vera, port):
    cookie = cookie_of(vera)
    path = reverse("run-stream", args=[run.pk])

    # More viewers than the pool has connections: a sleeping stream must hold none.
    viewers = [Viewer(port, path, cookie) for _ in range(N_VIEWERS)]
    for viewer in viewers:
        assert "text/event-stream" in viewer.read_until(f".r{run.pk}.s0\n")
    store_second(run, make_second(1, [10_000]))
    for viewer in viewers:
        text = viewer.read_until(f".r{run.pk}.s1\n")
        assert text.count('"second":[1]') == 1
        viewer.close()

    event = run.events.latest("pk").pk
    back = Viewer(port, path, cookie, last_event_id=f"e{event}.r{run.pk}.s0")
    text = back.read_until(f".r{run.pk}.s1\n")
    assert '"second":[0' not in text
    back.close()


def test_a_body_that_nobody_wants_is_not_read_to_its_end(port):
    most, piece = 100_000_000, b"x" * 1_000_000

    def send_all(client: socket.socket) -> None:
        for _ in range(0, most, len(piece)):
            client.sendall(piece)

    head = f"POST {TARGETS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {most}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(head.encode())
        assert client.recv(12) == b"HTTP/1.1 413"  # before any of it came
        with pytest.raises(ConnectionError):
            send_all(client)


def test_one_of_a_few_megabytes_is_so_that_its_sender_reads_the_answer(port):
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as client:
        for _ in range(2):  # the connection goes on
            client.request("POST", TARGETS, b"x" * 5_000_000)
            answer = client.getresponse()
            assert answer.status == 413
            answer.read()

"""No database here: the injector knows none. A certificate of our own for TLS."""

import socket
import ssl

import pytest

from tests.injector.forked import FORKED, OURS, Nursery, Program, launch
from workers.echo.tls import ensure_certificate
from workers.injector import rounds
from workers.injector.rounds import Rounds


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return ensure_certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")


@pytest.fixture
def server_tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture(scope="session")
def nursery():
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def program(request):
    programs = []

    def start(order, command=OURS):
        is_forked = command is FORKED
        process = request.getfixturevalue("nursery").fork() if is_forked else launch(command)
        programs.append(Program(process, order))
        return programs[-1]

    yield start
    for each in programs:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout, each.process.stderr):
            pipe.close()


@pytest.fixture
def short_trial(monkeypatch):
    monkeypatch.setattr(rounds, "TRIAL_S", 0.5)
    monkeypatch.setattr(rounds, "_STAGE_S", 0.5)


@pytest.fixture
def pools(monkeypatch):
    """How many connections each arm has at the beginning of each round."""
    counts, play = [], Rounds._play_round

    def play_and_count(self, *args, **options):
        counts.append([arm.n_connections for arm in self._arms])
        return play(self, *args, **options)

    monkeypatch.setattr(Rounds, "_play_round", play_and_count)
    return counts


@pytest.fixture
def ends():
    """A connection of TCP, as the client and the server have it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        server, _ = listener.accept()
        with server:
            yield client, server

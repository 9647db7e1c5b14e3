"""No database here: the injector knows none. A certificate of our own for TLS."""

import ssl

import pytest

from tests.injector.forked import FORKED, OURS, Nursery, Program, started
from workers.echo.tls import ensure_certificate


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
        process = request.getfixturevalue("nursery").fork() if is_forked else started(command)
        programs.append(Program(process, order))
        return programs[-1]

    yield start
    for each in programs:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout, each.process.stderr):
            pipe.close()

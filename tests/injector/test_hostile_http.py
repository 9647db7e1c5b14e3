"""Whatever a server sends: one kind for each attempt, in time, in little memory, and no lies."""

import os
import subprocess
import sys
import time

import pytest

from tests.injector import hostile_exchanges, hostile_heads
from tests.injector.hostile import OK, fault, merged, run_all, selected
from tests.injector.servers import closed, measure, scripted

CASES = merged(hostile_heads.CASES, hostile_exchanges.CASES)
_GROWTH_MIB = 64


@pytest.fixture(scope="module")
def outcomes(request):
    return run_all(selected(CASES, request.session.items))


def test_the_table_is_as_long_as_promised():
    assert len(CASES) >= 120


@pytest.mark.parametrize("name", CASES)
def test_every_attempt_ends_in_one_kind_in_time_and_as_the_ledger_says(outcomes, name):
    assert fault(CASES[name], outcomes[name]) is None


def _peak_mib(port: int, *options: str) -> float:
    """The most memory that the program used, in a process of its own."""
    command = [sys.executable, "-m", "workers.injector", f"http://127.0.0.1:{port}/"]
    process = subprocess.Popen(
        [*command, "--timeout", "1", "--connections", "8", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss / 1024


@pytest.fixture(scope="module")
def usual_mib():
    with scripted(hostile_heads.CASES["no body at all"].script) as server:
        return _peak_mib(server.port, "--requests", "16")


@pytest.mark.parametrize("flood", hostile_exchanges.FLOODS)
def test_a_flood_is_not_kept_in_memory(flood, usual_mib):
    with scripted(hostile_exchanges.FLOODS[flood].script) as server:
        assert _peak_mib(server.port, "--requests", "16") - usual_mib < _GROWTH_MIB


def _one_stray(sock, server):
    """Answers properly, but after its third reply sends another one a moment later."""
    while server.read_request(sock) is not None:
        server.n_answered += 1
        sock.sendall(OK)
        if server.n_requests == 3:
            time.sleep(0.02)
            sock.sendall(OK)


def test_a_late_stray_puts_a_kept_connection_out_of_step_only_until_it_is_found():
    with scripted(_one_stray) as server:
        total = measure(server.port, load=closed(20)).total
    assert total.errors == {"http_parse": 1}
    assert total.count("ok") == 19 <= server.n_answered

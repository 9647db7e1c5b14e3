"""Reports in the styles of ab and httperf beside what these print of the same server."""

import itertools
import re
import shutil
import socket
import subprocess
import threading

import pytest

from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import closed, make_order, reset, scripted
from workers.injector.summary import run_here

pytestmark = pytest.mark.long

HEAD = b"Server: mixed/1\r\nConnection: close\r\nContent-Length: "
OK = b"HTTP/1.1 200 OK\r\n" + HEAD + b"2\r\n\r\nok"
# httperf divides by whole numbers: of as many such replies the mean is one.
FAULT = b"HTTP/1.1 500 NO\r\n" + HEAD + b"4\r\n\r\nnone"
MARK = re.compile(r" \[\d+\]")
# Depends on the times: "WARNING: The median and mean …", "       deviation apart …".
DOUBT = re.compile(r"WARNING|ERROR|\s+(deviation|These) ")
NUMBER = re.compile(r"[\d.]*\d%?|–")


def in_turn(*kinds):
    """Each connection in its turn gets a reply (bytes), is reset, closed or left alone (names)."""
    turns, lock = itertools.cycle(kinds), threading.Lock()

    def script(sock, server):
        with lock:
            kind = next(turns)
        server.read_request(sock)
        if isinstance(kind, bytes):
            sock.sendall(kind)
        elif kind == "reset":
            reset(sock)
        elif kind == "silent":
            sock.recv(1)

    return script


def printed_by(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [line for line in done.stdout.splitlines() if line]


def ours(style: str, port: int, **fields) -> list[str]:
    order = make_order(port, **fields)
    report = run_here(order, lambda second: None).report(style, order)
    return [line for line in report.splitlines() if line]


def form(line: str) -> str:
    """Without figures, columns and marks."""
    return " ".join(NUMBER.sub("#", MARK.sub("", line)).split())


def lines_of(lines: list[str], *beginnings: str) -> list[str]:
    return [" ".join(line.split()) for line in lines if line.startswith(beginnings)]


COUNTS = (
    "Total: ", "Connection length", "Reply size", "Reply status", "Errors: total", "Errors: fd",
)  # fmt: skip
ARRIVING = {"model": "open", "rate_per_s": 50, "requests": 40, "arrival_unit": "connection"}


@pytest.fixture
def httperf_options():
    return ("--server", "127.0.0.1", "--uri", "/", "--num-conns", "40", "--rate", "50")


def compare_httperf(theirs: list[str], own: list[str]) -> None:
    assert theirs[0].startswith("httperf ")
    options = dict(itertools.pairwise(own[0].split()[1:]))
    words = {f"{name}={value}" for name, value in options.items() if name.startswith("--")}
    assert words <= set(theirs[0].split())
    own_lines = own[1 : len(theirs)]
    assert [form(line) for line in own_lines] == [form(line) for line in theirs[1:]]
    assert counts_of(own_lines) == counts_of(theirs)


def counts_of(lines: list[str]) -> list[str]:
    """Without the duration, which differs; what nothing was measured of is a dash, or 0.0."""
    counts = (re.sub(r" test-duration.*", "", line) for line in lines_of(lines, *COUNTS))
    return [re.sub(r"–|\b0\.0+\b", "0", MARK.sub("", line)) for line in counts]


def test_httperf_s_counts_with_failures_of_each_kind(httperf_options):
    """Statuses are no errors, closes are resets, refused connections are connections."""
    kinds = (OK, OK, OK, FAULT, FAULT, FAULT, "reset", "closed", "silent", "silent")
    with scripted(in_turn(*kinds)) as server:
        port = str(server.port)
        theirs = printed_by("httperf", *httperf_options, "--port", port, "--timeout", "1")
    with scripted(in_turn(*kinds)) as server:
        own = ours(
            "httperf", server.port, mode="new", load=ARRIVING, timeouts=dict.fromkeys(LIMITS, 1)
        )
    # The port is of another server of the same kind.
    own[0] = own[0].replace(str(server.port), port)
    compare_httperf(theirs, own)


LIMITS = ("connect_s", "tls_s", "total_s")


def test_httperf_s_lines_where_all_are_refused(httperf_options):
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        theirs = printed_by("httperf", *httperf_options, "--port", str(port), "--timeout", "1")
        own = ours("httperf", port, mode="new", load=ARRIVING, timeouts=dict.fromkeys(LIMITS, 1))
    compare_httperf(theirs, own)


def compare_ab(theirs: list[str], own: list[str]) -> None:
    """All of ab's lines are there, in its order; those without a mark have its figures."""
    begin = next(n for n, line in enumerate(theirs) if line.startswith("Server Software"))
    labels = [label(line) for line in theirs[begin:] if not DOUBT.match(line)]
    own_labels = [label(line) for line in own]
    assert [each for each in own_labels if each in labels] == labels
    counts = ("Server", "SSL/TLS", "TLS Server", "Document", "Concurrency", "Complete", "Non-2xx")
    counts += ("Total tr", "HTML")
    figures = {line for line in lines_of(own, *counts) if not MARK.search(line)}
    assert figures <= set(lines_of(theirs, *counts))


def label(line: str) -> str:
    """Up to its first figure, without columns."""
    text = re.split(r"[:\d(\[]", MARK.sub("", line).replace("   (", "classes:"))[0]
    return " ".join(text.split()) or " ".join(line.split()).partition("%")[0]


def test_ab_s_lines_with_failures():
    kinds = (OK, OK, FAULT, "reset", "closed")
    with scripted(in_turn(*kinds)) as server:
        address = f"http://127.0.0.1:{server.port}/"
        theirs = printed_by("ab", "-r", "-n", "50", "-c", "1", address)
    with scripted(in_turn(*kinds)) as server:
        own = ours("ab", server.port, mode="new", load=closed(50))
    own = [line.replace(str(server.port), address.split(":")[2][:-1]) for line in own]
    compare_ab(theirs, own)


def one_reply_over_tls(sock, server):
    server.read_request(sock)
    sock.sendall(OK)
    sock.unwrap()


def test_ab_s_lines_over_tls():
    with scripted(one_reply_over_tls, server_context(issue(authority()))) as server:
        theirs = printed_by("ab", "-n", "20", "-c", "2", f"https://127.0.0.1:{server.port}/")
        own = ours("ab", server.port, scheme="https", mode="new", load=closed(20, 2))
    compare_ab(theirs, own)
    assert lines_of(own, "Server Temp Key") == lines_of(theirs, "Server Temp Key")

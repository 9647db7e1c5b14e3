"""Sessions that arrive, for the tests of them: plans, servers that watch connections, the sum of
all sessions."""

import threading
import time

from tests.injector import servers
from tests.injector.servers import OK_REPLY

OPEN = {"model": "open", "arrival_unit": "session", "rate_per_s": 100, "requests": 20}
ERROR_REPLY = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"


def measure(port, **fields):
    """With a limit that a crowded machine keeps, too."""
    return servers.measure(port, **{"timeouts": {"total_s": 20}, **fields})


def against(script, **fields):
    return servers.against(script, **{"timeouts": {"total_s": 20}, **fields})


def tally(script, **fields):
    return servers.tally(script, **{"timeouts": {"total_s": 20}, **fields})


def session(calls, **fields):
    return {"session": {"calls_per_session": calls, **fields}}


def think(seconds):
    return {"kind": "constant", "mean_s": seconds}


def sessions_are_conserved(result) -> bool:
    """As requests are: started = ok + failed + dropped + carried + in flight at the end."""
    totals, end = result.ends[0].totals, result.ends[0]
    parts = sum(totals.get(f"sessions_{name}", 0) for name in ("ok", "failed", "dropped"))
    n_carried = totals.get("sessions_carried", 0)
    return totals.get("sessions_started", 0) == parts + n_carried + end.sessions_in_flight


def answering_pipelined(sock, server):
    """A reply for each request, several of which may come at once."""
    data = b""
    while more := sock.recv(65536):
        data += more
        while b"\r\n\r\n" in data:
            head, _, data = data.partition(b"\r\n\r\n")
            server.requests.append(head)
            sock.sendall(OK_REPLY)


class Connections:
    """Notes per connection when each of its requests came, and how many were served at once."""

    def __init__(self, service_s=0.0):
        self.times: list[list[float]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._service_s = service_s

    def __call__(self, sock, server):
        mine: list[float] = []
        self.times.append(mine)
        while server.read_request(sock) is not None:
            mine.append(time.monotonic())
            with self._lock:
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            time.sleep(self._service_s)
            with self._lock:
                self._at_once -= 1
            sock.sendall(OK_REPLY)

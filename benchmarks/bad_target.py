"""A server that misbehaves in one way, as a program: `python -m benchmarks.bad_target KIND PORT`.

With a third argument, the log's path, it writes a line of JSON for each request that reached it.
"""

import itertools
import json
import ssl
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from gevent import sleep
from gevent.server import StreamServer
from gevent.ssl import SSLContext

from workers.echo.certificate import ensure_certificate
from workers.echo.faults import reset

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n"
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n"
_FAILING, _SLOW, _SATURATED, _MISSING_ALL, _RESETTING = KINDS = (
    "failing", "slow", "saturated", "missing", "resetting",
)  # fmt: skip
_WORK_S, _LONG_S = 0.004, 5.0
_HEAD_END = b"\r\n\r\n"


class BadTarget(StreamServer):
    """`kind`: failing answers 503 to every fifth request, slow answers three of ten after 5 s,
    saturated works 4 ms for each, missing answers 404 to all, resetting resets every fifth.
    """

    def __init__(self, kind: str, port: int, log: IO[str] | None, **tls: Any):
        super().__init__(("127.0.0.1", port), self.serve, backlog=4096, **tls)
        self._kind = kind
        self._log = log
        self._requests = itertools.count()
        self._connections = itertools.count()

    def serve(self, sock: Any, _: Any) -> None:
        connection = next(self._connections)
        try:
            while (method := read_method(sock)) and self._answer(sock, method, connection):
                pass
        except OSError:
            pass
        finally:
            sock.close()

    def _answer(self, sock: Any, method: str, connection: int) -> bool:
        """Whether the connection stays."""
        number = next(self._requests)
        is_fifth = number % 5 == 4
        is_reset = self._kind == _RESETTING and is_fifth
        if self._log is not None:
            line = {"method": method, "connection": connection, "is_reset": is_reset}
            self._log.write(json.dumps(line) + "\n")
        if is_reset:
            reset(sock)
            return False
        if self._kind == _SATURATED:
            _work()
        if self._kind == _SLOW and number % 10 in {2, 5, 8}:
            sleep(_LONG_S)
        head = _OK
        if self._kind == _MISSING_ALL:
            head = _MISSING
        elif self._kind == _FAILING and is_fifth:
            head = _BUSY
        sock.sendall(head if method == "HEAD" else head + b"ok")
        return True


def _work() -> None:
    until = time.thread_time() + _WORK_S
    while time.thread_time() < until:
        pass


def read_method(sock: Any) -> str:
    """The method of the next request; "" if there is none. Bodies come with their head."""
    data = b""
    while _HEAD_END not in data:
        more = sock.recv(65536)
        if not more:
            return ""
        data += more
    return data.split(b" ", 1)[0].decode()


def main(kind: str, port: str, log: str = "") -> None:
    with open(log, "w", buffering=1) if log else nullcontext() as file:
        plain = BadTarget(kind, int(port), file)
        if log:
            tls = SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*ensure_certificate(Path(log).parent, "127.0.0.1"))
            secure = BadTarget(kind, int(port) + 1, file, ssl_context=tls)
            secure.start()
        plain.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

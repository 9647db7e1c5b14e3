"""A server with a planted limit, as a program: `python -m benchmarks.limited_target RATE PORT`.

A token bucket without a burst: it answers at most RATE requests per second, evenly, and what comes
faster waits for its turn.
"""

import sys
import time
from typing import Any

from gevent import sleep
from gevent.server import StreamServer

from benchmarks.bad_target import read_method

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class LimitedTarget(StreamServer):
    def __init__(self, rate_per_s: float, port: int):
        super().__init__(("127.0.0.1", port), self.serve, backlog=4096)
        self._apart_s = 1 / rate_per_s
        self._next_turn = 0.0

    def serve(self, sock: Any, _: Any) -> None:
        try:
            while read_method(sock):
                self._wait_for_turn()
                sock.sendall(_OK)
        except OSError:
            pass
        finally:
            sock.close()

    def _wait_for_turn(self) -> None:
        now = time.monotonic()
        turn = max(now, self._next_turn)
        self._next_turn = turn + self._apart_s
        if turn > now:
            sleep(turn - now)


if __name__ == "__main__":
    LimitedTarget(float(sys.argv[1]), int(sys.argv[2])).serve_forever()

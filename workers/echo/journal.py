"""The demo target's own log of what arrived; tests compare results with it."""

import json
import time
from typing import IO


class Journal:
    """Writes one JSON line per request, unbuffered; does nothing without a path."""

    def __init__(self, path: str | None):
        self._file: IO[str] | None = None
        if path:
            self._file = open(path, "a", buffering=1)  # noqa: SIM115 (open as long as the server)

    @property
    def is_kept(self) -> bool:
        return self._file is not None

    def note(
        self, scheme: str, connection: int, method: str, path: str, arrived_ns: int, **more: int
    ) -> None:
        """`arrived_ns` is CLOCK_MONOTONIC when the request's first bytes had reached this machine.

        `service_us`, where given, runs from then until the reply was handed to the kernel.
        """
        if self._file is None:
            return
        wall_ns = time.time_ns() - (time.monotonic_ns() - arrived_ns)
        line = {
            "monotonic_ns": arrived_ns,
            "wall_ns": wall_ns,
            "scheme": scheme,
            "connection": connection,
            "method": method,
            "path": path,
            **more,
        }
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

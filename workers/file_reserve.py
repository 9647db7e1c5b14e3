"""Files kept open, for the moment when no other can be opened."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# A connection to PostgreSQL, what its library reads to make one, and a spool.
KEPT_FILES = 8


class FileReserve:
    """Open files, to be given up for a moment. A worker and its launchers that have all their files
    open still say that they are there, and claim what waits for them: so it fails at once and says
    why, instead of waiting for an hour."""

    def __init__(self):
        self._kept: list[int] = []
        self._fill()

    @contextmanager
    def free(self) -> Iterator[None]:
        while self._kept:
            os.close(self._kept.pop())
        try:
            yield
        finally:
            self._fill()

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._kept) < KEPT_FILES:
                self._kept.append(os.open(os.devnull, os.O_RDONLY))

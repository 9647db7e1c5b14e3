"""Secrets of TLS connections in the format that Wireshark reads (SSLKEYLOGFILE).

Whoever has the file can read the traffic. It is written only for who sits at the command line: an
order cannot ask for it, and nothing of it leaves the process in any other way.
"""

import os


class KeyLog:
    """A file that only its owner may read; what it had is kept. Raises OSError."""

    def __init__(self, path: str):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        try:
            os.fchmod(self._file, 0o600)
        except OSError:
            self.close()
            raise

    def write(self, line: bytes) -> None:
        """One secret, as OpenSSL calls back with it."""
        os.write(self._file, line + b"\n")

    def close(self) -> None:
        os.close(self._file)

"""A worker that makes one attempt, and keeps what it saw and when each part of it ended."""

from typing import Any

from workers.injector.attempt import Request, Worker
from workers.injector.connection import Connection, Dialler, now
from workers.injector.tls_client import certificate_chain

SNIPPET_BYTES = 2048


class Prober(Worker):
    """What HTTP and WebSocket have in common; `instants` are in the order in which parts ended."""

    def __init__(self, dialler: Dialler, request: Request):
        super().__init__(dialler, keeps=False)
        self.request = request
        self.instants: dict[str, int] = {}
        self.tls: dict[str, Any] | None = None
        self.certificates: list[bytes] = []

    def fetch(self) -> None:
        """Raises what ended the attempt."""
        raise NotImplementedError

    def seen(self) -> dict[str, Any]:
        """What came back, as far as it came."""
        raise NotImplementedError

    def count_bytes(self) -> tuple[int, int]:
        """(sent, received), TLS apart."""
        raise NotImplementedError

    def connect(self) -> Connection:
        self.began = now()
        try:
            connection = self.dialler.dial(self)
        finally:
            # Over also where TLS failed after it.
            if self.connection is not None:
                self.instants["connect"] = self.connection.connected
        if connection.tls is not None:
            self.instants["tls"] = connection.secured
            self._look_at_tls(connection)
        return connection

    def _look_at_tls(self, connection: Connection) -> None:
        tls = connection.tls
        name, _, bits = tls.cipher()
        self.tls = {
            "version": tls.version(),
            "cipher": name,
            "bits": bits,
            "alpn": tls.selected_alpn_protocol(),
        }
        self.certificates = certificate_chain(tls)

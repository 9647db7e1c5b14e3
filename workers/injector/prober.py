"""A worker that makes one attempt and records what it saw and when each part ended."""

from typing import Any

from workers.injector.attempt import Worker
from workers.injector.connection import Connection, Dialler, now
from workers.injector.request import Request
from workers.injector.tls_client import certificate_chain

SNIPPET_BYTES = 2048


class Prober(Worker):
    """What HTTP and WebSocket probes share; `instants` are in the order in which parts ended."""

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
        """What came back, as far as it arrived."""
        raise NotImplementedError

    def count_bytes(self) -> tuple[int, int]:
        """(sent, received), without TLS overhead."""
        raise NotImplementedError

    def connect(self) -> Connection:
        self.began = now()
        try:
            connection = self.dialler.dial(self)
        finally:
            # TCP was connected even if TLS failed afterwards.
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

"""What the handshakes with one endpoint agreed on, counted."""

from typing import Any

from campaigns.domain.measured.certificate_key import key_words
from campaigns.domain.measured.injector_end import TlsHandshakes
from workers.injector.tls_library import Tls
from workers.injector.wire import carried_bytes


class _Agreed:
    """The handshakes with the same outcome; `tls` was the first of them."""

    __slots__ = (
        "bits", "bytes_received", "bytes_sent", "certificate", "chain_bytes", "cipher", "count",
        "group", "is_measured", "read_whole", "resumed", "version",
    )  # fmt: skip

    def __init__(self, tls: Tls, *, resumed: bool):
        self.version, self.cipher, self.bits, self.group = tls.in_words()
        self.resumed = resumed
        chain = [] if resumed else tls.chain()
        self.certificate = key_words(chain[0]) if chain else None
        self.chain_bytes = sum(map(len, chain)) if chain else None
        self.count = self.bytes_sent = self.bytes_received = 0
        self.is_measured = True
        self.read_whole: set[int] = set()


class TlsTally:
    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], _Agreed] = {}

    def add(self, tls: Tls, sock: Any, *, is_resumed: bool) -> None:
        """Right after a handshake, before anything else is sent."""
        key = (*tls.terms(), is_resumed)
        agreed = self._found.get(key)
        if agreed is None:
            agreed = self._found[key] = _Agreed(tls, resumed=is_resumed)
        agreed.count += 1
        carried = carried_bytes(sock, agreed.read_whole)
        if carried is None:
            agreed.is_measured = False
        else:
            agreed.bytes_sent += carried[0]
            agreed.bytes_received += carried[1]

    def handshakes(self) -> list[TlsHandshakes]:
        return [
            TlsHandshakes(
                each.version,
                each.cipher,
                each.count,
                each.bits,
                each.resumed,
                each.group,
                each.certificate,
                each.chain_bytes,
                each.bytes_sent if each.is_measured else None,
                each.bytes_received if each.is_measured else None,
            )
            for each in self._found.values()
        ]

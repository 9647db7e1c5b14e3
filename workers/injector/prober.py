"""A worker that makes one attempt and records what it saw and when each part ended."""

from typing import Any

from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS
from workers.injector.attempt import Worker
from workers.injector.connection import Connection, Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.reply_check import ReplyRules
from workers.injector.request import Request, reply_of
from workers.injector.request_keeper import body_of

SNIPPET_BYTES = 2048
_MOST_OF_A_VALUE = 4000  # a token, which the next test request sends


class Prober(Worker):
    """What HTTP and WebSocket probes share; `instants` are in the order in which parts ended."""

    def __init__(self, dialler: Dialler, request: Request, looker: Dialler | None = None):
        """`looker` opens connections whose certificate nobody checks, to see it."""
        super().__init__(dialler, keeps=False)
        self._looker = looker
        self.request = request
        self.instants: dict[str, int] = {}
        self.tls: dict[str, Any] | None = None
        self.certificates: list[bytes] = []

    def fetch(self) -> None:
        """Raises what ended the attempt."""
        raise NotImplementedError

    def reply_facts(self) -> dict[str, Any]:
        """What came back, as far as it arrived."""
        raise NotImplementedError

    def said_of(self, reader: Any) -> dict[str, Any]:
        """The beginning of a body, decoded where that can be done; of a whole reply what came of
        the step's checks and extractions, if it has any."""
        if reader.head is None:
            return {"snippet": ""}
        snippet, step = body_of(reader, SNIPPET_BYTES), self.request.step
        facts: dict[str, Any] = {"snippet": snippet.decode("utf-8", "replace")}
        if reader.is_complete and (step.checks or step.extract):
            facts["rules"] = [
                {
                    "rule": each.line,
                    "holds": each.holds,
                    "came": each.came,
                    "value": each.value and each.value[:_MOST_OF_A_VALUE],
                }
                for each in ReplyRules(step).outcomes(reply_of(reader))
            ]
        return facts

    @property
    def keep_bytes(self) -> int:
        """How much of the body that takes."""
        return max(SNIPPET_BYTES, ReplyRules(self.request.step).keep_bytes)

    def count_bytes(self) -> tuple[int, int]:
        """(sent, received), without TLS overhead."""
        raise NotImplementedError

    def connect(self) -> Connection:
        self.began = now()
        try:
            connection = self.dialler.dial(self)
        except AttemptFailed as failure:
            self._note_connected()
            if failure.kind in CERTIFICATE_KINDS and self._looker is not None:
                self._look_at_refused_certificate()
            raise
        self._note_connected()
        if connection.tls is not None:
            self.instants["tls"] = connection.secured_ns
            tls = connection.tls
            version, cipher, bits, group = tls.in_words()
            terms = {"version": version, "cipher": cipher, "bits": bits, "group": group}
            self.tls = {**terms, "alpn": tls.alpn}
            self.certificates = tls.chain()
        return connection

    def _note_connected(self) -> None:
        """TCP was connected even if TLS failed afterwards."""
        if self.connection is not None:
            self.instants["connect"] = self.connection.connected_ns

    def _look_at_refused_certificate(self) -> None:
        """In a second handshake, which accepts any; no request is sent over it."""
        self.drop_connection()
        try:
            self.certificates = self._looker.dial(self).tls.chain()
        except AttemptFailed:
            pass  # the first failure is the answer
        finally:
            self.drop_connection()

"""Examples of failures: what was sent, and what came back. Kept on the failing path alone."""

import base64
import contextlib
from typing import Any
from urllib.parse import quote

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.redaction import printable, redacted, redacted_head
from workers.injector.connection import NS
from workers.injector.decoding import Undecodable, decoded
from workers.injector.reply import BODY_BYTES

# Of each kind and status: the first, and the first ones this long after it.
_AFTER_NS = (0, NS, 10 * NS)
_MOST_KINDS = 50
_HEAD_BYTES = 2048
_DETAIL_CHARACTERS = 300
# Of one step: all examples together.
_MOST_CHARACTERS = 96 * 1024


class Examples:
    """Those of one step that are not written out yet; `secrets` must appear in none."""

    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()
        self._first: dict[tuple[Kind, int], int] = {}
        self._n_taken: dict[tuple[Kind, int], int] = {}
        self._kept: list[dict[str, Any]] = []
        self._characters = 0

    def note(
        self, request: Any, kind: Kind, status: int, end: int, reader: Any, detail: str = ""
    ) -> None:
        """An attempt failed at `end` (ns); `reader` has what was read of its reply, or is None."""
        key = kind, status
        n_taken = self._n_taken.get(key, 0)
        if n_taken == len(_AFTER_NS) or end < request.recorder.zero_ns:
            return
        if n_taken == 0 and len(self._first) == _MOST_KINDS:
            return
        if end - self._first.setdefault(key, end) < _AFTER_NS[n_taken]:
            return
        if self._characters < _MOST_CHARACTERS:
            self._n_taken[key] = n_taken + 1
            self._keep(request, kind, status, end, reader, detail)

    def note_reply(self, request: Any, fault: Any, end: int, reader: Any) -> None:
        """A whole reply is a failure; only of an unexpected status does its status say which."""
        status = reader.head.status if fault.kind == Kind.STATUS_UNEXPECTED else 0
        self.note(request, fault.kind, status, end, reader, fault.whole)

    def _keep(
        self, request: Any, kind: Kind, status: int, end: int, reader: Any, detail: str
    ) -> None:
        secrets = (*self.secrets, *request.secret_values())
        # The plan's own text, in which variables have names and no values.
        head = request.template[:_HEAD_BYTES].partition(b"\r\n\r\n")[0]
        example = {
            "kind": kind.value,
            "status": status,
            "at_us": (end - request.recorder.zero_ns) // 1000,
            "request": redacted_head(_text(head), secrets),
            "reply": _reply(reader, secrets),
            "body_bytes": reader.body_bytes if reader is not None and reader.head else None,
            "detail": self.clean(request, detail),
        }
        self._characters += sum(len(text) for text in example.values() if isinstance(text, str))
        self._kept.append(example)

    def clean(self, request: Any, detail: str) -> str:
        """The beginning of a detail, without secrets."""
        if not detail:
            return ""
        secrets = (*self.secrets, *request.secret_values())
        return redacted(printable(detail.rstrip(".")), secrets)[:_DETAIL_CHARACTERS]

    def take(self) -> list[dict[str, Any]]:
        """All that are not written out, now to be."""
        kept, self._kept = self._kept, []
        return kept


def secrets_of(auth_user: str, secret: str) -> tuple[str, ...]:
    """The forms in which a secret of the order may come back."""
    if not secret:
        return ()
    pair = base64.b64encode(f"{auth_user}:{secret}".encode()).decode()
    return secret, quote(secret, safe=""), pair


def _reply(reader: Any, secrets: tuple[str, ...]) -> str:
    """Status line, headers, an empty line and the first bytes of the body; "" without a head."""
    if reader is None or reader.head is None:
        return ""
    head = reader.head
    lines = [f"{head.status} {head.reason}".strip()]
    lines += [f"{name}: {value}" for name, value in head.headers]
    told = redacted_head(printable("\n".join(lines))[:_HEAD_BYTES], secrets)
    body = redacted(_text(body_of(reader, BODY_BYTES)), secrets)
    return f"{told}\n\n{body}" if body else told


def body_of(reader: Any, most_bytes: int) -> bytes:
    """Its beginning, decoded where that can be done."""
    if coding := reader.head.coding:
        with contextlib.suppress(Undecodable):
            return decoded(reader.kept, coding, most_bytes, is_whole=False)
    return reader.kept[:most_bytes]


def _text(data: bytes) -> str:
    return printable(data.decode("utf-8", "replace"))

"""The requests that are kept one by one: all while they are few, then the slowest alone.

It takes what a recorder has timed, batch by batch. Once only the slowest are kept, a batch without
any of them costs one comparison.

Examples of failures: what was sent, and what came back. Kept on the failing path alone."""

import base64
import contextlib
from typing import Any
from urllib.parse import quote

import numpy as np

from campaigns.domain.metrics.kept_requests import COLUMNS, N_SLOWEST, PART_COLUMNS
from campaigns.domain.metrics.outcomes import Kind, printable, redacted, redacted_head
from workers.injector.attempt_row import INTENDED, START, STATUS
from workers.injector.connection import NS
from workers.injector.reply import BODY_BYTES, Undecodable, decode_body

_ABSENT = -(1 << 62)
_NOBODY_WAITS = 1 << 62
_KINDS = ("", *Kind)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
# A row: when it began (ns of the machine's clock), then the columns of the line, of which the kind
# is a number.
_FIELDS = ("start_ns", *COLUMNS)
_AT = {name: place for place, name in enumerate(_FIELDS)}
_START_NS, _NUMBER, _RESPONSE = _AT["start_ns"], _AT["number"], _AT["response_us"]


class RequestKeeper:
    """Those of all steps of one injector, or of one arm of it."""

    def __init__(self, most: int):
        """`most`: keep all of a run that has no more; 0: only the slowest."""
        self._most = most
        self._is_all = most > 0
        self._rows: list[np.ndarray] = []
        self._n = 0
        self._warm_up: list[np.ndarray] = []
        self._n_warm_up = 0
        self._keeps_warm_up = most > 0
        # What took no longer is not among the slowest.
        self._least_us = -1
        # Which one of all a request was: those that began before the oldest under way are counted.
        self._n_settled = 0
        self._starts: list[np.ndarray] = []
        self._failed_starts: list[int] = []

    def forget_warm_up(self) -> None:
        """Keep none of it: it is too long, or has no clock."""
        self._keeps_warm_up = False
        self._warm_up.clear()

    def note_starts(self, starts_ns: np.ndarray) -> None:
        """Of measured requests that have ended, before they are timed."""
        self._starts.append(starts_ns)

    def take(self, recorder: Any, rows: np.ndarray, durations_us: dict[str, np.ndarray]) -> None:
        """Ok requests of one second of a recorder, with their timings."""
        if rows[0, INTENDED] < recorder.zero_ns:
            if self._keeps_warm_up:
                self._take_warm_up(_table(recorder, rows, durations_us))
        elif self._is_all:
            self._add(_table(recorder, rows, durations_us))
        else:
            response_us = durations_us["response"]
            if response_us.max() > self._least_us:
                self._add(_table(recorder, rows, durations_us)[response_us > self._least_us])

    def take_failed(self, recorder: Any, failure: Any) -> None:
        late_us = failure.start // 1000 - failure.intended // 1000
        response_us = failure.end // 1000 - failure.intended // 1000
        is_warm_up = failure.intended < recorder.zero_ns
        if not is_warm_up:
            self._failed_starts.append(failure.start)
            if not self._is_all and response_us <= self._least_us:
                return
        row = np.full((1, len(_FIELDS)), _ABSENT, dtype=np.int64)
        start = np.array([failure.start], dtype=np.int64)
        values = {
            "start_ns": failure.start,
            "step": recorder.step,
            "start_us": int(recorder.offsets_us(start)[0]),
            "response_us": response_us,
            "lateness_us": late_us,
            "status": failure.status,
            "kind": _NUMBERS[failure.kind],
        }
        for name, value in values.items():
            row[0, _AT[name]] = value
        if not is_warm_up:
            self._add(row)
        elif self._keeps_warm_up:
            self._take_warm_up(row)

    def settle(self, oldest_ns: int) -> None:
        """Every request that began before has ended and been taken."""
        if self._is_all:
            return
        failed_starts = np.array(self._failed_starts, dtype=np.int64)
        self._failed_starts.clear()
        starts = np.concatenate([*self._starts, failed_starts])
        for rows in self._rows:
            begins = rows[:, _START_NS]
            has_number = (rows[:, _NUMBER] == _ABSENT) & (begins < oldest_ns)
            for place in np.flatnonzero(has_number).tolist():
                n_earlier = int((starts < begins[place]).sum())
                rows[place, _NUMBER] = self._n_settled + n_earlier + 1
        later = starts[starts >= oldest_ns]
        self._n_settled += len(starts) - len(later)
        self._starts = [later]

    def line(self) -> dict[str, Any] | None:
        """What the injector says of them at its end; None without any."""
        self.settle(_NOBODY_WAITS)
        rows = np.concatenate([_EMPTY, *self._rows])
        if self._is_all:
            rows = rows[np.argsort(rows[:, _START_NS], kind="stable")]
            rows[:, _NUMBER] = np.arange(1, len(rows) + 1)
        whole = np.concatenate([*self._warm_up, rows])
        return {"is_all": self._is_all, "columns": _columns(whole)} if len(whole) else None

    def _add(self, rows: np.ndarray) -> None:
        self._rows.append(rows)
        self._n += len(rows)
        if self._is_all and self._n <= self._most:
            return
        self._is_all = False
        if self._n >= N_SLOWEST:
            every = np.concatenate(self._rows)
            every = every[np.argsort(-every[:, _RESPONSE], kind="stable")][:N_SLOWEST]
            self._rows, self._n = [every], N_SLOWEST
            self._least_us = int(every[-1, _RESPONSE])

    def _take_warm_up(self, rows: np.ndarray) -> None:
        self._warm_up.append(rows)
        self._n_warm_up += len(rows)
        if self._n_warm_up > self._most:
            self.forget_warm_up()


_EMPTY = np.empty((0, len(_FIELDS)), dtype=np.int64)


def _table(recorder: Any, rows: np.ndarray, durations_us: dict[str, np.ndarray]) -> np.ndarray:
    table = np.full((len(rows), len(_FIELDS)), _ABSENT, dtype=np.int64)
    table[:, _START_NS] = rows[:, START]
    table[:, _AT["step"]] = recorder.step
    table[:, _AT["start_us"]] = recorder.offsets_us(rows[:, START])
    table[:, _RESPONSE] = durations_us["response"]
    table[:, _AT["status"]] = rows[:, STATUS]
    table[:, _AT["kind"]] = _NUMBERS[""]
    for column in PART_COLUMNS:
        part = column.removesuffix("_us")
        if part in durations_us:
            table[recorder.had_part(part, rows), _AT[column]] = durations_us[part]
    return table


def _columns(rows: np.ndarray) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name in COLUMNS:
        values = rows[:, _AT[name]].tolist()
        if name == "kind":
            columns[name] = [_KINDS[value] for value in values]
        elif name in PART_COLUMNS and max(values) == _ABSENT:
            continue
        elif name in {"number", *PART_COLUMNS}:
            columns[name] = [None if value == _ABSENT else value for value in values]
        else:
            columns[name] = values
    return columns


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
        self._examples: list[dict[str, Any]] = []
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
        self._examples.append(example)

    def clean(self, request: Any, detail: str) -> str:
        """The beginning of a detail, without secrets."""
        if not detail:
            return ""
        secrets = (*self.secrets, *request.secret_values())
        return redacted(printable(detail.rstrip(".")), secrets)[:_DETAIL_CHARACTERS]

    def take(self) -> list[dict[str, Any]]:
        """All that are not written out, now to be."""
        examples, self._examples = self._examples, []
        return examples


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
    reply = redacted_head(printable("\n".join(lines))[:_HEAD_BYTES], secrets)
    body = redacted(_text(body_of(reader, BODY_BYTES)), secrets)
    return f"{reply}\n\n{body}" if body else reply


def body_of(reader: Any, most_bytes: int) -> bytes:
    """Its beginning, decoded where that can be done."""
    if coding := reader.head.coding:
        with contextlib.suppress(Undecodable):
            return decode_body(reader.body_start, coding, most_bytes, is_whole=False)
    return reader.body_start[:most_bytes]


def _text(data: bytes) -> str:
    return printable(data.decode("utf-8", "replace"))

"""Which requests failed: by kind, status and step, how many, and when.

Read from the seconds' errors and statuses, so any injector's seconds will do: a status that the
plan does not expect has one kind of failure, and no other failure has such a status.

Examples of failures without what is secret: done before they leave the injector.

Header values and parameters whose names speak of credentials, tokens in the usual forms, and values
that are known to be secret become "[hidden]". Control characters are written as escapes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Self

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import MOST_DETAILS, Second, Total
from campaigns.domain.plan.plan import Plan, status_fits

DROPPED = "dropped"
_SWITCHING = "101"
_MOST_BINS = 128


@dataclass(slots=True)
class FailureRow:
    """Failures of one kind with one status (0: no whole reply) at one step.

    `first` and `last` are the seconds of first and last sight, None where only totals are known.
    `bins` has counts from second 0 on, `bin_s` seconds each. `details` counts what was said beyond
    the kind, the first MOST_DETAILS.
    """

    step: int
    kind: str
    status: int
    count: int = 0
    first: int | None = None
    last: int | None = None
    bin_s: int = 1
    bins: list[int] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=dict)

    def add(self, second: int, count: int) -> None:
        self.count += count
        self.first = second if self.first is None else min(self.first, second)
        self.last = second if self.last is None else max(self.last, second)
        while second // self.bin_s >= _MOST_BINS:
            self._widen()
        self._note(second // self.bin_s, count)

    def add_details(self, details: Mapping[str, int]) -> None:
        for detail, count in details.items():
            if detail in self.details or len(self.details) < MOST_DETAILS:
                self.details[detail] = self.details.get(detail, 0) + count

    def merge(self, other: Self) -> None:
        """Add another row's failures, such as those of another run."""
        self.count += other.count
        self.add_details(other.details)
        firsts = [each for each in (self.first, other.first) if each is not None]
        self.first = min(firsts, default=None)
        self.last = max(
            (each for each in (self.last, other.last) if each is not None), default=None
        )
        while self.bin_s < other.bin_s:
            self._widen()
        for number, count in enumerate(other.bins):
            self._note(number * other.bin_s // self.bin_s, count)

    def _note(self, number: int, count: int) -> None:
        self.bins += [0] * (number + 1 - len(self.bins))
        self.bins[number] += count

    def _widen(self) -> None:
        self.bin_s *= 2
        self.bins = [sum(self.bins[at : at + 2]) for at in range(0, len(self.bins), 2)]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@dataclass(slots=True)
class FailureTally:
    """Counts the failures of a run's measured seconds."""

    plan: Plan
    by_key: dict[tuple[int, str, int], FailureRow] = field(default_factory=dict)

    def add(self, second: Second) -> None:
        for (kind, status), count in counts_of(second, self.plan).items():
            key = (second.step, kind, status)
            row = self.by_key.setdefault(key, FailureRow(*key))
            row.add(second.second, count)
            if not status:
                row.add_details(second.details.get(kind, {}))

    @classmethod
    def of_rows(cls, plan: Plan, rows: Iterable[FailureRow]) -> Self:
        return cls(plan, {(row.step, row.kind, row.status): row for row in rows})

    @property
    def rows(self) -> list[FailureRow]:
        return most_frequent_first(self.by_key.values())


def counts_of(part: Second | Total, plan: Plan) -> dict[tuple[str, int], int]:
    """{(kind, status): how many} of one step's part; status 0 where there was no whole reply."""
    if not (part.errors or part.counters.get(DROPPED)):
        return {}
    counts = {(kind, 0): count for kind, count in part.errors.items() if count}
    if part.counters.get(DROPPED):
        counts[DROPPED, 0] = part.counters[DROPPED]
    refusal = Kind.STATUS_UNEXPECTED if plan.exchange is None else Kind.WS_UPGRADE_REJECTED
    expected = plan.expected_status if plan.exchange is None else (_SWITCHING,)
    unexpected = {
        int(status): count
        for status, count in part.statuses.items()
        if count and not status_fits(int(status), expected)
    }
    refused = counts.pop((refusal.value, 0), 0)
    rest = refused - sum(unexpected.values())
    if refused and rest >= 0:
        counts |= {(refusal.value, status): count for status, count in unexpected.items()}
        refused = rest
    if refused:
        counts[refusal.value, 0] = refused
    return counts


def rows_of_totals(steps: Sequence[Total], plan: Plan) -> list[FailureRow]:
    """The rows without their seconds, for summaries that were stored without them."""
    return most_frequent_first(
        FailureRow(step, kind, status, count)
        for step, total in enumerate(steps)
        for (kind, status), count in counts_of(total, plan).items()
    )


def most_frequent_first(rows: Iterable[FailureRow]) -> list[FailureRow]:
    return sorted(rows, key=lambda row: (-row.count, row.step, row.kind, row.status))


HIDDEN = "[hidden]"
_NAMES = (
    r"auth|token|secret|passw|pwd|api[-_]?key|session|cookie|credential|signature|csrf|xsrf|"
    r"jwt|access[-_]?key|otp|assertion"
)
_SECRET_HEADER = re.compile(_NAMES, re.IGNORECASE)
_COOKIE = re.compile(r"\s*([^=;\s]+)=[^;]*(.*)", re.DOTALL)
_WORD = r"[\w.\-\[\]%]*"
_PARAMETER = re.compile(
    rf"(?P<name>{_WORD}(?:{_NAMES}|\bsig\b|\bcode\b|\bkey\b){_WORD})(?P<is>\s*=\s*)[^&;\s\"'<>]+",
    re.IGNORECASE,
)
_JSON_MEMBER = re.compile(
    rf"(?P<name>[\"'][^\"'\n]{{0,80}}(?:{_NAMES})[^\"'\n]{{0,80}}[\"']\s*:\s*)"
    r"(?:\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[\w.+-]+)",
    re.IGNORECASE,
)
_TOKENS = (
    re.compile(r"(?P<kept>\b(?:bearer|basic|digest|negotiate)\s+)[\w.+/=~-]{6,}", re.IGNORECASE),
    re.compile(r"(?P<kept>)\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),
    re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)[^/\s@\"'<>]+(?=@)", re.IGNORECASE),
)
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa1-\ud7ff\ue000-\ufffd]")
_SHORT = 4
# What may be an address, with or without brackets and a port.
_ADDRESS = re.compile(r"\[?(?P<host>[\da-f]*[.:][\da-f.:]*[\da-f])\]?(?::\d+)?", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with secrets hidden; `secrets` are values that must not appear in it."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        text = _without(text, secret)
    text = _JSON_MEMBER.sub(lambda match: f'{match["name"]}"{HIDDEN}"', text)
    text = _PARAMETER.sub(lambda match: f"{match['name']}{match['is']}{HIDDEN}", text)
    for token in _TOKENS:
        text = token.sub(lambda match: match["kept"] + HIDDEN, text)
    return text


def redacted_header(name: str, value: str, secrets: Iterable[str] = ()) -> str:
    """The line of a header; of a cookie that is set its name stays."""
    if name.lower() == "set-cookie" and (cookie := _COOKIE.fullmatch(value)):
        return f"{name}: {cookie[1]}={HIDDEN}{cookie[2]}"
    if _SECRET_HEADER.search(name):
        return f"{name}: {HIDDEN}"
    return f"{name}: {redacted(value, secrets)}"


def redacted_head(text: str, secrets: Iterable[str] = ()) -> str:
    """A request line or status line and its headers, one a line."""
    first, *headers = text.split("\n")
    lines = [redacted(first, secrets)]
    for header in headers:
        name, colon, value = header.partition(":")
        lines.append(redacted_header(name, value.strip(), secrets) if colon else redacted(header))
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text as it can be stored and shown: control characters and the like as escapes."""
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))


def _without(text: str, secret: str) -> str:
    if not secret:
        return text
    if len(secret) >= _SHORT:
        return text.replace(secret, HIDDEN)
    # A short value as a part of words would take the sense from everything.
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)


def without_addresses(text: str, *hosts: str) -> str:
    """The text without these hosts and without literal addresses."""
    for host in hosts:
        text = re.sub(rf"(?<![\w.:-]){re.escape(host)}(?!\.?[\w-])", HIDDEN, text)
    return _ADDRESS.sub(_unless_an_address, text)


def _unless_an_address(match: re.Match[str]) -> str:
    host, _, port = match["host"].rpartition(":")
    for text in (match["host"], host if port.isdecimal() else ""):
        with suppress(ValueError):
            ip_address(text)
            return HIDDEN
    return match[0]

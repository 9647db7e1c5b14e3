"""A step of a plan: one request, and its valid content; which step a request sends; and what is
sent after a redirect.

The step of a run's k-th request does not depend on its sender: random orders are a function of the
seed and of k, so that injectors that share a run together send what one alone would have sent.

Redirects lead where they lead browsers and curl -L: 301 and 302 make a POST a GET, 303 makes every
method but HEAD a GET, 307 and 308 change nothing. Credentials stay with the plan's own origin.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import Any, Self
from urllib.parse import quote, urljoin, urlsplit

from campaigns.domain.plan.body import (
    FORM_TYPE,
    MAX_FILES_BYTES,
    Blob,
    FormField,
    are_pairs,
    file_bytes,
    form_bytes,
    multipart_bytes,
    read_file,
    read_form,
    read_multipart,
)
from campaigns.domain.plan.fields import choice, listed, read_scalars, whole
from campaigns.domain.plan.reply_rules import TOKEN, Extract, ReplyCheck, read_checks, read_extracts
from campaigns.domain.plan.target import DEFAULT_PORTS, host_fault
from campaigns.domain.typed_text import JsonReader, clean_name, is_number

# The usual ones; any other token of RFC 9110 is sent as well.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_METHOD = 40
# Idempotent methods, as HTTP defines them.
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
MAX_STEPS = 50
MAX_PATH_LENGTH = 8000
MAX_HEADERS = 1000
MAX_BODY_BYTES = 1024 * 1024
_HOST_VALUE = re.compile(r"[!-~]+")
# The injector writes these itself; a second copy would make the request ambiguous.
RESERVED_HEADERS = frozenset(
    {"content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)


# What a step may have as its body, one of them.
BODIES = ("body", "body_file", "form", "multipart")


@dataclass(frozen=True, slots=True)
class Step:
    """Its body is a text, a file of any bytes, form fields, or fields with files (`multipart`)."""

    label: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    extract: tuple[Extract, ...] = ()
    checks: tuple[ReplyCheck, ...] = ()
    body_file: Blob | None = None
    form: tuple[tuple[str, str], ...] = ()
    multipart: tuple[FormField, ...] = ()

    @property
    def has_body(self) -> bool:
        return bool(self.body or self.has_more_body)

    @property
    def has_more_body(self) -> bool:
        """Whether its body is more than a text."""
        return bool(self.body_file or self.form or self.multipart)

    @property
    def files(self) -> tuple[Blob, ...]:
        own = (self.body_file, *(part.file for part in self.multipart))
        return tuple(blob for blob in own if blob is not None)

    @property
    def content(self) -> tuple[bytes, str]:
        """(the body, the Content-Type that it implies or ""). Raises ValueError where a file's
        bytes are not at hand."""
        if self.form:
            return form_bytes(self.form), FORM_TYPE
        if self.multipart:
            return multipart_bytes(self.multipart)
        file = self.body_file
        return (self.body.encode() if file is None else file_bytes(file)), ""

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "method": self.method,
            "path": self.path,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
            "extract": [each.to_json() for each in self.extract],
            **({"checks": [each.to_json() for each in self.checks]} if self.checks else {}),
            **self.more_body_json(),
        }

    def more_body_json(self) -> dict[str, Any]:
        """A body that is no text; {} without one, as injectors before it know no such field."""
        if self.body_file is not None:
            return {"body_file": self.body_file.to_json()}
        if self.form:
            return {"form": [list(pair) for pair in self.form]}
        return {"multipart": [part.to_json() for part in self.multipart]} if self.multipart else {}


def read_method(text: str) -> str:
    """As it is sent: the usual methods in capitals, others as they are typed. Raises ValueError."""
    if text.upper() in METHODS:
        return text.upper()
    if not TOKEN.fullmatch(text) or len(text) > MAX_METHOD:
        raise ValueError(f"Write a method such as GET or PURGE, at most {MAX_METHOD} characters.")
    if text.upper() == "CONNECT":
        raise ValueError("CONNECT asks a proxy for a tunnel; it cannot be measured.")
    return text


def own_host(headers: Iterable[tuple[str, str]]) -> str:
    """What a request names in place of its endpoint's host; "" without a Host header."""
    return next((value for name, value in headers if name.lower() == "host"), "")


def default_label(method: str, path: str) -> str:
    """The name of a step that has none. Every reader of a result sees it, so it has no query."""
    return f"{method} {path.partition('?')[0]}"[:100]


def told_apart(labels: Iterable[str]) -> tuple[str, ...]:
    """Equal labels with a number: GET /search, GET /search (2)."""
    counts: Counter[str] = Counter()
    apart = []
    for label in labels:
        counts[label] += 1
        apart.append(f"{label} ({counts[label]})" if counts[label] > 1 else label)
    return tuple(apart)


def read_steps(reader: JsonReader) -> tuple[Step, ...]:
    raw = reader.data.get("steps")
    if not isinstance(raw, list) or not raw:
        reader.fail("steps", "A plan needs at least one step.")
        return ()
    if len(raw) > MAX_STEPS:
        reader.fail("steps", f"At most {MAX_STEPS} steps.")
        return ()
    steps = tuple(
        read_step(JsonReader(item, f"steps.{index}", reader.errors))
        for index, item in enumerate(raw)
    )
    if sum(blob.size_bytes for step in steps for blob in step.files) > MAX_FILES_BYTES:
        reader.fail("steps", f"All files together have at most {MAX_FILES_BYTES:,} bytes.")
    return steps


def read_step(reader: JsonReader) -> Step:
    method = reader.text("method", "GET")
    try:
        method = read_method(method)
    except ValueError as fault:
        reader.fail("method", str(fault))
    path = reader.text("path", "/", limit=MAX_PATH_LENGTH)
    if fault := path_fault(path):
        reader.fail("path", fault)
    body = reader.text("body", "", limit=MAX_BODY_BYTES)
    label = clean_name(reader.text("label", "", limit=100))
    if not label or label == f"{method} {path}"[:100]:
        label = default_label(method, path)  # without the query, which may have a key in it
    reader.refuse_unknown("label", "method", "path", "headers", *BODIES, "extract", "checks")
    if sum(bool(reader.data.get(name)) for name in BODIES) > 1:
        reader.fail("body", f"Write one of {', '.join(BODIES)}.")
    more = {"form": read_form(reader), "multipart": read_multipart(reader)}
    more["body_file"] = read_file(reader, "body_file")
    headers, extracts = read_headers(reader), read_extracts(reader)
    return Step(label, method, path, headers, body, extracts, read_checks(reader), **more)


def path_fault(path: str) -> str | None:
    """What is wrong with a path, or None."""
    if not path.startswith("/"):
        return "A path begins with a slash, such as /login/."
    if not path.isascii() or any(ch <= " " or ch == "\x7f" for ch in path):
        return "Only printable ASCII without spaces; write others as %20, %C3%A9 …"
    return None


def read_headers(reader: JsonReader) -> tuple[tuple[str, str], ...]:
    raw = reader.data.get("headers", [])
    if not are_pairs(raw):
        reader.fail("headers", "Write headers as pairs of name and value.")
        return ()
    if len(raw) > MAX_HEADERS:
        reader.fail("headers", f"Write at most {MAX_HEADERS} headers.")
        return ()
    for name, value in raw:
        sentence = header_fault(name, value)
        if sentence:
            reader.fail("headers", sentence)
    if sum(name.lower() == "host" for name, _ in raw) > 1:
        reader.fail("headers", "Write Host once.")
    return tuple((name, value.strip()) for name, value in raw)


def header_fault(name: str, value: str) -> str | None:
    """What is wrong with one header, or None."""
    if not TOKEN.fullmatch(name):
        return f"{name!r} is not a header name; write it as in Content-Type."
    if name.lower() in RESERVED_HEADERS:
        return f"{name} is set by the injector; leave it out."
    if any((ord(ch) < 32 and ch != "\t") or ord(ch) == 127 or ord(ch) > 255 for ch in value):
        return f"The value of {name} contains a character that is not allowed in headers."
    if name.lower() == "host" and not _HOST_VALUE.fullmatch(value.strip()):
        return f"{value!r} is no value of Host; write it as in shop.example or shop.example:8443."
    return None


MAX_BLOCK_REPEAT = 10_000_000
MAX_WEIGHT = 1_000_000
_64_BITS = (1 << 64) - 1


class OrderKind(StrEnum):
    ROUND_ROBIN = "round_robin"
    BLOCKS = "blocks"
    RANDOM = "random"
    WEIGHTED = "weighted"


def weights_of_text(text: str) -> list[float | str]:
    """3, 1, 1 as numbers; other text is kept for the plan to reject."""
    weights: list[float | str] = []
    for word in filter(str.strip, text.split(",")):
        try:
            weights.append(float(word))
        except ValueError:
            weights.append(word)
    return weights


@dataclass(frozen=True, slots=True)
class StepOrder:
    """`block_repeat`: requests of a step before the next one's. `weights`: one for each step."""

    # fmt: off
    kind: OrderKind = choice("Order", OrderKind.ROUND_ROBIN,
        {OrderKind.ROUND_ROBIN: "In turns", OrderKind.BLOCKS: "In blocks",
        OrderKind.RANDOM: "At random", OrderKind.WEIGHTED: "By weight"},
        help="Which step the next request sends: in turns, in blocks of one step, or drawn by the "
        "recorded seed, evenly or by weight.",
        detail="Each works with one step too.",
        option="--order",
        option_help="which request comes next: in turns, in blocks, drawn by --seed, or drawn by "
        "--weights")
    block_repeat: int = whole("Requests per block", 1, low=1, high=MAX_BLOCK_REPEAT, example=1000,
        used_by={OrderKind.BLOCKS},
        help="Requests of one step before the next one; for the order in blocks.",
        option="--block-repeat N")
    weights: tuple[float, ...] = listed("Weight", f"numbers from 0 to {MAX_WEIGHT:,}, []",
        help="A weight for each step, not all 0; for the order by weight.",
        from_text=weights_of_text,
        option="--weights W,W")
    # fmt: on

    def step_at(self, number: int, n_steps: int, seed: int) -> int:
        """The step of request `number` of the run, which may be negative in the warm-up."""
        match self.kind:
            case OrderKind.BLOCKS:
                return number // self.block_repeat % n_steps
            case OrderKind.RANDOM:
                return draw(seed, number) * n_steps >> 64
            case OrderKind.WEIGHTED:
                bounds = list(accumulate(self.weights))
                return min(
                    bisect_right(bounds, draw(seed, number) / (1 << 64) * bounds[-1]), n_steps - 1
                )
        return number % n_steps


IN_TURNS = StepOrder()


def draw(seed: int, number: int) -> int:
    """The `number`-th of the evenly spread 64-bit numbers of a seed (SplitMix64)."""
    bits = (seed * 0xD1342543DE82EF95 + (number + 1) * 0x9E3779B97F4A7C15) & _64_BITS
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _64_BITS
    return bits ^ bits >> 31


def read_order(reader: JsonReader, n_steps: int) -> StepOrder:
    order = StepOrder(**read_scalars(reader, StepOrder), weights=_read_weights(reader))
    is_weighted, weights = order.kind == OrderKind.WEIGHTED, order.weights
    if is_weighted and not reader.errors and len(weights) != n_steps:
        reader.fail("weights", f"Enter a weight for each of the {n_steps} steps.")
    if not is_weighted and weights:
        reader.fail("weights", f"The order {order.kind} does not use weights; leave them empty.")
    if order.kind != OrderKind.BLOCKS and order.block_repeat != 1:
        reader.fail("block_repeat", f"The order {order.kind} has no blocks; leave it at 1.")
    return order


def _read_weights(reader: JsonReader) -> tuple[float, ...]:
    raw = reader.data.get("weights") or []
    if not isinstance(raw, list | tuple):
        reader.fail("weights", "Write a list of numbers, one for each step.")
        return ()
    wrong = [
        place for place, each in enumerate(raw) if not (is_number(each) and 0 <= each <= MAX_WEIGHT)
    ]
    for place in wrong:
        reader.fail(f"weights.{place}", f"Write a number from 0 to {MAX_WEIGHT:,}.")
    if not wrong and raw and not any(raw):
        reader.fail("weights", "Give at least one step a weight above 0.")
    return () if wrong else tuple(float(each) for each in raw)


MOST_REDIRECTS = 10
STATUSES = frozenset({301, 302, 303, 307, 308})
# What a URL may have as it is; a Location may have any byte.
_SAFE = "!#$%&'()*+,/:;=?@[]~|^`{}\"<>\\"
_OF_A_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
# They name or prove who asks, to the plan's own origin.
_FOR_ITS_ORIGIN = frozenset({"authorization", "cookie", "host", "proxy-authorization"})


class Redirects(StrEnum):
    OFF = "off"
    SAME_ORIGIN = "same_origin"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Url:
    """Where a request goes; `host` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    path: str = "/"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Without the port if it is the scheme's default."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    def __str__(self) -> str:
        """The origin: paths may hold secrets, and there are many."""
        return f"{self.scheme}://{self.authority}"

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises ValueError with what is wrong."""
        parts = urlsplit(url)
        if parts.scheme not in DEFAULT_PORTS:
            raise ValueError(f"the scheme {parts.scheme[:20]!r} is not followed")
        host = (parts.hostname or "").lower()
        if host_fault(host):
            raise ValueError(f"{host[:100]!r} is no host that load may go to")
        port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        if not port:
            raise ValueError("there is no port 0")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if len(path) > MAX_PATH_LENGTH:
            raise ValueError(f"a path of more than {MAX_PATH_LENGTH:,} characters")
        return cls(parts.scheme, host, port, path)

    def led_to(self, location: str) -> Self:
        """The place that a Location header (ISO 8859-1) leads to from here, without a fragment.
        Raises ValueError with what is wrong."""
        reference = quote(location.strip(" \t").encode("latin-1"), safe=_SAFE)
        return type(self).parse(urljoin(f"{self}{self.path}", reference))


def step_after(step: Step, status: int, path: str) -> Step:
    """What is sent after this redirect of a step, to its own origin."""
    is_get = status == 303 and step.method != "HEAD"
    if not (is_get or (status in {301, 302} and step.method == "POST")):
        return replace(step, path=path)
    headers = tuple(pair for pair in step.headers if pair[0].lower() not in _OF_A_BODY)
    bare = {"body": "", "body_file": None, "form": (), "multipart": ()}
    return replace(step, method="GET", path=path, headers=headers, **bare)


def without_credentials(step: Step) -> Step:
    """The same for another origin."""
    headers = tuple(pair for pair in step.headers if pair[0].lower() not in _FOR_ITS_ORIGIN)
    return replace(step, headers=headers)

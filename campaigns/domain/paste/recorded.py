"""Requests as they were recorded: raw, as they are on the wire (a request line, headers, an empty
line, a body), and a HAR file of a browser or a proxy. And a .http or .rest file of an editor:
requests with ### between them, names behind it, variables as in @host = shop.example, which
requests use as {{host}}."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from campaigns.domain.paste.draft import MAX_REQUESTS, Omissions, RequestDraft
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

# Without its version, as in files of editors, the target alone shows what it is.
BEGINS = re.compile(
    r"([A-Za-z!#$%&'*+.^_`|~0-9-]{1,40}) (?:(\S+) HTTP/(\d(?:\.\d)?)|((?:/|https?://)\S*))"
    r"[ \t]*(?:\n|\Z)"
)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
_RAW_VERSIONS = {"1.0": "1.0", "2": "2", "2.0": "2"}
_HTTP_3 = "HTTP/3 (sent as HTTP/1.1)"
_HAR_VERSIONS = {"http/2": "2", "http/2.0": "2", "h2": "2", "http/1.0": "1.0"}


def read_raw(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    head, _, body = text.partition("\n\n")
    line, *lines = head.splitlines()
    method, target, version, alone = BEGINS.match(line).groups()
    target, version = (target, version) if alone is None else (alone, "")
    return [read_message((method, target, version), lines, body, omissions).request(omissions)]


def read_message(
    line: tuple[str, str, str], headers: Iterable[str], body: str, omissions: Omissions
) -> RequestDraft:
    """`line`: method, target, and version or "". Raises NotUnderstood."""
    method, target, version = line
    draft = RequestDraft(method=method, http_version=_RAW_VERSIONS.get(version, ""))
    draft.keeps_signs = True
    if version == "3":
        omissions.other(_HTTP_3)
    for each in headers:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            raise NotUnderstood(f"{shortened(each)} is not a header; write it as in Name: value.")
        draft.headers.append((name.strip(), value.strip()))
    if "chunked" in draft.value_of("transfer-encoding").lower():
        # Two signs end a line on the wire. A paste may have one, also where both are content.
        for data, end in ((body.encode(), b"\n"), (body.replace("\n", "\r\n").encode(), b"\r\n")):
            with suppress(ValueError):
                body = b"".join(_chunks(data, end)).decode()
                break
        else:
            raise NotUnderstood(
                "The chunks of the body do not have the lengths that stand before them."
            )
    draft.body = body if method != "GET" or body.strip() else ""
    if body.endswith("\n") and draft.value_of("content-length"):
        draft.body = body[:-1]  # an editor's last line end
    draft.url = target if "://" in target else _url(draft, target, version)
    return draft


def _chunks(data: bytes, end: bytes) -> Iterator[bytes]:
    """Raises ValueError."""
    at = 0
    while at < len(data):
        size = _CHUNK_SIZE.match(data, at)
        if size is None:
            raise ValueError("no length")
        n_bytes = int(size[1], 16)
        begin = size.end() + len(end)
        at = begin + n_bytes + len(end)
        if n_bytes == 0:
            return
        is_whole = begin + n_bytes <= len(data) and data[size.end() : begin] == end
        if not is_whole or data[begin + n_bytes : at] not in (end, b""):
            raise ValueError("another length")
        yield data[begin : begin + n_bytes]


def _url(draft: RequestDraft, target: str, version: str) -> str:
    host = draft.value_of("host")
    if not host:
        raise NotUnderstood("The request names no host. Add a line such as Host: shop.example.")
    draft.headers = [pair for pair in draft.headers if pair[0].lower() != "host"]
    # What came from a browser says by which scheme; HTTP/2 and 3 are seldom without TLS.
    origins = draft.value_of("origin"), draft.value_of("referer")
    is_https = version[:1] in {"2", "3"} or any(
        each.lower().startswith(f"https://{host.lower()}") for each in origins
    )
    scheme = "https" if is_https or host.endswith((":443", ":8443")) else "http"
    return f"{scheme}://{host}{target}"


def read_har(data: dict[str, Any], omissions: Omissions) -> list[TypedRequest]:
    """The requests of its entries in their order. Raises NotUnderstood."""
    entries = (data.get("log") or {}).get("entries")
    if not isinstance(entries, list) or not entries:
        raise NotUnderstood("This HAR file has no entries.")
    requests, n_others = [], 0
    for entry in entries:
        request = entry.get("request") if isinstance(entry, dict) else None
        if not isinstance(request, dict):
            raise NotUnderstood("This HAR file has an entry without a request.")
        url, method = str(request.get("url", "")), str(request.get("method", ""))
        if not url.startswith(("http://", "https://")) or method == "CONNECT":
            n_others += 1  # data:, blob:, ws:, chrome-extension:
            continue
        requests.append(_draft(request, omissions).request(omissions))
    if n_others:
        entries = "1 entry" if n_others == 1 else f"{n_others} entries"
        omissions.other(f"{entries} of other protocols than http and https")
    if not requests:
        raise NotUnderstood("This HAR file has no request of http or https.")
    return requests


def _draft(request: dict[str, Any], omissions: Omissions) -> RequestDraft:
    version = str(request.get("httpVersion", "")).lower()
    if version.startswith(("h3", "http/3")):
        omissions.other(_HTTP_3)
    draft = RequestDraft(
        str(request["url"]),
        method=str(request.get("method") or "GET"),
        headers=_pairs(request.get("headers")),
        http_version=_HAR_VERSIONS.get(version, ""),
        keeps_signs=True,
    )
    data = request.get("postData")
    if not isinstance(data, dict):
        return draft
    kind, text, params = str(data.get("mimeType", "")), data.get("text"), data.get("params")
    if kind and not draft.value_of("content-type"):
        draft.headers.append(("Content-Type", kind))
    if data.get("encoding") == "base64" and isinstance(text, str):
        draft.body_file = text
    elif isinstance(text, str) and text:
        draft.body = text
    elif params and kind.startswith("multipart/form-data"):
        for row in filter(lambda each: isinstance(each, dict), params):
            words = (str(row.get(key) or "") for key in ("name", "value", "fileName"))
            draft.add_part(*words, str(row.get("contentType") or ""), omissions)
    elif params:
        draft.form = [[name, value] for name, value in _pairs(params)]
    return draft


def _pairs(rows: Any) -> list[tuple[str, str]]:
    """[{"name", "value"}, …] as pairs."""
    entries: Iterable[Any] = rows if isinstance(rows, list) else ()
    return [
        (str(row.get("name", "")), str(row.get("value") or ""))
        for row in entries
        if isinstance(row, dict)
    ]


_LINE = r"(?:[A-Z]{3,20}[ \t]+)?(?:(?:https?|wss?)://|/|\{\{)\S[^\n]*(?:\n|\Z)"
_COMMENT = r"(?:#(?!##)|//|@[\w.-]+[ \t]*=)"
_BEFORE = rf"(?:[ \t]*(?:{_COMMENT}[^\n]*)?\n)"
_FIRST = re.compile(rf"(?:{_BEFORE}|###[^\n]*\n|<[ \t]*\{{%)*+(?:{_LINE}|[^\n]*%\}})")
_TOLD = re.compile(
    rf"(?:###|{_COMMENT})[^\n]*\n|<[ \t]*\{{%|[^\n]*\{{\{{|[^\n]*(?:\n(?!###)[^\n]*)*?\n###"
)
# A heading of a text in a body is no separator: a request follows one.
_SEPARATOR = re.compile(rf"^###[ \t]*([^\n]*)\n(?={_BEFORE}*+(?:{_LINE}|###|\Z))", re.M)
_VARIABLE = re.compile(r"@([\w.-]+)[ \t]*=[ \t]*(.*)")
_NAME = re.compile(r"(?:#|//)[ \t]*@name[ \t]*=?[ \t]*(\S.*)")
_USE = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_SCRIPT = re.compile(r"^[<>][ \t]*\{%", re.M)
_STORED = re.compile(r"^(?:<>|>>?!?)[ \t]+\S[^\n]*\n?", re.M)
_BODY_FILE = re.compile(r"<(?:@[\w-]*)?[ \t]+(\S[^\n]*)")
_OTHER_PROTOCOLS = {"WEBSOCKET", "GRPC", "RSOCKET", "GRAPHQL"}
_DEEPEST = 10
_MOST_FILLED = 4_000_000  # characters, of all requests together


def is_http_file(text: str) -> bool:
    """Whether it is more than one raw request."""
    return bool(_FIRST.match(text) and _TOLD.match(text))


@dataclass
class _Block:
    """What is between two separators."""

    name: str
    lines: list[str] = field(default_factory=list)
    body: str = ""


class _Variables:
    """Those of the file, and how much they may still add to it."""

    def __init__(self, omissions: Omissions) -> None:
        self.values: dict[str, str] = {}
        self._omissions = omissions
        self._n_left = _MOST_FILLED

    def fill(self, text: str) -> str:
        """With the values in their places; what is defined elsewhere is noted."""
        for _ in range(_DEEPEST):
            uses = [use for use in _USE.finditer(text) if use[1].strip() in self.values]
            if not uses:
                break
            self._n_left -= sum(len(self.values[use[1].strip()]) for use in uses)
            if self._n_left < 0:
                raise NotUnderstood("The variables of this file make its requests too long.")
            text = _USE.sub(lambda use: self.values.get(use[1].strip(), use[0]), text)
        for use in _USE.finditer(text):
            self._omissions.other(f"the value of {shortened(use[0])}")
        return text


def read_http_file(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    text, *scripts = _SCRIPT.split(text)
    if scripts:
        omissions.other("its scripts")
        text += "".join(each.partition("%}")[2] for each in scripts)
    variables = _Variables(omissions)
    blocks = [_block(name, each, variables) for name, each in _split(text)]
    requests = [_request(each, variables, omissions) for each in blocks if each.lines]
    if not any(requests):
        raise NotUnderstood("This file has no request. Write one as in GET https://shop.example/.")
    return [each for each in requests if each]


def _split(text: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each part."""
    name, at = "", 0
    for number, mark in enumerate(_SEPARATOR.finditer(text)):
        if number > MAX_REQUESTS:
            raise NotUnderstood(f"This file has more than {MAX_REQUESTS:,} requests.")
        yield name, text[at : mark.start()]
        name, at = mark[1].strip(), mark.end()
    yield name, re.sub(r"(?:^|\n)###[^\n]*\Z", "", text[at:])


def _block(name: str, text: str, variables: _Variables) -> _Block:
    """Its request line and headers, and its body; what is defined before it joins `variables`."""
    block = _Block(name)
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip():
            if block.lines:
                break
        elif variable := _VARIABLE.fullmatch(line.strip()):
            variables.values[variable[1]] = variable[2].strip()
        elif line.lstrip().startswith(("#", "//")):
            name_line = _NAME.fullmatch(line.strip())
            block.name = block.name or (name_line[1] if name_line else "")
        elif line[0].isspace() and len(block.lines) == 1:
            block.lines[0] += line.strip()  # a query on lines of its own
        else:
            block.lines.append(line)
    block.body = "\n".join(lines).rstrip("\n")
    return block


def _request(block: _Block, variables: _Variables, omissions: Omissions) -> TypedRequest | None:
    words = variables.fill(block.lines[0]).split()
    version = words.pop().removeprefix("HTTP/") if words[-1].startswith("HTTP/") else ""
    method = words.pop(0) if len(words) > 1 and words[0].isalpha() else ""
    if method in _OTHER_PROTOCOLS:
        omissions.other(f"the {method} request")
        return None
    body, n_stored = _STORED.subn("", block.body)
    if n_stored:
        omissions.other("where replies are stored")
    body_file = _BODY_FILE.fullmatch(body.strip())
    headers = [variables.fill(line) for line in block.lines[1:]]
    text = "" if body_file else variables.fill(body)
    method = method or ("POST" if body_file or text else "GET")
    draft = read_message((method, "%20".join(words), version), headers, text, omissions)
    if body_file:
        draft.set_file(draft.read_file(variables.fill(body_file[1]), omissions))
    draft.label = block.name[:100]
    _read_user(draft)
    return draft.request(omissions)


def _read_user(draft: RequestDraft) -> None:
    """Authorization: Basic ann:secret or Basic ann secret, which editors encode."""
    for pair in draft.headers:
        kind, _, words = pair[1].partition(" ")
        if pair[0].lower() == "authorization" and kind.lower() == "basic":
            user, sign, password = words.strip().partition(":" if ":" in words else " ")
            if sign:
                draft.headers.remove(pair)
                draft.user = f"{user}:{password.strip()}"
            return

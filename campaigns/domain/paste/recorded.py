"""Requests as they were recorded: raw, as they are on the wire (a request line, headers, an empty
line, a body), and a HAR file of a browser or a proxy."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from campaigns.domain.paste.draft import Omissions, RequestDraft
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
    method, *versioned, alone = BEGINS.match(line).groups()
    target, version = versioned if alone is None else (alone, "")
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
        body = _unchunked(body)
    draft.body = body if method != "GET" or body.strip() else ""
    if body.endswith("\n") and draft.value_of("content-length"):
        draft.body = body[:-1]  # an editor's last line end
    draft.url = target if "://" in target else _url(draft, target, version)
    return draft


def _unchunked(body: str) -> str:
    """Raises NotUnderstood."""
    # Two signs end a line on the wire. A paste may have one, also where they are of the content.
    for data, end in ((body.encode(), b"\n"), (body.replace("\n", "\r\n").encode(), b"\r\n")):
        with suppress(ValueError):
            return b"".join(_chunks(data, end)).decode()
    raise NotUnderstood("The chunks of the body do not have the lengths that stand before them.")


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
    posted = request.get("postData")
    if isinstance(posted, dict):
        _write_body(draft, posted, omissions)
    return draft


def _write_body(draft: RequestDraft, posted: dict[str, Any], omissions: Omissions) -> None:
    kind, text, params = str(posted.get("mimeType", "")), posted.get("text"), posted.get("params")
    if kind and not draft.value_of("content-type"):
        draft.headers.append(("Content-Type", kind))
    if posted.get("encoding") == "base64" and isinstance(text, str):
        draft.body_file = text
    elif isinstance(text, str) and text:
        draft.body = text
    elif params and kind.startswith("multipart/form-data"):
        for row in filter(lambda each: isinstance(each, dict), params):
            words = (str(row.get(key) or "") for key in ("name", "value", "fileName"))
            draft.add_part(*words, str(row.get("contentType") or ""), omissions)
    elif params:
        draft.form = [[name, value] for name, value in _pairs(params)]


def _pairs(rows: Any) -> list[tuple[str, str]]:
    """[{"name", "value"}, …] as pairs."""
    entries: Iterable[Any] = rows if isinstance(rows, list) else ()
    return [
        (str(row.get("name", "")), str(row.get("value") or ""))
        for row in entries
        if isinstance(row, dict)
    ]

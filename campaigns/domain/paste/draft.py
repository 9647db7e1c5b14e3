"""What the readers of all dialects collect of a request, and how it becomes one that is sent."""

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email import message_from_string
from typing import Any

from campaigns.domain.plan.reply_rules import TOKEN
from campaigns.domain.plan.step import MAX_BODY_BYTES, RESERVED_HEADERS, read_method
from campaigns.domain.plan.typed_request import (
    NotUnderstood,
    TypedRequest,
    read_address,
    shortened,
    with_basic,
    with_bearer,
)
from campaigns.domain.typed_text import whole

MAX_REQUESTS = 2000
# Of a connection, not of a request; what the injector writes anew goes without a word.
_HOP_BY_HOP = (RESERVED_HEADERS - {"content-length"}) | {
    *("keep-alive", "proxy-connection", "http2-settings", "proxy-authorization"),
}


class Omissions:
    """What a paste says and a plan does not: told in one note. `files`: what came with it, by the
    names that it has for files of the user's machine; `file_names`: all of these names."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.files = files or {}
        self.file_names: dict[str, None] = {}
        self._headers: dict[str, None] = {}
        self._options: dict[str, None] = {}
        self._others: dict[str, None] = {}

    def header(self, name: str) -> None:
        self._headers[name] = None

    def option(self, name: str) -> None:
        self._options[name] = None

    def other(self, words: str) -> None:
        """As in: "what follows the pipe"."""
        self._others[words] = None

    @property
    def note(self) -> str:
        """Left out: the headers Connection and TE, the option -o, what follows the pipe."""
        words = [
            *([_naming("header", list(self._headers))] if self._headers else []),
            *([_naming("option", list(self._options))] if self._options else []),
            *self._others,
        ]
        return f"Left out: {', '.join(words)}." if words else ""


def _naming(noun: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"the {noun} {names[0]}"
    return f"the {noun}s {', '.join(names[:-1])} and {names[-1]}"


@dataclass
class RequestDraft:
    """`form` and `multipart` as a step has them. `pinned`: what the host is pinned to. `redirects`:
    "all" where they are followed. `keeps_signs`: the address is sent as it is, not as a browser
    would write it."""

    url: str = ""
    method: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""
    body_file: str = ""
    form: list[list[str]] = field(default_factory=list)
    multipart: list[dict[str, Any]] = field(default_factory=list)
    user: str | None = None
    bearer: str = ""
    is_insecure: bool = False
    http_version: str = ""
    pinned: str = ""
    redirects: str = ""
    missing: list[str] = field(default_factory=list)
    label: str = ""
    keeps_signs: bool = False

    @property
    def has_body(self) -> bool:
        return bool(self.body or self.body_file or self.form or self.multipart)

    def value_of(self, name: str) -> str:
        """A header's value, the last one's; "" without."""
        return next((v for n, v in reversed(self.headers) if n.lower() == name), "")

    def read_file(self, name: str, omissions: Omissions) -> bytes:
        """A file of the user's machine; b"" where it did not come with the paste."""
        omissions.file_names[name] = None
        if name not in omissions.files:
            self.missing.append(name)
        return omissions.files.get(name, b"")

    def set_file(self, data: bytes) -> None:
        """A body of a file: a text where it is one that a plan puts no values into."""
        if b"${" not in data and b"\0" not in data and len(data) <= MAX_BODY_BYTES:
            with suppress(UnicodeDecodeError):
                self.body = data.decode()
        if not self.body:
            self.body_file = base64.b64encode(data).decode()

    def add_file(self, name: str, data: bytes, filename: str, content_type: str) -> None:
        """A file as a field of multipart/form-data, by the last part of its path."""
        filename = re.split(r"[/\\]", filename)[-1]
        kind = {"content_type": content_type} if content_type else {}
        file = base64.b64encode(data).decode()
        self.multipart.append({"name": name, "file": file, "filename": filename, **kind})

    def request(self, omissions: Omissions) -> TypedRequest:
        """Raises NotUnderstood."""
        self._make_storable()
        url = self.url.strip().replace(" ", "%20")
        request = read_address(url, keeps_signs=self.keeps_signs)
        kind = self.value_of("content-type")
        if self.body and kind.lower().startswith("multipart/form-data"):
            self._read_parts(kind, omissions)
        try:
            method = read_method(
                self.method or ("POST" if self.has_body or self.missing else "GET")
            )
        except ValueError as fault:
            raise NotUnderstood(f"{shortened(self.method)} is not a method. {fault}") from None
        request = replace(
            request,
            method=method,
            headers=tuple(self._headers_to_send(request, omissions)),
            body=self.body,
            body_file=self.body_file,
            form=tuple((name, value) for name, value in self.form),
            multipart=tuple(self.multipart),
            is_insecure=self.is_insecure,
            http_version=self.http_version,
            pinned=self.pinned,
            redirects=self.redirects and "all",
            missing=tuple(self.missing),
            label=self.label,
        )
        return self._with_credentials(request)

    def _make_storable(self) -> None:
        """Without halves of characters; a body with NUL, as recorded ones may be, is a file."""
        self.url, self.body = whole(self.url), whole(self.body)
        self.headers = [(name, whole(value)) for name, value in self.headers]
        self.form = [[whole(name), whole(value)] for name, value in self.form]
        self.multipart = [
            {key: whole(text) for key, text in part.items()} for part in self.multipart
        ]
        texts = [self.url, *(text for pair in self.form for text in pair)]
        texts += [text for part in self.multipart for text in part.values()]
        if any("\0" in text for text in texts):
            raise NotUnderstood("The request contains a character that cannot be sent (NUL).")
        if "\0" in self.body:
            self.body_file = base64.b64encode(self.body.encode()).decode()
            self.body = ""

    def _read_parts(self, kind: str, omissions: Omissions) -> None:
        """The fields of a multipart body, whose line ends few pastes keep as they were sent."""
        parts = message_from_string(f"Content-Type: {kind}\n\n{self.body}").get_payload()
        for part in parts if isinstance(parts, list) else ():
            name = str(part.get_param("name", "", header="content-disposition"))
            value, filename = str(part.get_payload()), part.get_filename("")
            self.add_part(name, value, filename, part.get("content-type", ""), omissions)
        if self.multipart:
            self.body = ""

    def add_part(
        self, name: str, value: str, filename: str, content_type: str, omissions: Omissions
    ) -> None:
        """A field of multipart/form-data; a file without its content is left out."""
        if filename and not value:
            omissions.other(f"the file {shortened(filename)}, whose content is not there")
        elif filename:
            self.add_file(name, value.encode(), filename, content_type)
        else:
            kind = {"content_type": content_type} if content_type else {}
            self.multipart.append({"name": name, "value": value, **kind})

    def _headers_to_send(
        self, request: TypedRequest, omissions: Omissions
    ) -> list[tuple[str, str]]:
        headers: list[tuple[str, str]] = []
        own = {request.host, f"{request.host}:{request.port}"}
        for name, value in self.headers:
            lower = name.lower()
            if any(ch > "\xff" for ch in value):  # as terminals and browsers' consoles send it
                value = value.encode().decode("latin-1")
            is_sendable = name.startswith(":") or TOKEN.fullmatch(name)
            if lower in _HOP_BY_HOP or lower.startswith("sec-websocket-") or not is_sendable:
                omissions.header(name)
            elif lower == "accept-encoding":
                # One alone is sent: the last, as with curl.
                headers = [*(pair for pair in headers if pair[0].lower() != lower), (name, value)]
            elif lower == "cookie" and (before := [v for n, v in headers if n.lower() == lower]):
                others = [pair for pair in headers if pair[0].lower() != lower]
                headers = [*others, (name, "; ".join([*before, value]))]
            elif not self._goes_without_saying(lower, value, own):
                headers.append((name, value))
        return headers

    def _goes_without_saying(self, name: str, value: str, own: set[str]) -> bool:
        """Whether a header is written anew, whatever its value was."""
        is_anew = name.startswith(":") or name == "content-length"
        has_boundary = name == "content-type" and bool(self.multipart)
        is_signed = name == "authorization" and self.user is not None
        return is_anew or has_boundary or is_signed or (name == "host" and value.lower() in own)

    def _with_credentials(self, request: TypedRequest) -> TypedRequest:
        """With credentials taken out of the headers: Basic and Bearer are kept apart, as secrets;
        any other scheme stays a header."""
        if self.user is not None:
            user, colon, password = self.user.partition(":")
            return with_basic(request, user, password if colon else None)
        if self.bearer:
            return with_bearer(request, self.bearer)
        for pair in request.headers:
            kind, _, credentials = pair[1].partition(" ")
            if pair[0].lower() != "authorization" or kind.lower() not in {"basic", "bearer"}:
                continue
            others = tuple(each for each in request.headers if each is not pair)
            request = replace(request, headers=others)
            if kind.lower() == "bearer":
                return with_bearer(request, credentials.strip())
            try:
                user, colon, password = (
                    base64.b64decode(credentials, validate=True).decode().partition(":")
                )
            except ValueError:
                raise NotUnderstood(
                    "The Basic credentials are not base64. Use -u user:password."
                ) from None
            return with_basic(request, user, password if colon else None)
        return request

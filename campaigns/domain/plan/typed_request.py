"""What somebody types to say what to measure: an address, or a curl command.

An option of curl that cannot be followed is answered with a sentence: to ignore it would measure
something else than what was typed.
"""

import base64
import binascii
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import quote, quote_plus, unquote

from campaigns.domain.errors import BenchsiteError
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.step import METHODS
from campaigns.domain.plan.target import host_fault

MAX_TYPED = 100_000
DEFAULT_PORTS = {"http": 80, "https": 443}
# The usual pairs, and the demo target's: it answers on 8081 as well.
_TWINS = {
    ("http", 80): ("https", 443),
    ("https", 443): ("http", 80),
    ("http", 8080): ("https", 8443),
    ("https", 8443): ("http", 8080),
    ("https", 8444): ("http", 8081),
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
# Left as they are; anything else becomes %XX.
_PATH_SIGNS = "/?#[]@!$&'()*+,;=:%-._~|{}^`\"<>\\"


class NotUnderstood(BenchsiteError):
    """What was typed cannot be measured; the text says what to change."""


@dataclass(frozen=True, slots=True)
class TypedRequest:
    """One request to one origin. `secret`: the password of `user`, or a bearer token; None if none
    was typed. `is_insecure`: any certificate is accepted.
    """

    scheme: str
    host: str
    port: int
    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    auth_kind: AuthKind = AuthKind.NONE
    user: str = ""
    secret: str | None = field(default=None, repr=False)
    is_insecure: bool = False

    @property
    def step(self) -> dict[str, Any]:
        """The request as a plan's step."""
        headers = [list(pair) for pair in self.headers]
        return {"method": self.method, "path": self.path, "headers": headers, "body": self.body}

    @property
    def auth(self) -> dict[str, str]:
        """The credentials as a plan's, without their secret."""
        return {"kind": str(self.auth_kind), "user": self.user}

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    @property
    def text(self) -> str:
        """The same to type again: the address, or a curl command without the secret."""
        words = []
        if self.method != ("POST" if self.body else "GET"):
            words += ["-X", self.method]
        for name, value in self.headers:
            words += ["-H", f"{name}: {value}" if value else f"{name};"]
        if self.body:
            words += ["--data-raw", self.body]
        if self.auth_kind == AuthKind.BASIC:
            words += ["-u", self.user]
        if self.auth_kind == AuthKind.BEARER:
            words += ["-H", "Authorization: Bearer"]
        if self.is_insecure:
            words.append("-k")
        return shlex.join(["curl", *words, self.address]) if words else self.address

    @classmethod
    def of(
        cls,
        origin: tuple[str, str, int],
        step: Mapping[str, Any],
        auth: Mapping[str, str],
        *,
        is_insecure: bool,
    ) -> Self:
        """From what a probe keeps of a request."""
        scheme, host, port = origin
        return cls(
            scheme=scheme,
            host=host,
            port=port,
            path=step["path"],
            method=step["method"],
            headers=tuple((name, value) for name, value in step["headers"]),
            body=step["body"],
            auth_kind=AuthKind(auth.get("kind", AuthKind.NONE)),
            user=auth.get("user", ""),
            is_insecure=is_insecure,
        )


def twin_of(scheme: str, port: int) -> tuple[str, int] | None:
    """Where the same service is looked for over the other scheme; None if nobody would expect it
    anywhere."""
    return _TWINS.get((scheme, port))


def read_address(text: str) -> TypedRequest:
    """The GET request of an address: https://shop.example:8443/prices?limit=20, or shop.example.

    Without a scheme it is http, or https on the ports 443 and 8443. Raises NotUnderstood.
    """
    text = text.strip()
    if not text:
        raise NotUnderstood("Enter an address, such as https://shop.example/, or a curl command.")
    if len(text) > MAX_TYPED:
        raise NotUnderstood(f"This has {len(text):,} characters; at most {MAX_TYPED:,}.")
    if any(ch.isspace() or ch < " " or ch == "\x7f" for ch in text):
        raise NotUnderstood(
            "An address has no spaces or line breaks. Write spaces as %20, or paste a curl command."
        )
    scheme, rest = _split_scheme(text)
    rest = rest.partition("#")[0]
    end = min((at for sign in "/?\\" if (at := rest.find(sign)) >= 0), default=len(rest))
    authority, path = rest[:end], quote(rest[end:], safe=_PATH_SIGNS)
    userinfo, _, place = authority.rpartition("@")
    host, port = _place(place)
    scheme = scheme or ("https" if port in {443, 8443} else "http")
    path = path if path.startswith("/") else f"/{path}"
    address = TypedRequest(scheme, host, port or DEFAULT_PORTS[scheme], path)
    if "@" not in authority:
        return address
    user, colon, password = userinfo.partition(":")
    return with_basic(address, unquote(user), unquote(password) if colon else None)


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    if match is None:
        return "", text.removeprefix("//")
    scheme = match[1].lower()
    if scheme in {"ws", "wss"}:
        raise NotUnderstood(
            "This field takes http and https. For WebSockets, add a target with a ws or wss "
            "endpoint, and a WebSocket plan."
        )
    if scheme not in DEFAULT_PORTS:
        raise NotUnderstood(f"{scheme} cannot be measured; use http or https.")
    return scheme, text[match.end() :]


def _place(text: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise NotUnderstood(f"{text} is not a host and a port, as in shop.example:8443.")
    host, port = _host(match["host"].strip("[]").lower()), match["port"]
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and len(port) < 7 and 0 < int(port) <= 65535):
        raise NotUnderstood(f"{port} is not a port. Use a number from 1 to 65535.")
    return host, int(port)


def _host(host: str) -> str:
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise NotUnderstood(f"{host} is not a host name.") from None
    if "%" in host:
        raise NotUnderstood(f"{host}: leave out the zone; such addresses are never measured.")
    if fault := host_fault(host):
        raise NotUnderstood(fault)
    return host


def with_basic(request: TypedRequest, user: str, secret: str | None) -> TypedRequest:
    if not user:
        raise NotUnderstood("The user name is missing, as in -u ann:secret.")
    return replace(request, auth_kind=AuthKind.BASIC, user=user, secret=secret or None)


def with_bearer(request: TypedRequest, token: str) -> TypedRequest:
    return replace(request, auth_kind=AuthKind.BEARER, user="", secret=token or None)


_SHORT = {
    "X": "request", "H": "header", "d": "data", "u": "user", "A": "user-agent", "e": "referer",
    "b": "cookie", "k": "insecure", "G": "get", "I": "head", "o": "output", "w": "write-out",
    "s": "silent", "S": "show-error", "v": "verbose", "i": "include", "f": "fail", "g": "globoff",
    "N": "no-buffer", "#": "progress-bar", "L": "location", "F": "form", "T": "upload-file",
    "x": "proxy", "K": "config", "m": "max-time", "E": "cert", "0": "http1.0",
}  # fmt: skip
_WITH_VALUE = {
    "request", "header", "data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json",
    "user", "user-agent", "referer", "cookie", "url", "oauth2-bearer", "output", "write-out",
}  # fmt: skip
_SWITCHES = {"insecure", "get", "head", "http1.1", "compressed"}
# They change what curl prints, not what it sends.
_IGNORED = {
    "silent", "show-error", "verbose", "include", "fail", "fail-with-body", "globoff", "no-buffer",
    "progress-bar", "no-progress-meter", "output", "write-out", "http1.1",
}  # fmt: skip
_INSTEAD = {
    "location": "Redirects are not followed: the reply to this very address is measured. Use the "
    "address that it redirects to.",
    "form": "Forms with files (-F) cannot be sent. Use --data.",
    "upload-file": "Files on your machine cannot be read. Paste the content with --data-raw.",
    "http2": "HTTP/1.1 is measured, not HTTP/2. Use --http1.1.",
    "http1.0": "Leave -0 out, and choose HTTP/1.0 in the plan afterwards.",
    "max-time": "Leave -m out, and set the time limit in the plan afterwards.",
    "connect-timeout": "Leave it out, and set the time limit in the plan afterwards.",
    "cert": "Add the client certificate to the target's endpoint.",
    "cacert": "Add the authorities to the target's endpoint.",
    "next": "One request at a time: leave out --next and what follows.",
}
_ELSEWHERE = {"proxy", "resolve", "connect-to", "unix-socket", "interface", "preproxy", "socks5"}
_FORM = ("Content-Type", "application/x-www-form-urlencoded")
# The shell's $'…', which browsers write where a body has quotes or line breaks.
_ANSI_QUOTED = re.compile(r"(?<=\s)\$'((?:[^'\\]|\\.)*)'", re.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "!": "!", "?": "?"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{1,4}|x[0-9A-Fa-f]{1,2}|.)", re.S)


@dataclass
class _Command:
    """The options as they are collected; data and headers in their order."""

    urls: list[str] = field(default_factory=list)
    method: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    user: str | None = None
    bearer: str = ""
    switches: set[str] = field(default_factory=set)


def read_typed(text: str) -> TypedRequest:
    """The request of an address or of a curl command. Raises NotUnderstood."""
    text = text.strip().removeprefix("$ ")
    if re.match(r"curl(\.exe)?(\s|$)", text):
        command = _Command()
        words = _words(text)
        for name, value in _options(words):
            _take(command, name, value)
        if not command.urls:
            raise NotUnderstood(
                "The curl command has no address. Add it, as in curl https://shop/."
            )
        if len(command.urls) > 1:
            raise NotUnderstood("The curl command has several addresses. Leave one.")
        request = read_address(command.urls[0])
        data = "&".join(command.data)
        headers = command.headers
        if "get" in command.switches:
            sign = "&" if "?" in request.path else "?"
            request = replace(request, path=f"{request.path}{sign}{data}" if data else request.path)
            data = ""
        if data and not any(name.lower() == "content-type" for name, _ in headers):
            headers = [*headers, _FORM]
        usual = "HEAD" if "head" in command.switches else "POST" if command.data else "GET"
        method = command.method or ("GET" if "get" in command.switches else usual)
        if method not in METHODS:
            raise NotUnderstood(f"{_shortened(method)} is not a method; use {', '.join(METHODS)}.")
        request = replace(
            request, method=method, body=data, is_insecure="insecure" in command.switches
        )
        return _signed(request, command, headers)
    return read_address(text)


def _words(text: str) -> list[str]:
    if len(text) > MAX_TYPED:
        raise NotUnderstood(f"This has {len(text):,} characters; at most {MAX_TYPED:,}.")
    if "\x00" in text:
        raise NotUnderstood("The command contains a character that cannot be sent (NUL).")
    text = _ANSI_QUOTED.sub(lambda match: shlex.quote(_unescaped(match[1])), text)
    text = re.sub(r"\\\r?\n", " ", text)
    try:
        return shlex.split(text)[1:]
    except ValueError:
        raise NotUnderstood("A quotation mark of the curl command is not closed.") from None


def _unescaped(text: str) -> str:
    def one(match: re.Match) -> str:
        what = match[1]
        if what[0] in "ux" and len(what) > 1:
            return chr(int(what[1:], 16))
        return _ESCAPES.get(what, match[0])

    return _ESCAPE.sub(one, text)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """(long name, value or "") of each option; an address is the option url."""
    rest = iter(words)
    for word in rest:
        if word.startswith("--") and len(word) > 2:
            name = word[2:]
            yield name, _value(name, rest, word) if name in _WITH_VALUE else ""
        elif word.startswith("-") and len(word) > 1 and word != "--":
            # -sSk and -XPOST: switches together, and a value without a space.
            for at, letter in enumerate(word[1:], 1):
                name = _SHORT.get(letter, f"-{letter}")
                if name in _WITH_VALUE:
                    yield name, word[at + 1 :] or _value(name, rest, word)
                    break
                yield name, ""
        elif word != "--":
            yield "url", word


def _value(name: str, rest: Iterator[str], word: str) -> str:
    value = next(rest, None)
    if value is None:
        raise NotUnderstood(f"The curl option {word} needs a value.")
    return value


def _take(command: _Command, name: str, value: str) -> None:
    match name:
        case "url":
            command.urls.append(value)
        case "request":
            command.method = value.upper()
        case "header":
            command.headers += _header(value)
        case "user-agent":
            command.headers.append(("User-Agent", value))
        case "referer":
            command.headers.append(("Referer", value))
        case "cookie":
            if "=" not in value:
                raise NotUnderstood(
                    "-b reads a file here. Write the cookies, as in -b 'name=value'."
                )
            command.headers.append(("Cookie", value))
        case "user":
            command.user = value
        case "oauth2-bearer":
            command.bearer = value
        case "json":
            command.data.append(_inline(value))
            command.headers += [
                ("Content-Type", "application/json"),
                ("Accept", "application/json"),
            ]
        case "data" | "data-ascii" | "data-binary":
            command.data.append(_inline(value))
        case "data-raw":
            command.data.append(value)
        case "data-urlencode":
            command.data.append(_encoded(value))
        case "compressed":
            command.headers.append(("Accept-Encoding", "gzip, deflate"))
        case _ if name in _SWITCHES:
            command.switches.add(name)
        case _ if name not in _IGNORED:
            raise NotUnderstood(_why_not(name))


def _why_not(name: str) -> str:
    option = name if name.startswith("-") else f"--{name}"
    if name in _INSTEAD:
        return f"{option}: {_INSTEAD[name]}"
    if name in _ELSEWHERE:
        return f"{option} would send the request elsewhere. Enter the address to measure itself."
    return f"The curl option {option} is not understood. Leave it out if the request allows it."


def _header(text: str) -> list[tuple[str, str]]:
    """ "Name: value"; "Name;" is empty, and "Name:" takes out what curl itself would send."""
    name, colon, value = text.partition(":")
    if colon:
        return [(name.strip(), value.strip())] if value.strip() else []
    if text.endswith(";"):
        return [(text[:-1].strip(), "")]
    raise NotUnderstood(f"{_shortened(text)} is not a header; write it as in -H 'Name: value'.")


def _inline(value: str) -> str:
    if value.startswith("@"):
        raise NotUnderstood(
            f"{_shortened(value)}: files on your machine cannot be read. Paste the content with "
            "--data-raw."
        )
    return value


def _encoded(value: str) -> str:
    name, equals, content = value.partition("=")
    if "@" in name:
        _inline("@" + value.partition("@")[2])
    if not equals:
        return quote_plus(value)
    return f"{name}={quote_plus(content)}" if name else quote_plus(content)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def _signed(
    request: TypedRequest, command: _Command, headers: list[tuple[str, str]]
) -> TypedRequest:
    """The request with its credentials taken out of the headers: they are kept apart."""
    kept = tuple(pair for pair in headers if pair[0].lower() != "authorization")
    request = replace(request, headers=kept)
    if command.user is not None:
        user, colon, password = command.user.partition(":")
        return with_basic(request, user, password if colon else None)
    if command.bearer:
        return with_bearer(request, command.bearer)
    for name, value in headers:
        if name.lower() == "authorization":
            return _with_authorization(request, value)
    return request


def _with_authorization(request: TypedRequest, value: str) -> TypedRequest:
    kind, _, credentials = value.partition(" ")
    if kind.lower() == "bearer":
        return with_bearer(request, credentials.strip())
    if kind.lower() != "basic":
        raise NotUnderstood("Only Basic and Bearer credentials can be sent (Authorization header).")
    try:
        user, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise NotUnderstood("The Basic credentials are not base64. Use -u user:password.") from None
    return with_basic(request, user, password if colon else None)

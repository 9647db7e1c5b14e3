"""One request to one origin, as somebody typed or pasted it, and the reading of an address.

The one request of a plan that is sent to each of its endpoints before a campaign's first run."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import quote, unquote

from campaigns.domain.errors import BenchsiteError
from campaigns.domain.plan.exchange import OPENING, Exchange
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import AuthKind, HttpVersion
from campaigns.domain.plan.step import BODIES, Redirects, Step
from campaigns.domain.plan.target import DEFAULT_PORTS, host_fault
from campaigns.domain.plan.variables import ValueMaker, filled_in, needed_values

MAX_TYPED = 100_000
# The usual pairs, and the demo target's: it answers on 8081 as well.
_TWINS = {
    ("http", 80): ("https", 443),
    ("https", 443): ("http", 80),
    ("http", 8080): ("https", 8443),
    ("https", 8443): ("http", 8080),
    ("https", 8444): ("http", 8081),
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BLANK = re.compile(r"[\s\0-\x1f\x7f]")
_NO_SIGN = re.compile(r"[^\S ]|[\0-\x1f\x7f]")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
# Left as they are; anything else becomes %XX. Browsers write a few of them so as well (WHATWG).
_PATH_SIGNS = "/?#[]@!$&'()*+,;=:%-._~|{}^`\"<>\\"
_BROWSERS_PATH_SIGNS = "/[]@!$&'()*+,;=:%-._~|"
_BROWSERS_QUERY_SIGNS = "/?[]@!$&()*+,;=:%-._~|{}^`\\"


class NotUnderstood(BenchsiteError):
    """What was typed cannot be measured; the text says what to change."""


class FilesMissing(NotUnderstood):
    """A pasted request sends files of the user's machine; `names` are those that did not come."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"Choose {' and '.join(map(shortened, names))}.")
        self.names = names


@dataclass(frozen=True, slots=True)
class TypedRequest:
    """`secret`: the password of `user`, or a bearer token; None if none was typed. `is_insecure`:
    any certificate is accepted. `http_version`: "" where none was named. `pinned`: the address that
    its host is pinned to. `redirects`: as a plan has them, "" where none was asked for. `form`,
    `multipart` and `body_file` are as a step has them. `missing`: the files of the user's machine
    that it sends and that did not come with it.
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
    http_version: str = ""
    pinned: str = ""
    redirects: str = ""
    form: tuple[tuple[str, str], ...] = ()
    multipart: tuple[dict[str, Any], ...] = ()
    body_file: Any = ""
    missing: tuple[str, ...] = ()
    label: str = ""

    @property
    def step(self) -> dict[str, Any]:
        """The request as a plan's step."""
        headers = [list(pair) for pair in self.headers]
        more = {"form": [list(pair) for pair in self.form], "multipart": list(self.multipart)}
        more |= {"body_file": self.body_file, "label": self.label}
        fields = {"method": self.method, "path": self.path, "headers": headers, "body": self.body}
        return fields | {name: value for name, value in more.items() if value}

    @property
    def origin(self) -> tuple[str, str, int, str]:
        """(scheme, host, port, pinned address)"""
        return self.scheme, self.host, self.port, self.pinned

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
        """The same to type again: the address, or a curl command without the secret. With a file it
        is refused: what would be sent without it is another request."""
        words = []
        has_body = self.body or self.body_file or self.form or self.multipart
        if self.method != ("POST" if has_body else "GET"):
            words += ["-X", self.method]
        for name, value in self.headers:
            words += ["-H", f"{name}: {value}" if value else f"{name};"]
        if self.body:
            words += ["--data-raw", self.body]
        if self.body_file:
            words += ["--data-binary", "@file"]
        for name, value in self.form:
            words += ["--data-urlencode", f"{name}={value}"]
        for each in self.multipart:
            value, kind = each.get("value", ""), each.get("content_type")
            escaped_value = value.replace("\\", "\\\\").replace('"', '\\"')
            if "file" in each:
                words += ["-F", f"{each['name']}=@{each['filename']}"]
            elif kind:
                words += ["-F", f'{each["name"]}="{escaped_value}";type={kind}']
            else:
                words += ["--form-string", f"{each['name']}={value}"]
        if self.http_version and self.http_version != "1.1":
            words.append(f"--http{self.http_version}")
        if self.redirects:
            words.append("-L")
        if self.pinned:
            words += ["--resolve", f"{self.host}:{self.port}:{self.pinned}"]
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
        http_version: str = "",
        pinned: str = "",
        redirects: str = "",
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
            http_version=http_version,
            pinned=pinned,
            redirects=redirects,
            form=tuple((name, value) for name, value in step.get("form", ())),
            multipart=tuple(step.get("multipart", ())),
            body_file=step.get("body_file", ""),
        )


def require_files(requests: Iterable[TypedRequest]) -> None:
    """Raises FilesMissing: without its file it would be another request."""
    if names := list(dict.fromkeys(name for each in requests for name in each.missing)):
        raise FilesMissing(names)


def shared_credentials(requests: Sequence[TypedRequest]) -> tuple[TypedRequest, str]:
    """(the request whose credentials a plan of all has, what to say of it, "" if all have them).
    Raises NotUnderstood where there are two."""
    with_auth = [each for each in requests if each.auth_kind != AuthKind.NONE]
    if len({(each.auth_kind, each.user, each.secret) for each in with_auth}) > 1:
        raise NotUnderstood(
            "A plan has one user or token. Choose requests with the same credentials."
        )
    is_mixed = 0 < len(with_auth) < len(requests)
    return (with_auth or requests)[0], "Its credentials go with every request." if is_mixed else ""


def twin_of(scheme: str, port: int) -> tuple[str, int] | None:
    """Where the same service is looked for over the other scheme; None if nobody would expect it
    anywhere."""
    return _TWINS.get((scheme, port))


def read_address(text: str, *, keeps_signs: bool = False) -> TypedRequest:
    """The GET request of an address: https://shop.example:8443/prices?limit=20, or shop.example.

    Without a scheme it is http, or https on the ports 443 and 8443. Path and query are written as
    browsers write them, or as they are with `keeps_signs`. Raises NotUnderstood.
    """
    text = text.strip()
    if not text:
        raise NotUnderstood("Enter an address, such as https://shop.example/, or paste a request.")
    if len(text) > MAX_TYPED:
        raise NotUnderstood(f"This has {len(text):,} characters; at most {MAX_TYPED:,}.")
    scheme, rest = _split_scheme(text)
    rest = rest.partition("#")[0]
    end = min((at for sign in "/?\\" if (at := rest.find(sign)) >= 0), default=len(rest))
    authority, path = rest[:end], rest[end:]
    if _BLANK.search(authority) or _NO_SIGN.search(path):
        raise NotUnderstood(
            "A host has no spaces or line breaks. Write one address, or paste a request."
        )
    if keeps_signs:
        path = quote(path, safe=_PATH_SIGNS)
    else:
        path, mark, query = path.partition("?")
        path = quote(path.replace("\\", "/"), safe=_BROWSERS_PATH_SIGNS)
        path += f"{mark}{quote(query, safe=_BROWSERS_QUERY_SIGNS)}"
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
    host, port = match["host"].strip("[]").lower(), match["port"]
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise NotUnderstood(f"{host} is not a host name.") from None
    if "%" in host:
        raise NotUnderstood(f"{host}: leave out the zone; such addresses are never measured.")
    if fault := host_fault(host):
        raise NotUnderstood(fault)
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and len(port) < 7 and 0 < int(port) <= 65535):
        raise NotUnderstood(f"{port} is not a port. Use a number from 1 to 65535.")
    return host, int(port)


def with_basic(request: TypedRequest, user: str, secret: str | None) -> TypedRequest:
    if not user:
        raise NotUnderstood("The user name is missing, as in -u ann:secret.")
    return replace(request, auth_kind=AuthKind.BASIC, user=user, secret=secret or None)


def with_bearer(request: TypedRequest, token: str) -> TypedRequest:
    return replace(request, auth_kind=AuthKind.BEARER, user="", secret=token or None)


def shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


# Somebody waits for it, so it has no longer than this, whatever the plan allows.
LONGEST_S, SHORTEST_S = 30.0, 5.0
# So many are sent at a time where nobody else sends any; then all take no longer than this.
AT_ONCE, ALL_WITHIN_S = 8, 64.0
# A scenario with longer pauses, all together, is not tried.
PAUSES_WITHIN_S = 5.0
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def first_request(plan: Plan, together: int = 1, *, epoch_ns: int = 0) -> dict[str, Any]:
    """What to send, how long to wait and which status is right, as a probe stores it. `together`:
    how many requests somebody waits for at the same time. `epoch_ns`: when it is sent.

    It is the plan's first step, whatever its method, with the values of the first table row; what
    later replies would provide is empty. It has the step's checks and extractions, of which only
    those must give a value that a step needs. Of a WebSocket plan it is a connection with the
    scenario and one message.
    """
    most_s = longest_s(together)
    limits = ("connect_s", "tls_s", "total_s")
    return {
        **_what(plan, epoch_ns),
        "timeouts": {name: min(getattr(plan.timeouts, name), most_s) for name in limits},
        "expected_status": list(plan.expected_status),
    }


def longest_s(together: int) -> float:
    """Seconds that each of so many may take, so that nobody waits long where every target hangs; a
    shorter time would be no fair trial."""
    n_rounds = ceil(together / AT_ONCE)
    return max(SHORTEST_S, min(LONGEST_S, ALL_WITHIN_S / n_rounds))


def changes_something(plan: Plan) -> str:
    """The first request, such as "POST /orders", if it may change something; else ""."""
    if plan.exchange is not None:
        is_own = plan.exchange.texts or plan.exchange.scenario
        return f"messages to {plan.exchange.path}" if is_own else ""
    if plan.steps[0].method in SAFE_METHODS:
        return ""
    return f"{plan.steps[0].method} {plan.steps[0].path}"


def _what(plan: Plan, epoch_ns: int) -> dict[str, Any]:
    if plan.exchange is not None:
        opening = with_values(plan, plan.exchange.opening, epoch_ns)
        return {
            "method": "GET",
            "path": opening.path,
            "headers": [list(pair) for pair in opening.headers],
            "subprotocols": list(plan.exchange.subprotocols),
            "message": None,
            "exchange": _first_message(plan, plan.exchange, epoch_ns),
        }
    of_its_flow = plan.steps[: plan.flows[0].steps] if plan.flows else plan.steps
    names_to_give = needed_values(plan.variables, of_its_flow)
    first = plan.steps[0]
    extracts = tuple(
        replace(each, may_miss=each.name not in names_to_give) for each in first.extract
    )
    step = with_values(plan, replace(first, extract=extracts), epoch_ns).to_json()
    names = ("label", "method", "path", "headers", *BODIES, "checks")
    names += ("extract",) if extracts else ()
    request = {name: step[name] for name in names if name in step}
    if plan.http_version != HttpVersion.HTTP_1_1:
        request["http_version"] = str(plan.http_version)
    if plan.redirects != Redirects.OFF:
        request |= {"redirects": str(plan.redirects), "cookies": plan.session.cookies}
    return request


def _first_message(plan: Plan, exchange: Exchange, epoch_ns: int) -> dict[str, Any]:
    """Of an exchange, without its opening: the scenario and the first message."""

    def fill(text: str) -> str:
        return with_values(plan, replace(exchange.opening, body=text), epoch_ns).body

    is_short = exchange.waits_s <= PAUSES_WITHIN_S
    short = replace(
        exchange,
        messages=min(exchange.messages, 1) if is_short else 0,
        texts=tuple(map(fill, exchange.texts[:1])) if is_short else (),
        rate_per_s=None,
        scenario=tuple(map(fill, exchange.scenario)) if is_short else (),
    ).to_json()
    return {name: value for name, value in short.items() if name not in OPENING}


def with_values(
    plan: Plan, step: Step, epoch_ns: int, values: Mapping[str, str] = MappingProxyType({})
) -> Step:
    """The step with the values of the first table row, those that are made, and `values` of earlier
    replies."""
    if not plan.variable_names:
        return step
    variables = plan.variables
    row = variables.values(0) if variables.table[0] else {}
    maker = ValueMaker(variables.generators, 0, b"%d" % epoch_ns)
    return filled_in(step, row | maker.values(0) | maker.times(epoch_ns) | values)

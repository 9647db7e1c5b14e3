"""What a target's description may say. `check_target` is the only door, and it says everything that
is wrong at once, each sentence under the path of its field, such as "endpoints.0.host".
And where a Prometheus exporter on its machine is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import urlsplit

from campaigns.domain.errors import InvalidFields, InvalidTarget
from campaigns.domain.plan.addresses import is_address, never_words, parse_address
from campaigns.domain.plan.tls_options import (
    NO_PROFILES,
    STANDARD,
    TlsOptions,
    TlsProfile,
    read_tls_options,
)
from campaigns.domain.typed_text import JsonReader, clean_name

SCHEMES = ("http", "https", "ws", "wss")
DEFAULT_PORTS = {"http": 80, "https": 443}
TLS_SCHEMES = frozenset({"https", "wss"})
WEBSOCKET_SCHEMES = frozenset({"ws", "wss"})
# The same protocol without and with TLS, compared for the overhead of TLS.
TLS_TWINS = {"https": "http", "wss": "ws"}
MAX_ENDPOINTS = 50
_USUAL_TLS = TlsOptions()
MAX_FACTS = 100
MAX_LABEL = 60
MAX_VALUE = 500
_TWICE = (
    "This endpoint is already listed above. One that is pinned to another address can be added; "
    "over TLS also one with another TLS profile."
)
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.?\Z"
)
_NUMBER = re.compile(r"[0-9]*|0x[0-9a-f]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """An endpoint as stored in a run. The key is a secret and not in its JSON. `address`: what its
    name is pinned to, in place of what a name server says; "" without."""

    scheme: str
    host: str
    port: int
    verify_tls: bool = True
    tls: TlsOptions = _USUAL_TLS
    client_key_pem: str = field(default="", repr=False)
    address: str = ""

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What tells the endpoints of a target apart: origin, TLS profile and pinned address."""
        return (self.scheme, self.host, self.port, self.tls.profile, self.address)

    @property
    def dialled(self) -> str:
        """The name or the address that connections go to."""
        return self.address or self.host

    @property
    def place(self) -> str:
        """https://shop.example:443 at 10.0.0.5"""
        return f"{self} at {self.address}" if self.address else str(self)

    @property
    def is_tls(self) -> bool:
        return self.scheme in TLS_SCHEMES

    @property
    def is_websocket(self) -> bool:
        return self.scheme in WEBSOCKET_SCHEMES

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def over_http(self) -> Self:
        """The same server, asked with HTTP."""
        return replace(self, scheme="https" if self.is_tls else "http")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From the stored form, which `to_json` writes."""
        return cls(
            scheme=data["scheme"],
            host=data["host"],
            port=data["port"],
            verify_tls=data["verify_tls"],
            tls=TlsOptions(**data.get("tls", {})),
            address=data.get("address", ""),
        )

    def to_json(self) -> dict[str, Any]:
        """As stored in runs; only non-default TLS options."""
        tls = self.tls.chosen()
        return {
            "scheme": self.scheme,
            "host": self.host,
            "port": self.port,
            "verify_tls": self.verify_tls,
            **({"tls": tls} if tls else {}),
            **({"address": self.address} if self.address else {}),
        }

    def to_order(self) -> dict[str, Any]:
        """As sent to injectors, which need what the TLS profile means and not its name."""
        tls = replace(self.tls.resolved(), profile=STANDARD)
        return replace(self, tls=tls).to_json()


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    environment: tuple[tuple[str, str], ...]
    origins: tuple[Origin, ...]


def check_target(
    name: str,
    environment: Sequence[Sequence[str]],
    endpoints: Sequence[dict[str, Any]],
    profiles: Mapping[str, TlsProfile] = NO_PROFILES,
) -> Description:
    """The target as described, cleaned. `profiles`: the project's own TLS profiles, by name. Raises
    InvalidTarget with a sentence for each field."""
    errors: dict[str, str] = {}
    if not endpoints:
        errors["endpoints"] = "A target needs at least one endpoint: a scheme, a host and a port."
    if len(endpoints) > MAX_ENDPOINTS:
        errors["endpoints"] = f"At most {MAX_ENDPOINTS} endpoints."
    origins = tuple(
        _origin(row, f"endpoints.{index}", profiles, errors) for index, row in enumerate(endpoints)
    )
    keys: set[tuple] = set()
    for index, origin in enumerate(origins):
        if origin.key in keys:
            errors.setdefault(f"endpoints.{index}.host", _TWICE)
        keys.add(origin.key)
    name = clean_name(name)
    if not name:
        errors["name"] = "Give the target a name, such as shop or checkout-api."
    elif len(name) > 100:
        errors["name"] = f"{len(name)} characters are too many; at most 100."
    description = Description(name, _environment(environment, errors), origins)
    if errors:
        raise InvalidTarget(errors)
    return description


def host_fault(host: str) -> str | None:
    """What is wrong with a host, or None."""
    if not host:
        return "Write a name or an address, such as shop.example or 10.0.0.5."
    if "/" in host or host.count(":") == 1:
        return "Only the name or address; scheme and port have their own fields."
    if not is_address(host):
        # Resolvers read 0x7f000001 and 127.1 as 127.0.0.1, not as names.
        is_name = _NAME.match(host) and not all(map(_NUMBER.fullmatch, host.split(".")))
        return None if is_name else f"{host} is not a name or an address."
    return never_words(parse_address(host))


def address_fault(address: str) -> str | None:
    """What is wrong with the address that a name is pinned to, or None."""
    if not address or is_address(address):
        return never_words(parse_address(address)) if address else None
    return "Write an address, such as 10.0.0.5 or fc00::5; or nothing."


def _environment(rows: Sequence[Sequence[str]], errors: dict[str, str]):
    if len(rows) > MAX_FACTS:
        errors["environment"] = f"At most {MAX_FACTS} facts."
    facts = tuple((clean_name(label), clean_name(value)) for label, value in rows)
    for index, (label, value) in enumerate(facts):
        if not label:
            errors[f"environment.{index}.label"] = "Name the fact, such as CPU."
        elif len(label) > MAX_LABEL:
            errors[f"environment.{index}.label"] = f"At most {MAX_LABEL} characters."
        if len(value) > MAX_VALUE:
            errors[f"environment.{index}.value"] = f"At most {MAX_VALUE} characters."
    return facts


def _origin(
    row: dict[str, Any], path: str, profiles: Mapping[str, TlsProfile], errors: dict[str, str]
) -> Origin:
    scheme = str(row.get("scheme", ""))
    host = str(row.get("host", "")).strip().strip("[]").lower()
    if scheme not in SCHEMES:
        errors[f"{path}.scheme"] = f"Choose one of: {', '.join(SCHEMES)}."
    fault = host_fault(host)
    if fault:
        errors[f"{path}.host"] = fault
    port, digits = 0, str(row.get("port", "")).strip()
    if digits.isascii() and digits.isdigit() and len(digits) < 7 and 1 <= int(digits) <= 65535:
        port = int(digits)
    else:
        errors[f"{path}.port"] = "Write a port from 1 to 65535."
    verify = bool(row.get("verify_tls", True))
    address = str(row.get("address") or "").strip().strip("[]").lower()
    if fault := address_fault(address):
        errors[f"{path}.address"] = fault
    if scheme not in TLS_SCHEMES:
        return Origin(scheme, host, port, verify, address=address)
    tls = read_tls_options(JsonReader(row.get("tls") or {}, f"{path}.tls", errors), profiles)
    key = str(row.get("client_key_pem") or "").strip()
    return Origin(scheme, host, port, verify, tls, key, address)


USUAL_PATH = "/metrics"
MOST_URL, MOST_NAME, MOST_TOKEN = 500, 100, 4096
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_VISIBLE = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class ExporterAddress:
    """An origin and a path with its query."""

    origin: Origin
    path: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Without a scheme it is http, without a path /metrics. Raises ValueError with a sentence
        that says what to write."""
        text = text.strip()
        if not text:
            raise ValueError("Write an address, such as http://10.0.0.5:9100/metrics.")
        if len(text) > MOST_URL:
            raise ValueError(f"{len(text):,} characters are too many; at most {MOST_URL}.")
        if not _VISIBLE.fullmatch(text):
            raise ValueError("Write an address without spaces; other letters as %C3%BC.")
        try:
            parts = urlsplit(text if _SCHEME.match(text) else f"http://{text}")
            port = parts.port
        except ValueError:
            raise ValueError("This is no address. Write http://10.0.0.5:9100/metrics.") from None
        if parts.scheme not in DEFAULT_PORTS:
            raise ValueError("Write an address that begins with http:// or https://.")
        if "@" in parts.netloc:
            raise ValueError("Leave out user and password; a token has its own field.")
        host = (parts.hostname or "").lower()
        if fault := host_fault(host):
            raise ValueError(fault)
        if port == 0:
            raise ValueError("Write a port from 1 to 65535.")
        path = parts.path if parts.path.strip("/") else USUAL_PATH
        query = f"?{parts.query}" if parts.query else ""
        return cls(Origin(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme]), path + query)

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


@dataclass(frozen=True, slots=True)
class ExporterFields:
    """What an editor says of an exporter, checked. `token`: None keeps the stored one."""

    name: str
    url: str
    verify_tls: bool
    ca_pem: str
    is_server: bool
    token: str | None

    @property
    def address(self) -> ExporterAddress:
        return ExporterAddress.read(self.url)


def check_exporter(
    *, url: str, name: str = "", verify_tls: bool = True, ca_pem: str = "",
    is_server: bool = False, token: str | None = None,
) -> ExporterFields:  # fmt: skip
    """Cleaned; without a name it is the address's host and port. Raises InvalidFields."""
    errors: dict[str, str] = {}
    address = None
    try:
        address = ExporterAddress.read(url)
    except ValueError as fault:
        errors["url"] = str(fault)
    name = clean_name(name) or (
        str(address.origin).partition("://")[2][:MOST_NAME] if address else ""
    )
    if len(name) > MOST_NAME:
        errors["name"] = f"{len(name)} characters are too many; at most {MOST_NAME}."
    # Browsers send the line ends of a field in their own way: it is the same certificate.
    tls = JsonReader({"ca_pem": ca_pem.replace("\r\n", "\n")}, "", errors)
    ca_pem = read_tls_options(tls).ca_pem
    if fault := _token_fault(token, address, verify_tls):
        errors["token"] = fault
    if errors or address is None:
        raise InvalidFields(errors)
    return ExporterFields(name, str(address), verify_tls, ca_pem, is_server, token)


def _token_fault(token: str | None, address: ExporterAddress | None, verify_tls: bool) -> str:
    """The sentences must not contain the token: they are shown and logged."""
    if not token:
        return ""
    if len(token) > MOST_TOKEN or not _VISIBLE.fullmatch(token):
        return f"Use at most {MOST_TOKEN:,} characters, none of them a space or a line break."
    if address is None or not is_address(address.origin.host):
        return ""  # where a name leads to is looked up before each connection
    return no_token_words(address.origin.host, is_verified=address.origin.is_tls and verify_tls)


def no_token_words(address: str, *, is_verified: bool) -> str:
    """Why no token is sent to this literal address; "" where it is: anywhere over TLS that is
    verified, and otherwise in private networks alone."""
    if is_verified or parse_address(address).is_private:
        return ""
    return (
        f"{address} is a public address. A token is sent there only over https with a verified "
        "certificate: start the agent with --cert and --key."
    )

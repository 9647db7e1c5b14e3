"""Where a target's Prometheus exporter is, as people type it."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.addresses import is_address, parse_address
from campaigns.domain.plan.target import Origin, host_fault
from campaigns.domain.plan.tls_options import read_tls_options
from campaigns.domain.typed_text import clean_name

USUAL_PATH = "/metrics"
MOST_URL, MOST_NAME, MOST_TOKEN = 500, 100, 4096
_PORTS = {"http": 80, "https": 443}
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
        if parts.scheme not in _PORTS:
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
        return cls(Origin(parts.scheme, host, port or _PORTS[parts.scheme]), path + query)

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

"""Asks a target's Prometheus exporter, such as our agent, where the network policy allows it.

Every address is vetted before it is dialled, as those of the load. No redirect is followed, and
time and size of an answer are bounded. The connection is kept for the next answer, because opening
one a second would cost the target more than the answer does.
"""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from types import MappingProxyType
from typing import NamedTuple

from campaigns.domain.plan.addresses import parse_networks, why_refused
from campaigns.domain.plan.exporters import no_token_words
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.domain.units import size
from campaigns.machines.services.scrapes import ScrapeOrder
from workers.dialling import addresses_of, dial, left_s, tls_context

LIMIT_S = 1.0
PROFILE_LIMIT_S = 75.0
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
MOST_BYTES = 4 * 1024 * 1024
# A server closes a connection that it kept in the moment in which it is used again.
_CLOSED = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, HTTPException)
_CORRECT = "Correct its address on the page of the target."
_TOO_LARGE = (
    f"Its answer is larger than {size(MOST_BYTES)}. Ask for less: node_exporter takes "
    "?collect[]=cpu&collect[]=meminfo after the path."
)
_NOT_ALLOWED = "What may be scraped is what may be put under load; administrators list networks."
_STATUS_WORDS = {
    401: "Enter its token on the page of the target.",
    403: "Enter a token that it accepts on the page of the target.",
    404: "Correct the path on the page of the target; it is usually /metrics.",
    503: "It is too busy, or starting. It is asked again every second of a run.",
}


class ScrapeFailed(Exception):
    """The text says what happened and what to do."""


class ExporterAnswer(NamedTuple):
    """`at_ns`: when its values were read, by CLOCK_MONOTONIC: the middle between the request and
    the begin of the answer."""

    at_ns: int
    text: str


class ExporterClient:
    """One exporter; belongs to one thread."""

    def __init__(self, order: ScrapeOrder, limit_s: float = LIMIT_S):
        address = order.address
        tls = TlsOptions(ca_pem=order.ca_pem)
        self._origin = replace(address.origin, verify_tls=order.verify_tls, tls=tls)
        self._allowed, self._never = parse_networks(order.allowed), frozenset(order.never)
        self._fault, self._limit_s = order.fault, limit_s
        self._path, self._token = address.path, order.token
        self._context: ssl.SSLContext | None = None
        self._kept: socket.socket | None = None

    def ask(self, headers: Mapping[str, str] = NO_HEADERS) -> ExporterAnswer:
        """What it answers now. Raises ScrapeFailed."""
        return self._get(self._path, headers, self._limit_s)

    def profile(self, headers: Mapping[str, str]) -> str:
        """What an agent recorded; it may take a minute to read it. Raises ScrapeFailed."""
        folder = self._path.partition("?")[0].rpartition("/")[0]
        return self._get(f"{folder}/profile", headers, PROFILE_LIMIT_S).text

    def _get(self, path: str, headers: Mapping[str, str], limit_s: float) -> ExporterAnswer:
        if self._fault:
            raise ScrapeFailed(self._fault)
        request = self._request(path, headers, limit_s)
        try:
            return self._ask(request, time.monotonic() + limit_s)
        except OSError as error:
            raise ScrapeFailed(_words(error, str(self._origin), limit_s)) from error
        except (HTTPException, ValueError) as error:
            raise ScrapeFailed(f"{self._origin} does not answer in HTTP. {_CORRECT}") from error

    def close(self) -> None:
        if self._kept:
            self._kept.close()
            self._kept = None

    def _request(self, path: str, headers: Mapping[str, str], limit_s: float) -> bytes:
        authorization = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        sent = {
            "Host": str(self._origin).partition("://")[2],
            "User-Agent": "benchsite",
            "Accept": "text/plain;version=0.0.4",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{limit_s:g}",
            **authorization,
            **headers,
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {text}" for name, text in sent.items())]
        return "\r\n".join([*lines, "", ""]).encode("ascii")

    def _ask(self, request: bytes, ends: float) -> ExporterAnswer:
        if self._kept:
            kept, self._kept = self._kept, None
            try:
                return self._exchange(kept, request, ends)
            except _CLOSED:
                pass
        return self._exchange(self._connect(ends), request, ends)

    def _connect(self, ends: float) -> socket.socket:
        """All addresses of a name must be allowed, and the first that answers is taken."""
        host, port = self._origin.host, self._origin.port
        addresses = addresses_of(host, port)
        for each in addresses:
            if why := why_refused(each, port, self._allowed, self._never):
                raise ScrapeFailed(f"{why} {_NOT_ALLOWED}")
            is_verified = self._origin.is_tls and self._origin.verify_tls
            if self._token and (why := no_token_words(each, is_verified=is_verified)):
                raise ScrapeFailed(why)
        if self._context is None:
            self._context = tls_context(self._origin)
        fault: OSError | None = None
        for each in addresses:
            try:
                return dial(self._origin, each, ends, self._context)
            except OSError as error:
                fault = error
        raise fault or ScrapeFailed(f"The name server has no address for {host}. {_CORRECT}")

    def _exchange(self, connection: socket.socket, request: bytes, ends: float) -> ExporterAnswer:
        try:
            asked_ns = time.monotonic_ns()
            connection.settimeout(left_s(ends))
            connection.sendall(request)
            response = HTTPResponse(_Incoming(connection, ends), method="GET")
            response.begin()
            at_ns = (asked_ns + time.monotonic_ns()) // 2
            if response.status != 200:
                raise ScrapeFailed(_status_words(response.status, str(self._origin)))
            body = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._kept = connection
        return ExporterAnswer(at_ns, body.decode("utf-8", "replace"))


class _Incoming(io.RawIOBase):
    """What http.client reads an answer from: up to the deadline, and not too much."""

    def __init__(self, connection: socket.socket, ends: float):
        self._connection, self._ends = connection, ends
        self._left = MOST_BYTES

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self._connection.settimeout(left_s(self._ends))
        n_bytes = self._connection.recv_into(buffer)
        self._left -= n_bytes
        if self._left < 0:
            raise ScrapeFailed(_TOO_LARGE)
        return n_bytes


def _words(error: OSError, origin: str, limit_s: float) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"{origin} refuses connections. Start the agent there, or correct its address."
    if isinstance(error, TimeoutError):
        return (
            f"{origin} does not answer within {limit_s:g} s. Let the injector hosts through its "
            "firewall, or ask for less: node_exporter takes ?collect[]=cpu after the path."
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {origin} is not accepted: {error.verify_message}. Paste the "
            "certificate or its authority on the page of the target."
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS with {origin} fails ({error.reason}). Is its address http://?"
    return f"{origin} cannot be reached: {error.strerror or error}. {_CORRECT}"


def _status_words(status: int, origin: str) -> str:
    if 300 <= status < 400:
        what = "Redirects are not followed: enter the address that it leads to."
    else:
        what = _STATUS_WORDS.get(status, _CORRECT)
    return f"{origin} answers with status {status}. {what}"

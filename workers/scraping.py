"""Scrapes the exporters of a run's target once a second while the run is under way. Of an agent it
has perf count and record, where the campaign asks for that.

Each exporter has a thread, and one more stores what they told, so that neither an exporter nor the
database can delay the run. The host of the run's first shard does it; the injector's own process
knows nothing of it.

Asks a target's Prometheus exporter, such as our agent, where the network policy allows it.

Every address is vetted before it is dialled, as those of the load. No redirect is followed, and
time and size of an answer are bounded. The connection is kept for the next answer, because opening
one a second would cost the target more than the answer does."""

import contextlib
import io
import json
import logging
import queue
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from http.client import HTTPException, HTTPResponse
from types import MappingProxyType
from typing import NamedTuple

from django.db import connection

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.exporter import (
    SHORTEST_S,
    ExporterSeconds,
    NotExposition,
    NothingKnown,
)
from campaigns.domain.metrics.profiles import read_profile
from campaigns.domain.plan.addresses import parse_networks, why_refused
from campaigns.domain.plan.target import no_token_words
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.domain.units import size
from campaigns.engine.services.shards import Lease
from campaigns.machines.services import (
    Scraped,
    ScrapeOrder,
    machine_second,
    take_profile,
    take_scraped,
)
from workers.database import (
    EPOCH,
    UNREACHABLE,
    drop_connection,
    first_line_of,
    retry,
    use_own_connection,
)
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
        self._connection: socket.socket | None = None

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
        authorization = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        fields = {
            "Host": str(self._origin).partition("://")[2],
            "User-Agent": "benchsite",
            "Accept": "text/plain;version=0.0.4",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{limit_s:g}",
            **authorization,
            **headers,
        }
        lines = [f"{name}: {text}" for name, text in fields.items()]
        request = "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode("ascii")
        try:
            return self._ask(request, time.monotonic() + limit_s)
        except OSError as error:
            raise ScrapeFailed(_words(error, str(self._origin), limit_s)) from error
        except (HTTPException, ValueError) as error:
            raise ScrapeFailed(f"{self._origin} does not answer in HTTP. {_CORRECT}") from error

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _ask(self, request: bytes, ends: float) -> ExporterAnswer:
        if self._connection:
            connection, self._connection = self._connection, None
            try:
                return self._exchange(connection, request, ends)
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
                if 300 <= response.status < 400:
                    what = "Redirects are not followed: enter the address that it leads to."
                else:
                    what = _STATUS_WORDS.get(response.status, _CORRECT)
                words = f"{self._origin} answers with status {response.status}. {what}"
                raise ScrapeFailed(words)
            body = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._connection = connection
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


logger = logging.getLogger(__name__)

STORE_EVERY_S = 2.0
CLOSE_S = 3.0
# One answer that is missing makes a second of two; two make a gap, which is said.
FAILURES_TO_SAY = 2
MOST_PROBLEMS = 10  # of an exporter in a run
PERF, PROFILE = "Benchsite-Perf", "Benchsite-Profile"
_NS = 1_000_000_000


class RunClock(NamedTuple):
    """The seconds of a run and of the site, by CLOCK_MONOTONIC: sending starts at `start_ns`, when
    the site's clock shows `t0`."""

    start_ns: int
    t0: datetime
    warm_up_s: float

    def second_of(self, at_ns: int) -> int | None:
        """The run's second; None before it sends."""
        if at_ns < self.start_ns:
            return None
        return (at_ns - self.start_ns - round(self.warm_up_s * _NS)) // _NS

    def time_of(self, at_ns: int) -> float:
        """By the site's clock, in seconds since 1970."""
        return self.t0.timestamp() + (at_ns - self.start_ns) / _NS

    def to_next_second_s(self, now_ns: int) -> float:
        """Until the site's clock shows a whole second, but not at once."""
        t0_ns = (self.t0 - EPOCH) // timedelta(microseconds=1) * 1000
        left_s = 1 - (now_ns - self.start_ns + t0_ns) % _NS / _NS
        return left_s if left_s > SHORTEST_S else left_s + 1


class _Scrape(threading.Thread):
    """Asks one exporter at each whole second of the site's clock until `end`, and then once more:
    the last part of a second counts as well."""

    def __init__(
        self,
        order: ScrapeOrder,
        run_id: int,
        clock: RunClock,
        end: threading.Event,
        tell: Callable[[Scraped], None],
    ):
        super().__init__(name=f"scrape {order.name}", daemon=True)
        self._order, self._run_id, self._clock = order, run_id, clock
        self._end, self._tell = end, tell
        self._seconds = ExporterSeconds(order.name if order.is_server else "")
        self._profile = {PROFILE: f"{order.profile} run-{run_id}-{secrets.token_hex(8)}"}
        self._n_failed, self._n_problems, self._problem = 0, 0, ""

    def run(self) -> None:
        try:
            with contextlib.closing(ExporterClient(self._order)) as client:
                self._take(client)
                while not self._end.wait(self._clock.to_next_second_s(time.monotonic_ns())):
                    self._take(client)
                self._take(client, is_last=True)
                if self._order.profile and not self._order.is_server:
                    self._store_profile(client)
        except Exception:  # a fault of ours: the run goes on without this exporter
            logger.exception("The exporter %s is not scraped any more", self._order.name)

    def _take(self, client: ExporterClient, is_last: bool = False) -> None:
        headers = {PERF: str(self._order.perf)} if self._order.perf else {}
        run_second = self._clock.second_of(time.monotonic_ns())
        # A profile is of the measurement, without the warm-up.
        if self._order.profile and run_second is not None and run_second >= 0:
            headers |= self._profile
        try:
            second = self._seconds.take(*client.ask(headers))
        except (ScrapeFailed, NotExposition, NothingKnown) as fault:
            self._n_failed += 1
            if is_last or self._n_failed >= FAILURES_TO_SAY:
                self._say(str(fault))
            return
        self._n_failed = 0
        if self._seconds.trouble:
            self._say(self._seconds.trouble)
        elif second:
            self._problem = ""
            number, row = self._clock.second_of(second.middle_ns), None
            if number is not None:  # it sends
                row = machine_second(
                    run=self._run_id,
                    source=self._order.name,
                    second=number,
                    lasted_s=second.lasted_s,
                    did=second.did,
                )
            self._tell(Scraped(self._order, row, tuple(self._seconds.offers)))

    def _store_profile(self, client: ExporterClient) -> None:
        """Reading it may take longer than the run is waited for."""
        ended_s = self._clock.time_of(time.monotonic_ns())
        use_own_connection()
        try:
            profile = read_profile(json.loads(client.profile(self._profile)), ended_s)
            retry(
                lambda: take_profile(run_id=self._run_id, source=self._order.name, profile=profile),
                for_s=60,
            )
        except (ScrapeFailed, ValueError, InvalidFields) as fault:  # it is no agent, or went away
            logger.info("%s has no profile: %s", self._order.name, fault)
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _say(self, problem: str) -> None:
        """Once, until it tells something or fails in another way."""
        if problem != self._problem and self._n_problems < MOST_PROBLEMS:
            self._problem, self._n_problems = problem, self._n_problems + 1
            self._tell(Scraped(self._order, problem=problem))


class Scraping:
    """The exporters of a run, from shortly before its start to its end. No method raises."""

    def __init__(self, lease: Lease, orders: Sequence[ScrapeOrder]):
        self._lease, self._orders = lease, orders
        self._results: queue.SimpleQueue[Scraped] = queue.SimpleQueue()
        self._end, self._give_up = threading.Event(), threading.Event()
        self._scrapes: list[_Scrape] = []
        self._storing: threading.Thread | None = None

    def begin(self, start_ns: int, t0: datetime) -> None:
        """Sending starts at `start_ns`, CLOCK_MONOTONIC, which is `t0` by the site's clock."""
        if not self._orders:
            return
        clock = RunClock(start_ns, t0, self._lease.order["plan"].get("warm_up_s", 0))
        self._scrapes = [
            _Scrape(order, self._lease.run_id, clock, self._end, self._results.put)
            for order in self._orders
        ]
        self._storing = threading.Thread(target=self._store_all, name="scraped", daemon=True)
        for thread in (*self._scrapes, self._storing):
            thread.start()

    def end(self) -> None:
        """The load has ended. Does not wait."""
        self._end.set()

    def close(self) -> None:
        """Wait a moment for the last seconds to be stored."""
        self._end.set()
        if self._storing:
            self._storing.join(CLOSE_S)
        self._give_up.set()

    def _store_all(self) -> None:
        use_own_connection()
        try:
            waiting: list[Scraped] = []
            while not self._end.wait(STORE_EVERY_S):
                try:
                    self._store(waiting)
                except UNREACHABLE:
                    drop_connection()
            for scrape in self._scrapes:
                scrape.join(CLOSE_S)
            retry(lambda: self._store(waiting), for_s=3600, give_up=self._give_up)
        except UNREACHABLE as error:
            logger.warning("What exporters told is not stored: %s", first_line_of(error))
        except Exception:  # a fault of ours: the run goes on without them
            logger.exception("What exporters told is not stored any more")
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _store(self, waiting: list[Scraped]) -> None:
        """Those that wait, and what has come since."""
        waiting += [self._results.get() for _ in range(self._results.qsize())]
        if waiting:
            take_scraped(run_id=self._lease.run_id, scraped=waiting)
            waiting.clear()

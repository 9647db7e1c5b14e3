"""Sends single requests with the injector program: the same engine and clocks as a run.

This is a thread of the dispatcher, of which only one is active: so it knows who has a slot. Each
request has an injector process of its own.

Looks for the file that proves a host to be a project's own, at each of its addresses.

What is dialled is a literal address that was vetted, so a name may change meanwhile. Nothing is
followed, little is read, and all requests of a check have one deadline."""

import json
import logging
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings

from campaigns.domain.errors import Refused
from campaigns.domain.plan.addresses import (
    MOST_ADDRESSES,
    HostCheck,
    parse_address,
    parse_networks,
    place_of,
    proof_fault,
    proof_path,
    vet,
    why_not_checked,
    written,
)
from campaigns.domain.plan.target import Origin
from campaigns.models import Probe
from campaigns.probes.services.probes import (
    ANSWER_WITHIN_S,
    SLOTS,
    claim_in_turn,
    died,
    finish_probe,
    order_of,
    settle_campaigns,
    unwanted,
)
from workers.database import UNREACHABLE, drop_connection
from workers.dialling import dial, left_s, tls_context
from workers.injector_process import bind_child
from workers.side_threads import SideThread

logger = logging.getLogger(__name__)

EVERY_S = 5.0
# A start takes a core for a quarter of a second: 20 at once would delay a campaign by seconds.
STARTS_AT_ONCE, START_WITHIN_S = 2, 1.0
_SILENT = "The injector program exited without an answer. See the dispatcher's log."
_EXITED = "The injector program exited at once. See the dispatcher's log."
_TOO_BUSY = (
    "The injector program had no answer after {:g} s and was ended: its machine is too busy. Try "
    "again when other programs there have finished."
)


class InjectorCall:
    """An order for one request to a new injector process, and what comes back."""

    def __init__(
        self,
        order: dict[str, Any],
        command: Sequence[str] = (),
        on_start: Callable[[], None] = lambda: None,
    ):
        """`on_start` is called when the program has started, or has had its time for that."""
        self._order = order
        self._command = command or settings.INJECTOR_COMMAND
        self._on_start = on_start
        self.is_starting = True
        self._process: subprocess.Popen | None = None
        self._instead: dict[str, Any] | None = None

    def end(self, instead: dict[str, Any]) -> None:
        """Have it answered with this; any thread may call it at any time."""
        self._instead = self._instead or instead
        if self._process:
            self._process.kill()

    def answer(self, limit_s: float = ANSWER_WITHIN_S) -> dict[str, Any]:
        """A failure is an answer too. `limit_s`: for an injector that hangs; its own limits are
        shorter."""
        if self._instead:
            return self._instead
        self._process = process = subprocess.Popen(
            self._command,
            cwd=settings.BASE_DIR,
            # The program needs none of our secrets.
            env={"PATH": os.environ.get("PATH", "")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=bind_child,
        )
        watchdog = threading.Timer(limit_s, self.end, [_failure(_TOO_BUSY.format(limit_s))])
        watchdog.start()
        try:
            # Before the order is written: `end` may have looked for the process too early.
            answer = None if self._instead else self._converse(process)
            return answer or self._instead or _failure(_SILENT)
        finally:
            watchdog.cancel()
            process.kill()
            process.wait()
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()

    def _converse(self, process: subprocess.Popen) -> dict[str, Any] | None:
        """None without an answer. Keeps standard input open: the injector would take its end for a
        dead parent."""
        try:
            process.stdin.write(json.dumps(self._order) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return _failure(_EXITED)
        poll = select.poll()  # select() takes no descriptor above 1,023
        poll.register(process.stdout, select.POLLIN)
        poll.poll(1000 * START_WITHIN_S)
        self.is_starting = False
        self._on_start()
        for line in process.stdout:
            with suppress(ValueError):
                match json.loads(line):
                    case {"type": "probe"} as answer:
                        return answer
                    case {"type": "refused"} as refusal:
                        kind = refusal.get("kind", "client_other")
                        return _failure(refusal.get("reason", ""), kind)
        return None


class _Pending(NamedTuple):
    probe: Probe
    call: InjectorCall
    answer: Future


class SingleRequestsThread(SideThread):
    """Gives slots to the requests whose turn it is, and stores their answers."""

    def __init__(self, shutdown: threading.Event, is_active: Callable[[], bool]):
        super().__init__("single requests", EVERY_S, shutdown, is_active)
        self._pool = ThreadPoolExecutor(SLOTS, "single request")
        self._calls: dict[int, _Pending] = {}

    def run(self) -> None:
        super().run()
        for each in self._calls.values():
            each.call.end(died())
        wait(each.answer for each in self._calls.values())
        with suppress(*UNREACHABLE):
            self._store_answers()
        drop_connection()

    def act(self) -> None:
        self._store_answers()
        for pk, result in unwanted(asked=self._calls).items() if self._calls else ():
            self._calls[pk].call.end(result)
        n_starting = sum(each.call.is_starting for each in self._calls.values())
        busy = [each.probe for each in self._calls.values()]
        for probe in claim_in_turn(busy=busy, most=STARTS_AT_ONCE - n_starting):
            try:
                call = InjectorCall(order_of(probe), on_start=self.ask)
            except Refused as refusal:  # such as a secret that no key decrypts
                finish_probe(probe_id=probe.pk, result=_failure(str(refusal)))
                continue
            answer = self._pool.submit(call.answer)
            self._calls[probe.pk] = _Pending(probe, call, answer)
            answer.add_done_callback(lambda _: self.ask())

    def _store_answers(self) -> None:
        answers = [each for each in self._calls.values() if each.answer.done()]
        for probe, _, answer in answers:
            if fault := answer.exception():
                logger.error("A single request failed", exc_info=fault)
            result = _failure(_EXITED) if fault else answer.result()
            finish_probe(probe_id=probe.pk, result=result)
            del self._calls[probe.pk]
        if any(each.probe.campaign_id for each in answers):
            settle_campaigns()


def _failure(detail: str, kind: str = "client_other") -> dict[str, Any]:
    return {"type": "probe", "error": kind, "detail": detail}


LIMIT_S = 5.0
LIMIT_OF_ALL_S = 20.0
MOST_BYTES = 4096


def check_host(
    host: str,
    origins: Iterable[Origin],
    addresses: Collection[str],
    token: str,
    never: Collection[str] = (),
) -> HostCheck:
    """A port is proven if the file is at all addresses of the host that no list has: any of them
    may be dialled. `never` are servers of the installation, as 10.0.0.5:5432."""
    if not addresses:
        return HostCheck(faults=(f"The name server has no address for {host}.",))
    if len(addresses) > MOST_ADDRESSES:
        fault = f"{host} has {len(addresses)} addresses; at most {MOST_ADDRESSES} are checked."
        return HostCheck(faults=(f"{fault} Ask for an approval of a host with fewer.",))
    networks = parse_networks(settings.ALLOWED_NETWORKS)
    places: list[str] = []
    proven: list[str] = []
    faults: list[str] = []
    ends = time.monotonic() + LIMIT_OF_ALL_S
    for origin in origins:
        places += [place_of(address, origin.port) for address in addresses]
        to_prove = [each for each in addresses if vet(each, origin.port, networks)]
        if fault := _fault(origin, to_prove, token, never, ends):
            faults.append(fault)
        else:
            proven += [place_of(address, origin.port) for address in to_prove]
    return HostCheck(tuple(places), tuple(proven), tuple(dict.fromkeys(faults)))


def _fault(
    origin: Origin, addresses: Collection[str], token: str, never: Collection[str], ends: float
) -> str:
    """Why this port is not proven at these addresses; "" where it is, or none needs a proof."""
    for address in addresses:
        if why := why_not_checked(address):
            return why
        service = written(parse_address(address), origin.port)
        if service in never:
            return f"{service} is a server of this installation; no load is ever sent there."
    for address in addresses:
        try:
            limit_s = min(LIMIT_S, left_s(ends))
            why = proof_fault(fetch(origin, address, proof_path(token), limit_s), token)
        except (OSError, ValueError) as error:
            why = f"there was no answer ({error})"
        if why:
            return f"{origin}, asked at {address}: {why}."
    return ""


def fetch(origin: Origin, address: str, path: str, limit_s: float = LIMIT_S) -> bytes:
    """The beginning of the raw reply of the server at this address. Raises OSError, ValueError."""
    ends = time.monotonic() + limit_s
    with dial(origin, address, ends, tls_context(origin)) as connection:
        host = str(origin).partition("://")[2]
        # In HTTP/1.0 no server sends chunks, and it closes at the end.
        request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: benchsite\r\n\r\n"
        connection.settimeout(left_s(ends))
        connection.sendall(request.encode("ascii"))
        reply = b""
        while len(reply) < MOST_BYTES:
            connection.settimeout(left_s(ends))
            data = connection.recv(MOST_BYTES - len(reply))
            if not data:
                break
            reply += data
        return reply

"""One request or WebSocket in full detail: status, headers, timing parts, certificates."""

import base64
from dataclasses import replace
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind, printable, redacted
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.step import Redirects
from workers.injector import faults, http1
from workers.injector.attempt import interrupt_overdue, kind_of
from workers.injector.connection import NS, Dialler, now
from workers.injector.crew import protocol_of
from workers.injector.guard import Guard, resolve
from workers.injector.order import Order, Refusal
from workers.injector.prober import Prober
from workers.injector.recorder import StepRecorder
from workers.injector.redirects import follow
from workers.injector.reply import ReplyReader
from workers.injector.request import Request, signed_steps
from workers.injector.request_keeper import secrets_of
from workers.injector.websocket.exchange_context import ExchangeContext
from workers.injector.websocket.probe import WebSocketProber

_NOTHING = {"status": None, "reason": "", "headers": [], "body_bytes": 0, "snippet": ""}
_SWEEP_S = 0.05


class HttpProber(Prober):
    """One request on a new connection."""

    def __init__(self, dialler: Dialler, request: Request, looker: Dialler | None):
        super().__init__(dialler, request, looker)
        self.reader = ReplyReader(request.memo, self.keep_bytes)

    def fetch(self) -> None:
        connection = self.connect()
        self._send_rest(connection, self.request.data, 0)
        self.instants["send"] = now()
        data = self._receive(connection, Kind.FIRST_BYTE_TIMEOUT)
        self.instants["wait"] = now()
        self._reader = self.reader
        first = self.instants["wait"]
        self.read_to_end(connection, self.reader, self.reader.feed, data, first)
        self.instants["receive"] = now()

    def count_bytes(self) -> tuple[int, int]:
        is_sent = "send" in self.instants
        return self.request.size_bytes if is_sent else 0, self.reader.received_bytes

    def reply_facts(self) -> dict[str, Any]:
        head = self.reader.head
        return {
            "status": head.status if head else None,
            "reason": head.reason if head else "",
            "headers": [list(pair) for pair in head.headers] if head else [],
            "body_bytes": self.reader.body_bytes,
            **self.said_of(self.reader),
        }


def run(order: Order) -> dict[str, Any]:
    """Make the order's single attempt, with the redirects that it follows; returns the `probe`
    message, also for a failed attempt."""
    answer = _attempt(order)
    return answer if order.plan.redirects == Redirects.OFF else follow(order, answer, _attempt)


def _attempt(order: Order) -> dict[str, Any]:
    guard = Guard(order.endpoint, order.allowed, order.never)
    # Before the clock starts: loading the trusted certificates takes longer than the request.
    prober = _make_prober(order, guard)
    began = now()
    try:
        guard.admit(resolve(order.endpoint.dialled, order.endpoint.port))
    except Refusal as refusal:
        return _answer(None, began, {}, refusal.kind, str(refusal))
    lookup_end = now()
    if is_address(order.endpoint.dialled):
        began, instants = lookup_end, {}
    else:
        instants = {"dns": lookup_end}
    error = _fetch(prober, int(order.plan.timeouts.total_s * NS))
    kind = error and kind_of(error, *prober.count_bytes())
    detail = faults.detail_of(error, kind) if error else ""
    secrets = secrets_of(order.plan.auth.user, order.secret)
    outcome = kind, redacted(printable(detail), secrets)
    return _answer(prober, began, instants | prober.instants, *outcome)


def _make_prober(order: Order, guard: Guard) -> Prober:
    settings = order.endpoint, guard, ConnectionMode.NEW, order.plan.timeouts
    dialler = Dialler(*settings, protocol=protocol_of(order.plan))
    looker = None
    if order.endpoint.is_tls:
        # Takes any certificate, and never sends a request.
        tls = replace(order.endpoint.tls, fingerprint="")
        lenient = replace(order.endpoint, verify_tls=False, tls=tls)
        looker = Dialler(lenient, guard, ConnectionMode.NEW, order.plan.timeouts)
    if order.plan.exchange is not None:
        return WebSocketProber(dialler, ExchangeContext.of(order), order.message, looker)
    if order.plan.http_version == HttpVersion.HTTP_2:
        from workers.injector.http2.link import make_prober

        return make_prober(order, dialler, looker)
    step = signed_steps(order.plan, order.secret)[0]
    host = http1.authority(order.endpoint.scheme, order.endpoint.host, order.endpoint.port)
    data = http1.request_bytes(step, host, ConnectionMode.NEW, order.plan.http_version)
    request = Request(order.plan, step, data, StepRecorder(0, len(data), is_scheduled=False))
    return HttpProber(dialler, request, looker)


def _fetch(prober: Prober, total_ns: int) -> Exception | None:
    failure: list[Exception] = []

    def fetch() -> None:
        try:
            prober.fetch()
        except Exception as error:
            failure.append(error)

    greenlet = gevent.Greenlet(fetch)
    prober.switch = greenlet.switch
    timer = gevent.get_hub().loop.timer(_SWEEP_S, _SWEEP_S)
    timer.start(lambda: interrupt_overdue([prober], now(), total_ns))
    greenlet.start()
    greenlet.join()
    timer.stop()
    # Left to the garbage collector, its watcher would outlive its socket, and libev aborts then.
    prober.drop_connection()
    return failure[0] if failure else None


def _answer(
    prober: Prober | None, began: int, instants: dict[str, int], error: str | None, detail: str
) -> dict[str, Any]:
    # The completed parts, each measured from the end of the previous one, so they add up.
    parts, before = {}, began
    for name, instant in instants.items():
        parts[name] = instant // 1000 - before // 1000
        before = instant
    return {
        "type": "probe",
        **(prober.reply_facts() if prober else _NOTHING),
        "parts_us": parts,
        "response_us": max(instants.values(), default=now()) // 1000 - began // 1000,
        "error": error,
        "detail": detail,
        "peer": next(iter(prober.dialler.peers), "") if prober else "",
        "tls": prober.tls if prober else None,
        "certificates_der_b64": [
            base64.b64encode(each).decode() for each in (prober.certificates if prober else [])
        ],
    }

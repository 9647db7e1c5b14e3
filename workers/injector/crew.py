"""One order's requests, their recorders, and the workers that send them.

Chooses the driver for an order, and says what it needs and how much it will send."""

from collections.abc import Callable, Sequence
from typing import Any

from campaigns.domain.metrics.kept_requests import most_kept
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan import arrivals, flows
from campaigns.domain.plan.arrivals import LoadSlice
from campaigns.domain.plan.load import Hold, Model, planned_arrivals
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import HttpVersion, makes_visits
from campaigns.domain.plan.step import Redirects, Step
from workers.injector import http1
from workers.injector.attempt import Worker
from workers.injector.connection import NS, Dialler
from workers.injector.following import FollowingWorker
from workers.injector.loads import ClosedLoad, OpenLoad, SpreadDialler, over_addresses
from workers.injector.order import Order
from workers.injector.pipeline import PipelineWorker
from workers.injector.recorder import StepRecorder
from workers.injector.redirects import Origins, RedirectWorker
from workers.injector.request import (
    CheckedRequest,
    Request,
    requests_at_once,
    signed_steps,
    streams_of,
    wire_mode,
)
from workers.injector.request_keeper import RequestKeeper, secrets_of
from workers.injector.session import SessionWorker
from workers.injector.users import SessionContext, VisitRecorder
from workers.injector.visits import VisitLoad, VisitWindow
from workers.injector.websocket.exchange_context import ExchangeContext, ExchangeRecorder
from workers.injector.websocket.worker import SilentWorker, WebSocketWindow, WebSocketWorker
from workers.injector.window import Marks, WindowLoad, make_http_opener

_CLOSED = {Model.CLOSED, Model.SEQUENTIAL}


class Crew:
    """`requests` has one entry per step; a WebSocket plan has a single one, its `exchange`.

    `sessions` is what the workers of a plan with sessions share. `streams` makes those of HTTP/2.
    `recorders` are in step order.
    """

    def __init__(
        self,
        order: Order,
        dialler: Dialler,
        make_recorder: Callable[..., StepRecorder] = StepRecorder,
        make_exchange_recorder: Callable[..., ExchangeRecorder] = ExchangeRecorder,
    ):
        plan = order.plan
        self._make_recorder = make_recorder
        self._order = order
        self._dialler = dialler
        self._mode = wire_mode(plan, order.mode)
        self._is_spread = isinstance(dialler, SpreadDialler)
        is_http2 = plan.http_version == HttpVersion.HTTP_2
        self.streams: Any = None
        if is_http2:
            # Loaded only for HTTP/2: its tables are of no use to others.
            from workers.injector.http2.worker import StreamCrew

            self.streams = StreamCrew(order, dialler)
        self.exchange = (
            None if plan.exchange is None else ExchangeContext.of(order, make_exchange_recorder)
        )
        self._exchange_worker = _exchange_worker(plan)
        steps = [] if self.exchange else signed_steps(plan, order.secret)
        requests = [self._make_request(number, step) for number, step in enumerate(steps)]
        self.requests: list[Request] = [self.exchange] if self.exchange else requests
        self.recorders = [request.recorder for request in self.requests]
        self.keeper = RequestKeeper(most_kept(plan, order.shard.count))
        for recorder in self.recorders:
            recorder.keeper = self.keeper
            recorder.examples.secrets = secrets_of(plan.auth.user, order.secret)
        has_sessions = self.exchange is None and not plan.is_plain
        at_once = requests_at_once(plan, order.mode)
        self.sessions = (
            SessionContext(order, requests, self._request_bytes, at_once) if has_sessions else None
        )
        if plan.redirects != Redirects.OFF:
            self.sessions.origins = Origins(order, dialler)

    def make_worker(self) -> Worker:
        if self.exchange is not None:
            return self._exchange_worker(self._dialler)
        if self.streams is not None:
            return self.streams.make_worker(self.sessions)
        keeps = self._mode == ConnectionMode.KEEP_ALIVE
        if self.sessions is not None:
            make = SessionWorker
            if self.sessions.origins is not None:
                make = RedirectWorker
            elif keeps and self.sessions.session.pipeline_depth > 1:
                make = PipelineWorker
            make = over_addresses(make) if self._is_spread else make
            return make(self.sessions, self._dialler, keeps)
        if self._is_spread:
            return over_addresses(Worker)(self._dialler, keeps)
        return FollowingWorker(self._dialler) if keeps else Worker(self._dialler, keeps)

    @property
    def servers(self) -> list[str]:
        """The distinct Server headers of the replies; not collected for WebSockets."""
        if self.exchange is not None:
            return []
        return list(dict.fromkeys(name for each in self.requests for name in each.memo.servers))

    @property
    def by_peer(self) -> dict[str, Total]:
        """What went to each address, if load goes over several."""
        totals: dict[str, Total] = {}
        for recorder in self.recorders:
            for peer, total in recorder.by_peer.totals.items():
                totals.setdefault(peer, Total()).add(total)
        return totals

    @property
    def visits(self) -> list[tuple[int, VisitRecorder]]:
        """What counts sessions and visits, with the step whose seconds have them."""
        return [] if self.sessions is None else self.sessions.visits

    @property
    def sessions_in_flight(self) -> int | None:
        """Sessions that have begun and not ended; None where none are counted."""
        each = [visits.n_under_way for _, visits in self.visits if visits.has_sessions]
        return sum(each) if each else None

    def begin(self, zero_ns: int, end_ns: int | None) -> None:
        """Call before the load starts; `end_ns` is None if only requests end the measurement."""
        if self.exchange is not None and self._order.plan.load.model in _CLOSED:
            # What arrived, or a window opened, says all that the plan has.
            self.exchange.zero_ns, self.exchange.end_ns = zero_ns, end_ns
            if end_ns is not None:
                self.exchange.recorder.grace_ns = self.exchange.close_ns
        if self.sessions is not None:
            self.sessions.begin(zero_ns, end_ns)

    def close(self) -> None:
        """At the end: close the connections that no single worker has."""
        if self.streams is not None:
            self.streams.close()

    def stop(self) -> None:
        for context in (self.exchange, self.sessions):
            if context is not None:
                context.stop()

    def _make_request(self, number: int, step: Step) -> Request:
        plan = self._order.plan
        data = self._request_bytes(step)
        recorder = self._make_recorder(
            number,
            len(data),
            arrivals.is_scheduled(plan.load),
            has_calls_between=makes_visits(plan.load, plan.session),
        )
        if self.streams is not None:
            return self.streams.make_request(step, data, recorder)
        return (CheckedRequest if step.checks else Request)(plan, step, data, recorder)

    def _request_bytes(self, step: Step, is_last: bool = False) -> bytes:
        """`is_last`: the last request on a kept connection, which HTTP/2 does not announce."""
        if self.streams is not None:
            return self.streams.request_data(step)
        endpoint = self._order.endpoint
        host = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
        mode = ConnectionMode.NEW if is_last else self._mode
        return http1.request_bytes(step, host, mode, self._order.plan.http_version)


def _exchange_worker(plan: Plan) -> type[WebSocketWorker]:
    """A window has its say in the middle of a connection, so its workers do all by themselves."""
    is_silent = plan.exchange is not None and not plan.exchange.talks
    return SilentWorker if is_silent and plan.load.model != Model.WINDOW else WebSocketWorker


Load = ClosedLoad | OpenLoad | WindowLoad


def protocol_of(plan: Plan) -> str:
    """What ALPN offers."""
    return "h2" if plan.http_version == HttpVersion.HTTP_2 else "http/1.1"


def requests_of(plan: Plan, shard: LoadSlice) -> int | None:
    """How many requests this process will send; None if only time ends the load, or where it
    depends on which flows arrive."""
    count = arrivals_of(plan, shard)
    if count is None or not (plan.flows and arrivals.is_scheduled(plan.load)):
        return None if count is None else count * plan.calls_per_arrival
    return flows.requests_of(plan.flows, count) if shard.count == 1 else None


def arrivals_of(plan: Plan, shard: LoadSlice) -> int | None:
    """How many arrivals, connections of a window or requests it has; None: only time ends it."""
    load = plan.load
    if arrivals.is_scheduled(load):
        return len(shard.own(0, planned_arrivals(load)))
    if load.model == Model.WINDOW:
        numbers = arrivals.numbers_of(load, shard)
        return None if numbers is None else len(numbers)
    return arrivals.requests_of(load, shard)


def connections_of(plan: Plan, shard: LoadSlice) -> tuple[int, int | None]:
    """(connections needed at once, connections it can use; None: any number).

    Arrivals of an open load can wait in the queue, so the connections of one arrival are enough.
    """
    load = plan.load
    if arrivals.is_scheduled(load):
        of_each = plan.session.connections_per_session or 1
        return of_each, load.max_in_flight * of_each
    if load.model != Model.WINDOW:
        n_connections = arrivals.connections_of(load, shard)
        return n_connections, n_connections
    is_kept = load.hold == Hold.KEEP_UNTIL_ALL
    return max(load.high, arrivals_of(plan, shard) or 0 if is_kept else 0), None


def make_driver(
    order: Order,
    requests: Sequence[Request],
    make_worker: Callable[[], Worker],
    n_connections: int,
    context: SessionContext | None,
) -> Load:
    """The driver; it may have up to `n_connections` open at once."""
    plan, shard = order.plan, order.shard
    load = plan.load
    has_visits = context is not None and context.makes_visits
    if load.model == Model.WINDOW:
        settings = (
            make_worker,
            arrivals.numbers_of(load, shard),
            Marks(load.low, load.high, n_connections),
            (load.hold, load.hold_s or 0.0),
            requests[0].events,
            arrivals.start_offset_ns(load, shard),
        )
        if plan.exchange is not None:
            return WebSocketWindow(requests[0], *settings)
        if has_visits:
            return VisitWindow(requests, context, *settings)
        return WindowLoad(make_http_opener(requests), *settings)
    if arrivals.is_scheduled(load):
        schedule = arrivals.schedule(load, plan.warm_up_s, shard, order.seed)
        drain_ns = int(plan.timeouts.total_s * NS)
        most = n_connections // (plan.session.connections_per_session or 1)
        settings = requests, make_worker, schedule, most, drain_ns, load.when_saturated
        if has_visits:
            return VisitLoad(*settings, context=context)
        return OpenLoad(*settings)
    offsets_ns, limit = arrivals.ramp_offsets_ns(load, shard), arrivals.requests_of(load, shard)
    if plan.http_version == HttpVersion.HTTP_2:
        from workers.injector.http2.worker import ClosedStreams

        n_streams = streams_of(plan, order.mode)
        each_ns = [offset_ns for offset_ns in offsets_ns for _ in range(n_streams)]
        return ClosedStreams(requests, make_worker, shard, each_ns, limit)
    return ClosedLoad(requests, make_worker, shard, offsets_ns, limit)

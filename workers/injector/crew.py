"""One order's requests, their recorders, and the workers that send them."""

from collections.abc import Callable
from typing import Any

from campaigns.domain.metrics.kept_requests import most_kept
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan import arrivals
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.redirects import Redirects
from campaigns.domain.plan.session import makes_visits
from campaigns.domain.plan.step import Step
from workers.injector import http1
from workers.injector.attempt import Worker
from workers.injector.connection import Dialler
from workers.injector.credentials import signed_steps
from workers.injector.examples import secrets_of
from workers.injector.following import FollowingWorker
from workers.injector.modes import requests_at_once, wire_mode
from workers.injector.order import Order
from workers.injector.pipeline import PipelineWorker
from workers.injector.recorder import StepRecorder
from workers.injector.redirects import Origins, RedirectWorker
from workers.injector.request import CheckedRequest, Request
from workers.injector.request_keeper import RequestKeeper
from workers.injector.session import SessionWorker
from workers.injector.spread import SpreadDialler, over_addresses
from workers.injector.users import SessionContext
from workers.injector.visit_recorder import VisitRecorder
from workers.injector.websocket.exchange_context import ExchangeContext
from workers.injector.websocket.recorder import ExchangeRecorder
from workers.injector.websocket.silent import SilentWorker
from workers.injector.websocket.worker import WebSocketWorker

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
        self.streams = _stream_crew(order, dialler) if is_http2 else None
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
            make = _worker_class(self.sessions, keeps)
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
        for shared in (self.exchange, self.sessions):
            if shared is not None:
                shared.stop()

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


def _worker_class(context: SessionContext, keeps: bool) -> type[SessionWorker]:
    """Pipelining needs a kept connection."""
    if context.origins is not None:
        return RedirectWorker
    return PipelineWorker if keeps and context.session.pipeline_depth > 1 else SessionWorker


def _exchange_worker(plan: Plan) -> type[WebSocketWorker]:
    """A window has its say in the middle of a connection, so its workers do all by themselves."""
    is_silent = plan.exchange is not None and not plan.exchange.talks
    return SilentWorker if is_silent and plan.load.model != Model.WINDOW else WebSocketWorker


def _stream_crew(order: Order, dialler: Dialler) -> Any:
    """Loaded only for HTTP/2: its tables are of no use to others."""
    from workers.injector.http2.crew import StreamCrew

    return StreamCrew(order, dialler)

"""The workers of a plan of HTTP/2, and which of them share their connections."""

from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import makes_visits
from campaigns.domain.plan.step import Step
from workers.injector import http1
from workers.injector.connection import Dialler
from workers.injector.http2.pool import Pool
from workers.injector.http2.request import (
    CheckedStreamRequest,
    StreamRequest,
    request_data,
    request_text,
)
from workers.injector.http2.worker import (
    OnStreams,
    RedirectStreamWorker,
    StreamSessionWorker,
    StreamWorker,
)
from workers.injector.modes import streams_of, wire_mode
from workers.injector.order import Order
from workers.injector.recorder import StepRecorder
from workers.injector.spread import SpreadDialler, over_addresses
from workers.injector.users import SessionContext


class StreamCrew:
    """Makes workers in the order in which their driver begins them: in a closed load each so many
    share a connection of their own; visitors and openings of a window have their own connections;
    requests that arrive share all."""

    def __init__(self, order: Order, dialler: Dialler):
        self._plan = order.plan
        self._dialler = dialler
        self._is_spread = isinstance(dialler, SpreadDialler)
        self._scheme = order.endpoint.scheme
        endpoint = order.endpoint
        self._authority = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
        self._keeps = wire_mode(order.plan, order.mode) == ConnectionMode.KEEP_ALIVE
        self._streams = streams_of(order.plan, order.mode)
        self._sharers = _sharers(order.plan, self._streams)
        self._pools: list[Pool] = []
        self._n_workers = 0

    def request_data(self, step: Step) -> bytes:
        return request_data(step, self._scheme, self._authority)

    def make_request(self, step: Step, data: bytes, recorder: StepRecorder) -> StreamRequest:
        text = request_text(step, self._authority)
        make = CheckedStreamRequest if step.checks else StreamRequest
        return make(self._plan, step, data, recorder, text)

    def make_worker(self, sessions: SessionContext | None) -> OnStreams:
        nth, self._n_workers = self._n_workers, self._n_workers + 1
        if not self._pools or (self._sharers and nth % self._sharers == 0):
            self._pools.append(self._make_pool())
        pool = self._pools[-1]
        pool.n_workers += 1
        if sessions is not None:
            make = StreamSessionWorker if sessions.origins is None else RedirectStreamWorker
            make = over_addresses(make) if self._is_spread else make
            return make(sessions, self._dialler, pool)
        make = over_addresses(StreamWorker) if self._is_spread else StreamWorker
        return make(self._dialler, pool)

    def _make_pool(self) -> Pool:
        session, is_connection = self._plan.session, self._plan.load.counts_connections
        # A connection that arrived ends with its visit, or is held.
        uses = None if is_connection else session.calls_per_connection or None
        return Pool(
            self._dialler,
            self._streams,
            uses if self._keeps else 1,
            (session.connections_per_session or 1) if self._sharers else None,
            replaces=not is_connection,
        )

    @property
    def n_links(self) -> int:
        return sum(pool.n_usable for pool in self._pools)

    def want_links(self, least: int) -> None:
        """Where requests that arrive share all connections."""
        for pool in self._pools:
            pool.least = least

    def close(self) -> None:
        for pool in self._pools:
            pool.close()


def _sharers(plan: Plan, streams: int) -> int | None:
    """How many workers share connections of their own; None: all share all."""
    if plan.load.model in {Model.CLOSED, Model.SEQUENTIAL}:
        return streams
    # Of counted connections none may take another's place.
    has_own = plan.load.counts_connections or makes_visits(plan.load, plan.session)
    return 1 if has_own else None

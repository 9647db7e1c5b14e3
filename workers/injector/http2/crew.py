"""The workers of a plan of HTTP/2, and which of them share their connections."""

from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.step import Step
from workers.injector import http1
from workers.injector.connection import Dialler
from workers.injector.http2.pool import Pool
from workers.injector.http2.request import StreamRequest, request_data, request_text
from workers.injector.http2.worker import OnStreams, StreamSessionWorker, StreamWorker
from workers.injector.order import Order
from workers.injector.recorder import StepRecorder
from workers.injector.users import SessionContext


def streams_of(plan: Plan, mode: ConnectionMode) -> int:
    """Requests at a time on a connection: a new one for each request has only that."""
    return plan.streams if mode == ConnectionMode.KEEP_ALIVE else 1


class StreamCrew:
    """Makes workers in the order in which their driver begins them: in a closed load each so many
    share a connection of their own, in others all share all."""

    def __init__(self, order: Order, dialler: Dialler):
        self._plan = order.plan
        self._dialler = dialler
        self._scheme = order.endpoint.scheme
        endpoint = order.endpoint
        self._authority = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
        self._keeps = order.mode == ConnectionMode.KEEP_ALIVE
        self._streams = streams_of(order.plan, order.mode)
        self._has_own = _is_closed(order.plan.load)
        self._pools: list[Pool] = []
        self._n_workers = 0

    def request_data(self, step: Step) -> bytes:
        return request_data(step, self._scheme, self._authority)

    def make_request(self, step: Step, data: bytes, recorder: StepRecorder) -> StreamRequest:
        text = request_text(step, self._authority)
        return StreamRequest(self._plan, step, data, recorder, text)

    def make_worker(self, sessions: SessionContext | None) -> OnStreams:
        pool = self._next_pool()
        if sessions is not None:
            return StreamSessionWorker(sessions, self._dialler, pool)
        return StreamWorker(self._dialler, pool)

    def _next_pool(self) -> Pool:
        nth, self._n_workers = self._n_workers, self._n_workers + 1
        if not self._pools or (self._has_own and nth % self._streams == 0):
            uses = (self._plan.session.calls_per_connection or None) if self._keeps else 1
            most = 1 if self._has_own else None
            self._pools.append(Pool(self._dialler, self._streams, uses, most))
        return self._pools[-1]

    def close(self) -> None:
        for pool in self._pools:
            pool.close()


def _is_closed(load: Load) -> bool:
    return load.model in {Model.CLOSED, Model.SEQUENTIAL}

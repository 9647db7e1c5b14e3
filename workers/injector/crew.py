"""Who sends an order's load: its requests as bytes, their recorders, and the workers."""

from campaigns.domain.plan import arrivals
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.session import makes_visits
from campaigns.domain.plan.step import Step
from workers.injector import drivers, http1
from workers.injector.attempt import Request, Worker
from workers.injector.connection import Dialler
from workers.injector.credentials import signed_steps
from workers.injector.order import Order
from workers.injector.pipeline import worker_class
from workers.injector.recorder import StepRecorder
from workers.injector.users import Script, is_plain
from workers.injector.websocket.talk import Talk
from workers.injector.websocket.worker import Speaker


class Crew:
    """`requests` has one for each step, or the one `talk` of a WebSocket plan; `script` is what the
    users of a plan with sessions share. Recorders are in the order of the steps."""

    def __init__(self, order: Order, dialler: Dialler):
        plan = order.plan
        self._order = order
        self._dialler = dialler
        self._mode = drivers.wire_mode(plan, order.mode)
        self.talk = None if plan.exchange is None else Talk.of(order)
        steps = [] if self.talk else signed_steps(plan, order.secret)
        requests = [self._make_request(number, step) for number, step in enumerate(steps)]
        self.requests: list[Request] = [self.talk] if self.talk else requests
        self.recorders = [request.recorder for request in self.requests]
        is_scripted = self.talk is None and not is_plain(plan)
        self.script = Script(order, requests, self._request_bytes) if is_scripted else None

    def make_worker(self) -> Worker:
        if self.talk is not None:
            return Speaker(self._dialler)
        keeps = self._mode == ConnectionMode.KEEP_ALIVE
        if self.script is not None:
            return worker_class(self.script, keeps)(self.script, self._dialler, keeps)
        return Worker(self._dialler, keeps)

    @property
    def servers(self) -> list[str]:
        """What replies named as their server, each once; a WebSocket's opening is not asked."""
        if self.talk is not None:
            return []
        return list(dict.fromkeys(name for each in self.requests for name in each.memo.servers))

    def begin(self, zero_ns: int, end_ns: int | None) -> None:
        """Before the load is started: when measuring begins, and when it ends if time ends it."""
        if self.talk is not None:
            self.talk.zero_ns, self.talk.end_ns = zero_ns, end_ns
        if self.script is not None:
            self.script.begin(zero_ns, end_ns)

    def stop(self) -> None:
        for shared in (self.talk, self.script):
            if shared is not None:
                shared.stop()

    def _make_request(self, number: int, step: Step) -> Request:
        plan = self._order.plan
        data = self._request_bytes(step)
        recorder = StepRecorder(
            number,
            len(data),
            arrivals.is_scheduled(plan.load),
            has_calls_between=makes_visits(plan.load, plan.session),
        )
        return Request(plan, step, data, recorder)

    def _request_bytes(self, step: Step, is_last: bool = False) -> bytes:
        """`is_last`: a kept connection ends with this request."""
        endpoint = self._order.endpoint
        host = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
        mode = ConnectionMode.NEW if is_last else self._mode
        return http1.request_bytes(step, host, mode, self._order.plan.http_version)

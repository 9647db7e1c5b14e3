"""A worker that makes attempts one after the other, each on a stream of a shared connection.

The workers of a plan of HTTP/2, and which of them share their connections."""

from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import makes_visits
from campaigns.domain.plan.step import Step, Url
from workers.injector import faults, http1
from workers.injector.attempt import Worker, kind_of, kind_of_signal
from workers.injector.connection import NS, Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.following import Follow
from workers.injector.holding import Held
from workers.injector.http2.client import (
    CheckedStreamRequest,
    StreamRequest,
    request_data,
    request_text,
)
from workers.injector.http2.frames import NotProcessed
from workers.injector.http2.link import Link
from workers.injector.http2.pool import Pool
from workers.injector.http2.streams import Stream
from workers.injector.loads import ClosedLoad, SpreadDialler, over_addresses
from workers.injector.order import Order
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.redirects import MOST_CONNECTIONS, FollowsRedirects
from workers.injector.request import Request, streams_of, wire_mode
from workers.injector.session import Call, SessionWorker
from workers.injector.turn_loads import ClosedTurns
from workers.injector.users import SessionContext

_PAUSE_S = 0.01
# Of one request that servers do not take: each may close its connections as it likes.
_MOST_TIMES_SENT = 10
_RECORDED = object()


class OnStreams(Worker):
    """`place` is the link that the worker has a place on, if any; `stream` its latest stream.

    `stays`: it keeps its place from one attempt to the next, as long as nobody waits for one.
    `connection` is only there while the worker opens one: from then on the link has it.
    `follow`: in the hub, what the worker sends next while its attempts go on as usual, if anything.
    """

    __slots__ = ()

    pool: Pool
    place: Link | None
    stays: bool
    stream: Stream | None
    follow: Follow | None
    _marks: tuple[int, int, int, int]

    def attempt(self, request: Request, intended: int, start: int) -> float | None:
        """As in HTTP/1.1: make one attempt and record it; after a failure, the seconds to wait.

        With `follow`, further attempts may have been made by then, and a failure be that of the
        last of them.
        """
        self.request = request
        self.began = start
        n_times = 1
        while True:
            self.stream = None
            self._marks = (intended, start, 0, 0)
            try:
                self._exchange()
                break
            except NotProcessed as refusal:
                faults.forget_frames(refusal)
                if self._marks[1] != start:
                    intended, start, *_ = self._marks
                    n_times = 1
                if n_times == _MOST_TIMES_SENT or not self.pool.replaces:
                    return self._note_failure(refusal)
                instant = now()
                self.request.events["replayed"].append(instant)
                if self.stream.sent:
                    self.request.recorder.note_sent((instant, self.stream.sent_bytes))
                self.release()
                n_times += 1
            except Exception as error:
                return self._note_failure(error)
        if not self.stays or self.pool.waiting:
            self.release()
        self.began = 0
        return None

    def _exchange(self) -> None:
        """Send the request, await the reply and record that. Raises what ended the attempt."""
        link = self.place
        if link is None:
            link = self.place = self.pool.reserve(self)
        if link.connection is None:
            self._marks = *self._marks[:2], *self._open(link)
        self.stream = link.begin(self, self.request)
        if not (self._marks[3] or self.began & self._reads.mask):
            self._reads.time(self, link.connection, holder=link)
        signal = self._to_hub()
        if signal is _RECORDED:
            return
        stream = self.stream
        if signal is not stream:
            phase = Kind.FIRST_BYTE_TIMEOUT if stream.sent else Kind.WRITE_TIMEOUT
            kind = kind_of_signal(signal, Kind.BODY_TIMEOUT if stream.first else phase)
            # A server that ended the connection with an error may leave it open, and silent.
            if link.goodbye and kind != Kind.ABORTED_BY_STOP:
                raise AttemptFailed(Kind.H2_GOAWAY, link.goodbye)
            raise AttemptFailed(kind)
        if stream.failure is not None:
            raise stream.failure
        self._record(stream)

    def end(self, stream: Stream) -> None:
        """In the hub: the worker's stream has ended. The usual end needs no switch to the worker,
        who is left waiting for the reply to its next request."""
        if self.follow is None or stream.failure is not None:
            self.switch(stream)
            return
        self._record(stream)
        place = self.place
        may_follow = place.lets_stay and not self.pool.waiting
        next_request = self.follow() if may_follow else None
        if next_request is None:
            self.switch(_RECORDED)
            return
        request, start = next_request
        self.request, self.began = request, start
        self._marks = (start, start, 0, 0)
        self.stream = place.begin(self, request, stream)
        if not start & self._reads.mask:
            self._reads.time(self, place.connection, holder=place)

    def _open(self, link: Link) -> tuple[int, int]:
        """(when TCP was ready, when TLS was). Raises AttemptFailed."""
        try:
            connection = link.open(self)
        except AttemptFailed as failure:
            self.pool.fail(link, failure)
            raise
        return connection.connected_ns, connection.secured_ns

    def _record(self, stream: Stream) -> None:
        request, status = self.request, stream.head.status
        if not stream.memo.fits[status] and (fault := request.fault_in(stream)):
            detail = request.recorder.examples.clean(request, fault.detail)
            failure = (fault.kind, status, stream.sent_bytes, stream.received_bytes)
            failure += (False, detail, stream.head_bytes, stream.body_bytes)
            request.failures.append(Failure(*self._marks[:2], stream.end, *failure))
            request.recorder.examples.note_reply(request, fault, stream.end, stream)
            return
        intended, start, connected_ns, secured_ns = self._marks
        first = stream.first
        # A reply may come before the whole request was taken: then that was when it came.
        sent = stream.sent if 0 < stream.sent <= first else first
        request.record(
            (
                intended, start, connected_ns, secured_ns, sent, first, stream.end, status,
                stream.head_bytes, stream.body_bytes, stream.received_bytes,
            )
        )  # fmt: skip
        differs = stream.sent_bytes != request.size_bytes
        if differs and not intended < request.recorder.zero_ns <= stream.end:
            extra = stream.sent_bytes - request.size_bytes
            request.recorder.note_sent((stream.end, extra))

    def _note_failure(self, error: Exception) -> float:
        request, stream = self.request, self.stream
        intended, start, *_ = self._marks
        sent = received = sent_bytes = 0
        if stream is not None:
            self.place.give_up(stream)
            sent, received = stream.sent, stream.received_bytes
            sent_bytes = stream.sent_bytes if sent else 0
        kind = kind_of(error, sent, received)
        by_kernel = faults.is_socket_timeout(error, kind)
        end = now()
        detail = request.recorder.examples.clean(request, faults.detail_of(error, kind))
        failure = (kind, 0, sent_bytes, received, by_kernel, detail)
        request.failures.append(Failure(intended, start, end, *failure))
        request.recorder.examples.note(request, kind, 0, end, stream, str(error))
        self.drop_connection()
        self.release()
        self.limit = self.began = 0
        return _PAUSE_S if kind in faults.ABOUT_TO_SPIN else 0.0

    def await_place(self, until: int, longest_ns: int) -> None:
        """Before an attempt: wait for a place, at most until an instant or for so long."""
        if self.place is not None and not self.place.lets_stay:
            self.release()
        if self.place is None:
            self.place = self.pool.await_place(self, until, longest_ns)

    def release(self) -> None:
        """Let others have the place."""
        place, self.place = self.place, None
        if place is not None:
            self.pool.release(place)

    def detach(self) -> Held | None:
        """Let go of the connection, if there is one, and leave it open."""
        self.release()
        link = self.pool.take_out()
        if link is not None:
            link.keep_session()
        return link

    def sleep(self) -> object:
        """Wait to be switched to, and with what."""
        return self._to_hub()

    def starts_of(self, recorder: StepRecorder) -> list[int]:
        return [self.began] if self.request.recorder is recorder else []

    def wind_down(self) -> None:
        self.release()
        self.pool.part()


class StreamWorker(OnStreams):
    """Sends the requests that it is given."""

    __slots__ = ("_marks", "follow", "place", "pool", "stays", "stream")

    def __init__(self, dialler: Dialler, pool: Pool):
        super().__init__(dialler, keeps=True)
        self.pool = pool
        self.place = self.stream = self.follow = None
        self.stays = False


class StreamSessionWorker(SessionWorker, OnStreams):
    """Plays a user, whose connections others use at the same time, or its other workers."""

    __slots__ = ("_marks", "follow", "place", "pool", "stays", "stream")

    def __init__(self, context: SessionContext, dialler: Dialler, pool: Pool):
        super().__init__(context, dialler, keeps=True)
        self.pool = pool
        self.place = self.stream = self.follow = None
        self.stays = False

    def join(self, lead: "StreamSessionWorker") -> None:
        super().join(lead)
        self.pool = lead.pool

    @property
    def is_connected(self) -> bool:
        return self.pool.is_connected

    def leave(self) -> None:
        self.release()
        self.pool.close_idle()

    def attempt(self, request: Request, intended: int, start: int) -> float | None:
        if self._think_until > start:
            self.release()
        return super().attempt(request, intended, start)

    def make_call(self, call: Call, is_last: bool, intended: int, start: int) -> float | None:
        return super().make_call(call, False, intended, start)

    def exchange(self, call: Call, intended: int, start: int) -> float | None:
        pause_s = OnStreams.attempt(self, call, intended, start)
        call.reader = self.stream
        return pause_s


class RedirectStreamWorker(FollowsRedirects, StreamSessionWorker):
    """Follows redirects on the streams of its connections, and to another origin on a connection
    of its own there. `_others`: these, by dialler, the one used last at the end."""

    __slots__ = ("_others",)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._others: dict[Dialler, Pool] = {}

    def bytes_elsewhere(self, place: Url, step: Step) -> bytes:
        return request_data(step, place.scheme, place.authority)

    def exchange_elsewhere(self, call: Call, intended: int, start: int) -> float | None:
        """The own connection goes on with the requests of others meanwhile."""
        self.release()
        own = self.dialler, self.pool
        self.dialler = self._context.origins.dialler_to(call.place)
        self.pool = self._others.pop(self.dialler, None) or Pool(self.dialler, 1, self.pool.uses)
        try:
            return self.exchange(call, intended, start)
        finally:
            self.release()
            self._others[self.dialler] = self.pool
            if len(self._others) > MOST_CONNECTIONS:
                self._others.pop(next(iter(self._others))).close()
            self.dialler, self.pool = own

    def leave_others(self) -> None:
        while self._others:
            _, pool = self._others.popitem()
            pool.close()


class ClosedStreams(ClosedLoad):
    """A worker takes a number only once it has a place on the connection, so that no request's time
    has the wait for one in it: the server may allow fewer streams than there are workers."""

    workers: list[OnStreams]

    def _go_through(self, worker: OnStreams, stage: Any) -> None:
        worker.stays = True
        if type(worker) is StreamWorker:
            worker.follow = self._follow_in(stage)
        requests = self._requests
        n_steps = len(requests)
        longest_wait_ns = int(requests[0].plan.timeouts.total_s * NS)
        while True:
            place = worker.place
            if place is None or not place.lets_stay:
                worker.await_place(stage.until, longest_wait_ns)
            start = now()
            if start >= stage.until:
                return
            number = stage.take()
            if number >= stage.limit:
                self._leave_rest(start)
                return
            pause_s = worker.attempt(requests[number % n_steps], start, start)
            if pause_s is not None:
                gevent.sleep(pause_s)


class StreamTurns(ClosedTurns, ClosedStreams):
    """The same in turns; between them each keeps its place."""


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
            session, is_connection = self._plan.session, self._plan.load.counts_connections
            # A connection that arrived ends with its visit, or is held.
            uses = None if is_connection else session.calls_per_connection or None
            uses = uses if self._keeps else 1
            most = (session.connections_per_session or 1) if self._sharers else None
            pool = Pool(self._dialler, self._streams, uses, most, replaces=not is_connection)
            self._pools.append(pool)
        pool = self._pools[-1]
        pool.n_workers += 1
        if sessions is not None:
            make = StreamSessionWorker if sessions.origins is None else RedirectStreamWorker
            make = over_addresses(make) if self._is_spread else make
            return make(sessions, self._dialler, pool)
        make = over_addresses(StreamWorker) if self._is_spread else StreamWorker
        return make(self._dialler, pool)

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

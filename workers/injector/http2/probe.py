"""One request over HTTP/2 in full detail."""

from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import http1
from workers.injector.connection import Connection, Dialler, now
from workers.injector.credentials import signed_steps
from workers.injector.faults import AttemptFailed
from workers.injector.http1 import BadReply
from workers.injector.http2.client import Http2Client
from workers.injector.http2.link import check_protocol
from workers.injector.http2.request import StreamRequest, request_data, request_text
from workers.injector.http2.stream import Stream
from workers.injector.order import Order
from workers.injector.prober import Prober
from workers.injector.recorder import StepRecorder


def make_prober(order: Order, dialler: Dialler, looker: Dialler | None) -> Prober:
    endpoint = order.endpoint
    step = signed_steps(order.plan, order.secret)[0]
    authority = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
    data = request_data(step, endpoint.scheme, authority)
    recorder = StepRecorder(0, len(data), is_scheduled=False)
    text = request_text(step, authority)
    return Http2Prober(dialler, StreamRequest(order.plan, step, data, recorder, text), looker)


class Http2Prober(Prober):
    """One request on a new connection, and nothing else on it."""

    def __init__(self, dialler: Dialler, request: StreamRequest, looker: Dialler | None):
        super().__init__(dialler, request, looker)
        self._client = Http2Client()
        self._stream: Stream | None = None

    def fetch(self) -> None:
        connection = self.connect()
        check_protocol(connection, self.dialler)
        request, client = self.request, self._client
        stream = self._stream = client.begin(request.data, request.memo, self, self.keep_bytes)
        self._write(connection)
        while not (stream.is_complete or stream.failure):
            self._read(connection, stream)
        if stream.failure is not None:
            raise stream.failure
        self.instants |= {"wait": stream.first, "receive": stream.end}
        client.say_goodbye()
        self._write(connection)

    def _read(self, connection: Connection, stream: Stream) -> None:
        try:
            self._read_some(connection, stream)
        except AttemptFailed:
            if self._client.goodbye:
                # The server had ended the connection with an error, and left it open.
                raise AttemptFailed(Kind.H2_GOAWAY, self._client.goodbye) from None
            raise

    def _read_some(self, connection: Connection, stream: Stream) -> None:
        kind = Kind.BODY_TIMEOUT if stream.first else Kind.FIRST_BYTE_TIMEOUT
        try:
            # The hub has its turn each time, however much there is to read.
            self.park(kind)
            data = self._receive(connection, kind)
            if not data:
                self._client.end_of_input()
                return
            self._client.feed(data, now())
        except (BadReply, OSError) as broken:
            self._client.end_all(broken)
        if stream.first:
            self.instants["wait"] = stream.first
        if not stream.failure:
            self._write(connection)

    def _write(self, connection: Connection) -> None:
        client = self._client
        while client.out:
            data = bytes(client.out)
            client.out.clear()
            self._send_rest(connection, data, 0)
            client.write_bodies()
        if client.written:
            client.written.clear()
            self.instants["send"] = now()

    def count_bytes(self) -> tuple[int, int]:
        stream = self._stream
        if stream is None:
            return 0, 0
        return stream.sent_bytes if "send" in self.instants else 0, stream.received_bytes

    def reply_facts(self) -> dict[str, Any]:
        stream = self._stream
        head = stream.head if stream else None
        return {
            "status": head.status if head else None,
            "reason": "",
            "headers": [list(pair) for pair in head.headers] if head else [],
            "body_bytes": stream.body_bytes if stream else 0,
            **(self.said_of(stream) if stream else {"snippet": ""}),
        }

"""How a connection ends when a write fails: what the server said before is heard first."""

from types import SimpleNamespace

import gevent
import pytest

from campaigns.domain.measured.outcomes import Kind
from tests.injector.http2.server_frames import PLAN, SETTINGS, body, reply
from workers.injector.connection import now
from workers.injector.http2.frames import goaway
from workers.injector.http2.header_block import NotProcessed
from workers.injector.http2.link import Link
from workers.injector.http2.reply_heads import BlockMemo
from workers.injector.http2.request import request_data

pytestmark = pytest.mark.pure

_CLOSED = BrokenPipeError(32, "Broken pipe")
_RESET = ConnectionResetError(104, "Connection reset by peer")


class LeftConnection:
    """The server has left: nothing can be written, but what it said can be read."""

    tls = None
    sock = SimpleNamespace(getsockopt=lambda *_: b"")  # of a kernel that does not tell

    def __init__(self, *said, to_a_write):
        self._said = list(said)
        self._to_a_write = to_a_write

    def send(self, data):
        raise self._to_a_write

    def recv(self, size):
        if not self._said:
            raise _RESET
        return self._said.pop(0)


class Worker:
    def __init__(self):
        self.request = SimpleNamespace(
            data=request_data(PLAN.steps[0], "http", "shop.test"),
            memo=BlockMemo(PLAN, "GET"),
            keep_bytes=0,
            is_idempotent=True,
        )
        self.ended = []

    def end(self, stream):
        self.ended.append(stream)


def ended_on(*said, n_requests=1, to_a_write=_CLOSED):
    """The streams of so many requests on a connection that the server has left with these words."""
    hung_up = []
    link = Link(SimpleNamespace(hang_up=hung_up.append), 4, None, lambda link: None)
    link.connection = LeftConnection(*said, to_a_write=to_a_write)
    link._client.feed(SETTINGS, now())
    worker = Worker()
    for _ in range(n_requests):
        link.begin(worker, worker.request)
    gevent.sleep(0)
    gevent.sleep(0)
    assert (link.is_over, len(hung_up)) == (True, 1)
    return worker.ended


def test_a_goodbye_that_lay_unread_says_that_the_request_was_not_taken():
    (stream,) = ended_on(goaway(0, 0))
    assert isinstance(stream.failure, NotProcessed)


def test_a_reply_that_lay_unread_is_one():
    first, second = ended_on(reply(b"ok", 1), n_requests=2)
    assert first.is_complete
    assert isinstance(second.failure, NotProcessed)


def test_without_a_word_it_is_the_failure_of_the_write():
    (stream,) = ended_on()
    assert isinstance(stream.failure, BrokenPipeError)


def test_a_reset_of_which_the_write_was_told_is_no_close():
    (stream,) = ended_on(b"", to_a_write=_RESET)
    assert stream.failure is _RESET


def test_the_end_of_input_after_a_failed_write_is_a_close():
    (stream,) = ended_on(b"")
    assert stream.failure.kind == Kind.EOF_BEFORE_REPLY


def test_nonsense_that_lay_unread_is_what_ended_it():
    (stream,) = ended_on(b"\x00" * 100)
    assert stream.failure.kind == Kind.H2_PROTOCOL


def test_a_server_that_never_stops_sending_is_left_too():
    endless = body(bytes(16_000))
    (stream,) = ended_on(*[endless[at : at + 1] for at in range(1000)])
    assert isinstance(stream.failure, BrokenPipeError)

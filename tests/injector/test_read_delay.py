"""How long replies lie unread, and that it is told apart from the target's time."""

import socket
import struct
import time
from types import SimpleNamespace

import gevent
import pytest

from tests.injector.servers import OK_REPLY, always, closed, measure, scripted
from tests.injector.test_loads import Arrivals
from workers.injector.read_delay import ReadSample, enable, unread_for_ns, waited_ns

pytestmark = pytest.mark.pure
sockets = pytest.mark.sockets
ALL, NONE = 0, -1


class Connection:
    timer = tls = None

    def __init__(self, sock):
        self.sock = sock
        self.recv = sock.recv


class Worker:
    began = 1
    connection = None

    def __init__(self):
        self.request = SimpleNamespace(recorder=SimpleNamespace(read_stamps={}))


@sockets
def test_the_kernel_tells_how_long_something_lay_unread(ends):
    ours, theirs = ends
    enable(ours)
    theirs.sendall(b"reply")
    time.sleep(0.05)
    assert 50e6 <= unread_for_ns(ours) < 5e9
    assert ours.recv(10) == b"reply"


@sockets
def test_where_nothing_came_nothing_lay_unread(ends):
    ours, _ = ends
    ours.setblocking(False)
    assert unread_for_ns(ours) == 0


@sockets
def test_a_reset_is_not_swallowed_by_looking(ends):
    ours, theirs = ends
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    theirs.close()
    with pytest.raises(ConnectionResetError):
        unread_for_ns(ours)


@sockets
def test_a_stamp_is_that_of_the_last_bytes_that_were_read(ends):
    ours, theirs = ends
    connection, worker = Connection(ours), Worker()
    ReadSample(is_on=True).time(worker, connection, before_ns=7)
    theirs.sendall(b"one")
    time.sleep(0.1)
    sent_ns = time.monotonic_ns()
    theirs.sendall(b"two")
    time.sleep(0.02)
    assert connection.recv(10) == b"onetwo"
    since_ns = time.monotonic_ns() - sent_ns
    before_ns, stamp = worker.request.recorder.read_stamps[worker.began]
    assert before_ns == 7
    assert 20e6 <= waited_ns(stamp) <= since_ns


@sockets
def test_only_the_attempt_that_was_chosen_is_timed(ends):
    ours, theirs = ends
    connection, worker = Connection(ours), Worker()
    plain = connection.recv
    worker.connection = connection
    ReadSample(is_on=True).time(worker, connection)
    theirs.sendall(b"reply")
    worker.began += 1
    assert connection.recv(10) == b"reply"
    assert worker.request.recorder.read_stamps == {}
    assert connection.recv == plain


@sockets
def test_attempts_that_share_a_connection_have_the_stamp_of_what_is_read_at_once(ends):
    ours, theirs = ends
    connection, (one, other, late) = Connection(ours), [Worker() for _ in range(3)]
    sample = ReadSample(is_on=True)
    for began, worker in enumerate((one, other, late), 1):
        worker.began = began
        sample.time(worker, connection)
    late.began = 9
    theirs.sendall(b"replies")
    assert connection.recv(10) == b"replies"
    stamps = [worker.request.recorder.read_stamps for worker in (one, other, late)]
    assert [list(each) for each in stamps] == [[1], [2], []]
    assert stamps[0][1] == stamps[1][2]


@sockets
def test_all_are_timed_at_first_and_fewer_the_more_there_are(ends):
    connection, worker = Connection(ends[0]), Worker()
    sample = ReadSample(is_on=True)
    masks = [sample.mask]
    for _ in range(20):
        for _ in range(100):
            sample.time(worker, connection)
        sample.tick()
        masks.append(sample.mask)
    for _ in range(20):
        sample.tick()
    assert masks[0] == ALL
    assert [mask.bit_count() for mask in masks] == [*range(13), *[12] * 8]
    assert sample.mask == ALL
    sample.close()


def test_what_is_off_stays_off():
    sample = ReadSample(is_on=False)
    sample.tick()
    assert sample.mask == NONE


def block_again_and_again(there_s=0.02, away_s=0.08):
    """For so long the event loop is there, and away, in turns."""
    while True:
        gevent.sleep(there_s)
        time.sleep(away_s)


@sockets
def test_a_reply_that_waits_for_a_blocked_event_loop_counts_as_the_injectors_time():
    with scripted(Arrivals(service_s=0.02)) as server:
        blocker = gevent.spawn(block_again_and_again)
        total = measure(server.port, load={"model": "closed", "connections": 2, "duration_s": 2.5})
        total = total.total
        blocker.kill()
    whole, without = total.timing("sampled"), total.timing("undelayed")
    assert whole.n == without.n == total.count("ok")
    assert whole.sum_us == total.timing("response").sum_us
    assert (whole.sum_us - without.sum_us) / whole.n > 10_000
    assert without.min_us >= 19_000


@sockets
def test_lateness_is_no_time_of_the_target_either():
    load = {"model": "open", "rate_per_s": 50, "duration_s": 1}
    with scripted(Arrivals(service_s=0.005)) as server:
        gevent.spawn_later(0.4, time.sleep, 0.3)
        total = measure(server.port, load=load).total
    assert total.timing("sampled").max_us > 200_000
    assert total.timing("undelayed").percentile_us(90_000) < 200_000


@sockets
def test_failures_are_in_no_sample():
    load = closed(20)
    with scripted(always(OK_REPLY.replace(b"200", b"503"))) as server:
        total = measure(server.port, load=load, plan={"expected_status": ["2xx"]}).total
    assert total.count("failed") == 20
    assert total.timing("sampled").n == 0

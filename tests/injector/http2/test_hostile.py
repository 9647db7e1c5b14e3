"""Hostile servers on real sockets: every fault has its kind within the limit, and stops no other.

What each frame does is in test_client.py; here are the cases with time and sockets in them.
"""

import contextlib
import socket
import time

from tests.injector.hostile import SHORT, Case, run_all
from tests.injector.http2.server_frames import SETTINGS, body, head, reply
from tests.injector.servers import closed, reset
from workers.injector.http2 import frames
from workers.injector.http2.frames import CONTINUATION, DATA, frame, goaway, rst_stream

_FOR_S = 3
BOTH = {"http_version": "2", "streams": 2}


def answers(answer, then=None, settings=SETTINGS):
    """Settings, then for each request what `answer` says for its stream; then silence, or `then`
    with the first."""

    def script(sock, server):
        sock.sendall(settings)
        data, at = b"", len(frames.PREFACE)
        while more := sock.recv(65536):
            data += more
            while at + frames.HEAD_BYTES <= len(data):
                high, low, kind, _, stream_id = frames.HEAD.unpack_from(data, at)
                at += frames.HEAD_BYTES + (high << 8 | low)
                if kind == frames.HEADERS:
                    sock.sendall(answer(stream_id))
                    if then is not None:
                        then(sock)
                        return

    return script


def says(data, then=None):
    """The same, with these bytes for the first request."""
    return answers(lambda stream_id: data if stream_id == 1 else b"", then)


def hear_out(sock):
    with contextlib.suppress(OSError):
        while sock.recv(65536):
            pass


def floods(data):
    def then(sock):
        until = time.monotonic() + _FOR_S
        with contextlib.suppress(OSError):
            while time.monotonic() < until:
                sock.sendall(data)

    return then


def drips(data):
    def then(sock):
        with contextlib.suppress(OSError):
            for at in range(len(data)):
                sock.sendall(data[at : at + 1])
                time.sleep(0.02)

    return then


def closes(sock):
    sock.shutdown(socket.SHUT_WR)
    hear_out(sock)


def resets(sock):
    """Once what was said has arrived, and been read."""
    time.sleep(0.1)
    reset(sock)


def silent(sock, server):
    hear_out(sock)


def leaves(sock, server):
    sock.recv(1)


def never_settles(sock, server):
    sock.sendall(frame(frames.PING, 0, 0, bytes(8)))
    hear_out(sock)


def case(script, *kinds, requests=2, timeouts=SHORT, **plan):
    fields = {"plan": {"http_version": "2", "streams": 1} | plan, "timeouts": timeouts}
    return Case(script, kinds, fields, requests)


def alone(script, *kinds):
    """With a single request."""
    return case(script, *kinds, requests=1)


def patient(script, *kinds):
    """With limits that are never reached."""
    return case(script, *kinds, timeouts={"connect_s": 3, "tls_s": 3, "total_s": 3})


def allows_streams(number):
    return frames.settings({frames.MAX_CONCURRENT_STREAMS: number})


PART = body(bytes(1000), flags=0)
INTERIM = head((":status", "103"))
LONG_HEAD = head(("x" * 40, "y" * 400))
EMPTY_PART = frame(CONTINUATION, 0, 1)
PINGS = frame(frames.PING, 0, 0, bytes(8)) * 999
BOMB = frame(frames.HEADERS, 4, 1, b"\x88" + b"\x90" * 16_000)
CASES = {
    "silence": case(silent, "first_byte_timeout"),
    "settings and silence": case(says(b""), "first_byte_timeout"),
    "half a frame": case(says(head()[:5]), "first_byte_timeout"),
    "a head and silence": case(answers(lambda nth: head(stream_id=nth)), "body_timeout"),
    "half a head and silence": case(says(head(flags=0)), "first_byte_timeout"),
    "a body without end": alone(
        says(head(), floods(body(bytes(16_000), flags=0))), "body_cap", "body_timeout"
    ),
    "a body byte by byte": alone(says(head(), drips(PART)), "body_timeout"),
    "a head byte by byte": alone(says(b"", drips(LONG_HEAD)), "first_byte_timeout"),
    "interim replies, slowly": alone(says(b"", drips(INTERIM * 20)), "body_timeout"),
    "closed at once": patient(leaves, "eof_before_reply", "reset"),
    "closed after the settings": patient(says(b"", closes), "eof_before_reply"),
    "closed within the head": patient(says(head()[:12], closes), "eof_before_reply"),
    "closed within the body": patient(says(head() + PART, closes), "eof_mid_body"),
    "reset before the reply": patient(says(b"", reset), "reset"),
    "reset within the body": patient(says(head() + PART, reset), "reset", "eof_mid_body"),
    "a goodbye with an error": patient(says(goaway(1, 2), closes), "h2_goaway"),
    "a goodbye with an error and a reset": patient(says(goaway(1, 2), resets), "h2_goaway"),
    "a goodbye with an error and silence": case(says(goaway(1, 2)), "h2_goaway"),
    "a goodbye with an error, half a reply and silence": case(
        says(head() + PART + goaway(1, 2)), "h2_goaway"
    ),
    "a goodbye to all, always": patient(says(goaway(0, 0), closes), "h2_goaway"),
    "every stream refused": patient(answers(lambda nth: rst_stream(nth, 7)), "h2_stream_reset"),
    "every stream reset": patient(answers(lambda nth: rst_stream(nth, 2)), "h2_stream_reset"),
    "a frame before the settings": patient(never_settles, "h2_not_spoken"),
    "a PING flood": case(says(b"", floods(PINGS)), "h2_protocol"),
    "a SETTINGS flood": case(says(b"", floods(SETTINGS * 999)), "h2_protocol"),
    "an RST flood behind the reply": alone(says(reply(), floods(rst_stream(1, 8) * 999)), "ok"),
    "a CONTINUATION flood": case(says(head(flags=0), floods(EMPTY_PART * 99)), "header_cap"),
    "empty DATA without end": case(says(head(), floods(frame(DATA, 0, 1) * 999)), "h2_protocol"),
    "a bomb of headers": alone(says(BOMB), "header_cap"),
    "more behind the end": alone(says(reply() + body(b"x")), "ok"),
    "no stream is ever allowed": case(says(allows_streams(0) + reply()), "ok", "write_timeout"),
}


def test_every_fault_has_its_kind_within_the_limit():
    for name, outcome in run_all(CASES).items():
        case = CASES[name]
        assert set(outcome.kinds) <= set(case.kinds), name
        assert sum(outcome.kinds.values()) == case.requests, name
        assert outcome.longest_s < outcome.limit_s + 0.5, name


def test_a_stream_that_never_ends_stops_no_other():
    """Two streams on a connection: the first is never answered, the others are."""

    script = answers(lambda nth: reply(stream_id=nth) if nth > 1 else b"")
    fields = {"plan": BOTH, "timeouts": SHORT, "load": closed(200, 1)}
    outcome = run_all({"": Case(script, (), fields, 200)})[""]
    assert outcome.kinds == {"ok": 199, "first_byte_timeout": 1}
    assert outcome.result.total.count("connections_opened") == 1


def test_streams_that_a_server_allows_only_later_are_used_at_once():
    """It allows one at first, and answers that only once three others have come beside it."""
    words = {1: allows_streams(4), 7: b"".join(reply(stream_id=each) for each in (1, 3, 5, 7))}
    script = answers(lambda nth: words.get(nth, b""), settings=allows_streams(1))
    plan = {"http_version": "2", "streams": 4}
    outcome = run_all({"": Case(script, (), {"plan": plan, "load": closed(4, 1)}, 4)})[""]
    assert outcome.kinds == {"ok": 4}
    assert outcome.result.total.count("connections_opened") == 1


def test_what_was_not_sent_of_a_body_is_missing_in_the_second_in_which_its_request_ended():
    """The window of the connection is used up in the warm-up: from then on only heads are sent."""
    script = answers(lambda nth: time.sleep(0.02) or reply(stream_id=nth))
    load = {"model": "closed", "connections": 1, "duration_s": 2}
    fields = {"plan": {"http_version": "2"}, "load": load, "warm_up_s": 1}
    upload = {"method": "POST", "body": "x" * 1_000_000}
    result = run_all({"": Case(script, (), fields | upload, 0)})[""].result
    seconds = [second for second in result.seconds if second.second >= 0]
    sizes = [each.counters["bytes_sent"] / each.counters["ok"] for each in seconds]
    assert len(seconds) > 1
    assert set(sizes) == {sizes[0]}
    assert 0 < sizes[0] < 200

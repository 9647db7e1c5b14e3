"""The demo target over HTTP/2: by the preface in clear text, by ALPN over TLS."""

import json
from collections import Counter

import pytest

from tests.injector.servers import closed, measure
from tests.workers.test_echo_tls import agreed_with
from workers.echo.arrival import Journal
from workers.echo.certificate import ensure_certificate
from workers.echo.server import EchoServer
from workers.echo.tls import make_tls_context


@pytest.fixture
def log(tmp_path):
    return tmp_path / "arrivals.jsonl"


@pytest.fixture
def serve(tmp_path, log):
    """A demo target of that scheme; returns its port."""
    servers, journal = [], Journal(str(log))

    def start(scheme):
        tls = None
        if scheme == "https":
            tls = make_tls_context(ensure_certificate(tmp_path, "127.0.0.1"))
        server = EchoServer(("127.0.0.1", 0), scheme, journal, tls)
        server.start()
        servers.append(server)
        return server.port

    yield start
    for server in servers:
        server.stop()
    journal.close()


def run(port, paths=("/",), streams=4, **given):
    steps = [{"label": path, "method": "GET", "path": path} for path in paths]
    plan = {"http_version": "2", "streams": streams, "steps": steps}
    return measure(port, plan=plan, **given)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("mode", ["keep-alive", "new", "resumed"])
def test_every_request_is_answered_and_logged(serve, log, scheme, mode):
    total = run(serve(scheme), scheme=scheme, mode=mode, load=closed(60, 3)).total
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert (total.count("ok"), total.errors, total.statuses) == (60, {}, {"200": 60})
    assert Counter((each["scheme"], each["method"], each["path"]) for each in lines) == {
        (scheme, "GET", "/"): 60
    }
    n_connections = len({each["connection"] for each in lines})
    assert n_connections == total.count("connections_opened") == (3 if mode == "keep-alive" else 60)


def test_a_slow_reply_holds_up_no_other_stream(serve):
    paths = ("/?delay_ms=300", "/")
    result = run(serve("http"), paths, streams=2, load=closed(12, 1))
    slow, quick = (result.measurement.steps[index].timing("response") for index in (0, 1))
    assert slow.n == quick.n == 6
    assert slow.min_us >= 300_000 > quick.sum_us / quick.n


def test_a_body_that_is_larger_than_the_windows_arrives_whole(serve):
    total = run(serve("https"), ("/?size=3000000",), scheme="https", load=closed(8, 1)).total
    assert (total.count("ok"), total.errors) == (8, {})
    assert total.count("body_received") == 8 * 3_000_000


def test_status_and_fields_are_asked_for_as_over_http_1_1(serve):
    total = run(serve("http"), ("/?status=503&junk=20",), load=closed(4)).total
    assert total.statuses == {"503": 4}


def test_a_connection_that_is_asked_to_close_answers_what_was_sent_and_says_goodbye(serve):
    total = run(serve("http"), ("/?close=1",), streams=1, load=closed(5)).total
    assert (total.count("ok"), total.errors, total.count("connections_opened")) == (5, {}, 5)


def test_a_fault_resets_its_stream_and_not_the_others(serve):
    total = run(serve("http"), ("/fault/reset", "/"), load=closed(8)).total
    assert (total.count("ok"), sum(total.errors.values())) == (4, 4)
    assert total.count("connections_opened") == 1


def test_who_prefers_http_1_1_gets_it(serve):
    port = serve("https")
    assert [agreed_with(port, *offered) for offered in (("http/1.1", "h2"), ("h2",))] == [
        "http/1.1",
        "h2",
    ]

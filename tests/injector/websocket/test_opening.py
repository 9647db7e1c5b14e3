"""Opening handshakes with values from a table and with credentials, as a server sees them."""

import base64

import pytest

from tests.injector.servers import closed, make_order
from tests.injector.websocket.peers import echo, head, measured, read_key
from workers.injector.local_run import run_here
from workers.injector.order import Refusal

TABLE = "user,room\nann,a b\nbob,c/d?e=1\n"
WINDOW = {"model": "window", "low": 1, "high": 1, "requests": 3}


def openings(load, exchange, server_script=None, secrets=None, **plan) -> list[bytes]:
    """The heads that a server was opened with, in order."""

    def script(sock, server):
        sock.sendall(head(read_key(sock, server)))
        sock.recv(65536)
        sock.sendall(b"\x88\x02\x03\xe8")

    given = {"plan": plan, "secrets": secrets or {}}
    total, server = measured(server_script or script, load, exchange, **given)
    assert not total.errors
    return server.requests


@pytest.mark.parametrize("load", [closed(3), WINDOW])
def test_each_connection_takes_the_next_row_in_path_and_header(load):
    exchange = {"path": "/${room}", "headers": [["X-User", "u-${user}"]]}
    sent = openings(load, exchange, variables={"csv": TABLE})
    assert [each.split()[1] for each in sent] == [b"/a%20b", b"/c/d?e=1", b"/a%20b"]
    assert [b"X-User: u-ann\r\n" in each for each in sent] == [True, False, True]


def test_a_value_cannot_smuggle_a_header():
    exchange = {"headers": [["X-One", "${x}"]]}
    (sent,) = openings(closed(1), exchange, variables={"csv": 'x\n"a\r\nX-Evil: 1"\n'})
    assert b"\r\nX-Evil" not in sent


def test_it_counts_what_was_really_sent():
    exchange = {"path": "/${n}"}
    plan = {"variables": {"csv": "n\n1\n" + "2" * 500 + "\n"}}
    total, _ = measured(echo(), closed(2), exchange, plan=plan)
    assert 500 + 2 * 100 < total.count("bytes_sent") < 500 + 2 * 400


@pytest.mark.parametrize(
    ("auth", "value"),
    [
        ({"kind": "basic", "user": "ann"}, b"Basic " + base64.b64encode(b"ann:hunter2")),
        ({"kind": "bearer"}, b"Bearer hunter2"),
    ],
)
def test_credentials_stand_in_the_opening_handshake(auth, value):
    (sent,) = openings(closed(1), {}, auth=auth, secrets={"auth": "hunter2"})
    assert b"\r\nAuthorization: " + value + b"\r\n" in sent


def test_without_the_secret_nothing_is_sent():
    order = make_order(1, scheme="ws", mode="new", plan={"auth": {"kind": "bearer"}})
    order["plan"] |= {"steps": [], "exchange": {}}
    with pytest.raises(Refusal, match="no secret is stored"):
        run_here(order, lambda second: None)

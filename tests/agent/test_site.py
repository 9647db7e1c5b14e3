"""What the agent keeps and sends: the site is a function that answers."""

import json
import time
from typing import Any

import pytest

from tests.injector.servers import scripted
from workers.agent.machine import Interval
from workers.agent.site import (
    KEPT_S,
    NotTaken,
    Outbox,
    SiteClient,
    SiteClock,
    TokenRefused,
    boot_ns,
)

pytestmark = pytest.mark.pure
S = 1_000_000_000


class FakeSite:
    """Takes what it is sent, or raises what it is told to."""

    def __init__(self):
        self.bodies: list[dict] = []
        self.fault: Exception | None = None
        self.now: Any = 5_000.0  # its clock at the boot of this machine

    def post(self, body: str):
        if self.fault:
            raise self.fault
        self.bodies.append(json.loads(body))
        now = boot_ns()
        tells = self.now + now / S if self.now == 5_000.0 else self.now
        return now, now, {"now": tells}

    @property
    def seconds(self) -> list[dict]:
        return [second for body in self.bodies for second in body["seconds"]]


@pytest.fixture
def site() -> FakeSite:
    return FakeSite()


@pytest.fixture
def outbox(site) -> Outbox:
    return Outbox(site.post, SiteClock(), {"host": "shop-1"})


def seen(second: float) -> Interval:
    return Interval(int(second * S), 1.0, {"user_s": second})


def test_seconds_go_out_in_the_sites_time(site, outbox):
    outbox.says_hello()
    outbox.add(seen(17.5))
    outbox.send_all()
    (second,) = site.seconds
    assert second == {
        "at_s": pytest.approx(5017.5, abs=0.002),
        "lasted_s": 1,
        "did": {"user_s": 17.5},
    }
    assert site.bodies[1]["host"] == "shop-1"
    assert site.bodies[1]["clock_ahead_s"] == pytest.approx(
        time.time() - 5000 - boot_ns() / S, abs=0.1
    )


def test_nothing_is_sent_where_there_is_nothing(site, outbox):
    outbox.send_all()
    assert site.bodies == []


def test_what_the_site_cannot_take_is_sent_later_and_once(site, outbox, capsys):
    site.fault = ConnectionRefusedError("refused")
    for second in range(5):
        outbox.add(seen(second))
        outbox.send_all()
    assert capsys.readouterr().err.count("takes nothing now (refused)") == 1
    site.fault = None
    outbox.add(seen(5))
    outbox.send_all()
    outbox.send_all()
    assert [second["did"]["user_s"] for second in site.seconds] == [0, 1, 2, 3, 4, 5]
    assert "takes reports again" in capsys.readouterr().err


def test_what_was_seen_before_the_sites_clock_was_known_goes_out_in_its_time(site, outbox):
    site.fault = ConnectionRefusedError("refused")
    outbox.add(seen(17.5))
    outbox.send_all()
    site.fault = None
    outbox.send_all()
    assert site.bodies[0]["seconds"] == []
    assert [second["at_s"] for second in site.seconds] == [pytest.approx(5017.5, abs=0.002)]


def test_an_hour_is_kept_and_the_oldest_goes_first(site, outbox):
    site.fault = OSError("away")
    for second in range(KEPT_S + 10):
        outbox.add(seen(second))
    outbox.send_all()
    site.fault = None
    outbox.send_all()
    sent = [second["did"]["user_s"] for second in site.seconds]
    assert sent == list(range(10, KEPT_S + 10))
    assert max(len(body["seconds"]) for body in site.bodies) <= 300


def test_what_the_site_refuses_is_not_sent_again(site, outbox, capsys):
    site.fault = NotTaken("too many")
    outbox.add(seen(1))
    outbox.send_all()
    site.fault = None
    outbox.send_all()
    assert site.seconds == []
    assert "were not taken: too many" in capsys.readouterr().err


@pytest.mark.parametrize("now", [None, [], {}, 1e400, "noon"])
def test_an_answer_that_tells_no_time_is_none_and_the_next_one_counts(site, outbox, capsys, now):
    outbox.add(seen(17.5))
    site.now = now
    outbox.send_all()
    assert outbox.is_away
    assert "takes nothing now" in capsys.readouterr().err
    site.now = 5_000.0
    outbox.send_all()
    assert [second["did"]["user_s"] for second in site.seconds] == [17.5]


def test_a_refused_token_ends_it(site, outbox):
    site.fault = TokenRefused("revoked")
    outbox.add(seen(1))
    with pytest.raises(TokenRefused):
        outbox.send_all()


def test_the_quickest_round_trip_tells_the_sites_clock():
    clock = SiteClock()
    clock.note(0, 2 * S, 101.5)  # slow: off by half a second
    clock.note(10 * S, 10 * S + 2_000_000, 110.001)
    clock.note(20 * S, 21 * S, 120.9)
    assert clock.offset_ns == 100 * S
    assert clock.error_s == 0.001


def test_a_clock_that_was_set_makes_earlier_round_trips_void():
    clock = SiteClock()
    clock.note(0, 1_000_000, 100.0)
    clock.note(10 * S, 10 * S + 9_000_000, 200.0045)
    assert clock.offset_ns == 190 * S


def test_before_the_first_answer_its_own_clock_counts():
    clock = SiteClock()
    assert abs(clock.ahead_s()) < 0.01
    assert 0.2 < clock.to_next_second_s() <= 1.25


def test_what_the_site_answers_is_handed_on(site):
    answers = []
    outbox = Outbox(site.post, SiteClock(), {"host": "shop-1"}, answers.append)
    outbox.says_hello()
    site.fault = OSError("away")
    outbox.says_hello()
    assert [list(each) for each in answers] == [["now"]]


def test_what_was_typed_wrong_ends_it_before_anything_is_sent():
    for url, token, ca_file in [
        ("ftp://bench.test", "bs_agent_1", None),
        ("https://bench.test:99999", "bs_agent_1", None),
        ("http://[::1", "bs_agent_1", None),
        ("https://bench.test", "bs_agent_…", None),
        ("https://bench.test", "bs_agent_1\n", None),
        ("https://bench.test", "bs_agent_1", "/no/such.pem"),
        ("https://bench.test", "bs_agent_1", "README.md"),
    ]:
        with pytest.raises(SystemExit):
            SiteClient(url, token, ca_file)


@pytest.mark.sockets
def test_an_answer_without_end_is_read_in_part():
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")
        while True:
            sock.sendall(b" " * 65536)

    with scripted(script) as server:
        began_s = time.monotonic()
        client = SiteClient(f"http://127.0.0.1:{server.port}", "token")
        *_, answer = client.post("{}")
    assert answer == {}
    assert time.monotonic() - began_s < 5

"""The throughput is what ended in the measured time, whatever a late reply does; the rest is the
tail, and said."""

import itertools
import time

import pytest

from campaigns.domain.analysis.observations import observe
from campaigns.domain.other_tools.reports import REPORTS
from tests.injector import servers
from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.servers import OK_REPLY, scripted
from tests.injector.websocket import peers
from tests.injector.websocket.peers import echo
from workers.injector.summary import LocalRun

LATE_S, USUAL_S = 1.5, 0.01
OPEN = {"model": "open", "rate_per_s": 60, "duration_s": 1}
LOADS = {
    "closed": {"model": "closed", "connections": 4, "duration_s": 1},
    "closed by number": {"model": "closed", "connections": 4, "requests": 100},
    "a burst": {"model": "closed", "connections": 20, "requests": 20},
    "sequential by time": {"model": "sequential", "duration_s": 1},
    "open": OPEN,
    "open by number": {"model": "open", "rate_per_s": 60, "requests": 60},
    "random": OPEN | {"distribution": "exponential"},
    "stages": {"model": "open", "stages": [{"duration_s": 1, "from_per_s": 60}]},
    "over": {"model": "over", "requests": 60, "over_s": 1},
    "window": {"model": "window", "low": 3, "high": 4, "duration_s": 1},
    "window by number": {"model": "window", "low": 3, "high": 4, "requests": 100},
    "connections": OPEN | {"arrival_unit": "connection"},
    "sessions": OPEN | {"arrival_unit": "session"},
}


class Straggler:
    """Answers the request that it is due for late, and every other one after the usual time."""

    def __init__(self, load):
        self._numbers = itertools.count(1)
        self._from, self._after_s = 0.0, 0.7
        self._nth = load["requests"] - 3 if load.get("requests") else None
        if load["model"] == "sequential":
            self._after_s = 0.9
        self.n_late = 0

    def wait(self) -> None:
        number = next(self._numbers)
        self._from = self._from or time.monotonic()
        is_due = time.monotonic() > self._from + self._after_s
        if not self.n_late and (is_due if self._nth is None else number >= self._nth):
            self.n_late = 1
            time.sleep(LATE_S)
        else:
            time.sleep(USUAL_S)

    def script(self, sock, server):
        while server.read_request(sock) is not None:
            self.wait()
            sock.sendall(OK_REPLY)


def told_of_a_tail(result: LocalRun, *, most_late: int = 8, most_in_flight: float = 20) -> None:
    whole = result.measurement
    n_late, n_ok = whole.total.count("late_ok"), whole.total.count("ok")
    assert 1 <= n_late <= most_late
    assert whole.figures.rate_per_s == (n_ok - n_late) / whole.duration_s
    # Slow as the machine may be, the late reply is not in the time.
    assert whole.duration_s < LATE_S
    assert 0.5 < whole.tail_s <= LATE_S + 1
    note = observe(whole, is_co_located=True)["tail"]
    assert note.measure.startswith(f"{n_late} repl")
    # What the last sessions still send is in no time of sending.
    last_s = whole.sending_s if whole.plan.calls_per_arrival == 1 else 0.0
    sent_s = max(whole.duration_s, last_s)
    assert whole.sent_per_s == pytest.approx(whole.total.count("started") / sent_s, rel=0.05)
    assert whole.mean_in_flight <= most_in_flight


@pytest.mark.long
def test_a_late_reply_is_in_no_rate_of_any_load():
    for load in LOADS.values():
        straggler = Straggler(load)
        calls = (
            {"session": {"calls_per_session": 2}} if load.get("arrival_unit") == "session" else {}
        )
        result, _ = servers.against(straggler.script, load=load, plan=calls)
        assert straggler.n_late == 1
        told_of_a_tail(result)


def test_a_reply_that_never_comes_is_in_no_rate_either():
    load = LOADS["closed"]
    straggler = Straggler(load)
    result, _ = servers.against(straggler.script, load=load, timeouts={"total_s": 0.9})
    whole = result.measurement
    assert (whole.total.count("failed"), whole.total.count("late_failed")) == (1, 1)
    assert whole.duration_s == 1
    assert "1 request failed up to" in whole.tail_words


@pytest.mark.parametrize("load", [LOADS["closed"], OPEN], ids=["closed", "open"])
def test_a_late_stream_of_http2_is_in_no_rate(load):
    straggler = Straggler(load)

    def answer(headers, body):
        straggler.wait()
        return ok(headers, body)

    with h2_server(answer) as (server, _):
        result = servers.measure(
            server.port, plan={"http_version": "2", "streams": 1}, load=load, mode="new"
        )
    told_of_a_tail(result)


def test_websockets_that_a_load_cuts_off_have_ended_in_time():
    load = {"model": "closed", "connections": 3, "duration_s": 0.5}
    result, _ = peers.against(echo(), load, {"messages": 10_000})
    whole = result.measurement
    assert whole.total.count("late_ok") == 0
    assert whole.figures.rate_per_s == whole.total.count("ok") / 0.5 > 0


def test_a_late_websocket_is_in_no_rate():
    load = {"model": "open", "rate_per_s": 40, "duration_s": 1}
    straggler = Straggler(load)
    properly = echo()

    def script(sock, server):
        straggler.wait()
        properly(sock, server)

    result, _ = peers.against(script, load, {"messages": 1})
    told_of_a_tail(result, most_late=5)


def test_a_rule_and_every_report_have_the_same_rate():
    load, rules = OPEN, [{"metric": "rate", "limit": 45, "unit": "/s"}]
    straggler = Straggler(load)
    with scripted(straggler.script) as server:
        order = servers.make_order(server.port, load=load, plan={"thresholds": rules})
        result = servers.run_here(order, lambda second: None)
    whole = result.measurement
    per_s = whole.figures.rate_per_s
    [verdict] = whole.thresholds
    assert verdict.passed
    assert verdict.measured == pytest.approx(per_s)
    assert whole.judge.broken_since == [None], "nor was it for a while"
    assert result.to_json()["metrics"]["rate"] == pytest.approx(per_s)
    texts = {style: result.report(style, order) for style in REPORTS if style != "wsperf"}
    for style, text in texts.items():
        assert f"{per_s:.1f}" in text or f"{per_s:.2f}" in text, style
        assert "Note: 1 reply came up to" in text or whole.total.count("late_ok") > 1

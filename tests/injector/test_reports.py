"""The reports at the terminal: ab's, httperf's and ours, from seconds with known figures."""

import json
import re
from dataclasses import replace

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd, TlsHandshakes
from campaigns.domain.metrics.measurement import VITALS
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.domain.plan.plan import Plan
from tests.injector.servers import OK_REPLY, always, make_order, scripted
from tests.injector.test_cli import run, run_unstarved
from workers.injector.summary import LocalRun, hlog_lines

pytestmark = pytest.mark.pure

CLOSED = {"model": "closed", "connections": 2, "requests": 1000}


def second(number, times_us, *, failed=(), statuses=None):
    """What one second saw: each request on a new TLS connection, connect 1 ms, TLS 2 ms."""
    n = len(times_us)
    timings = {
        "response": Timing.of(times_us),
        "service": Timing.of(times_us),
        "connect": Timing.of([1000] * n),
        "tls": Timing.of([2000] * n),
        "send": Timing.of([100] * n),
        "wait": Timing.of([value - 3300 for value in times_us]),
        "receive": Timing.of([200] * n),
        "processing": Timing.of([value - 3000 for value in times_us]),
        "connect_tls": Timing.of([3000] * n),
        "failed": Timing.of(failed),
    }
    counters = {
        "started": n + len(failed), "ok": n, "failed": len(failed),
        "connections_opened": n + len(failed), "bytes_sent": 60 * (n + len(failed)),
        "bytes_received": 500 * n, "head_received": 120 * n, "body_received": 370 * n,
        "framing_received": 10 * n, "body_squares": 370**2 * n,
    }  # fmt: skip
    errors = {"reset": len(failed)} if failed else {}
    vitals = dict.fromkeys(VITALS, 0) | {"cpu_share": 0.1}
    return Second(
        number, 0, counters, errors, statuses or {"200": n}, 0, timings, vitals
    )  # fmt: skip


def result_of(*seconds, load=CLOSED, duration_s=None, mode="new", session=None, version="1.1"):
    plan = {"session": session or {}, "http_version": version}
    order = make_order(8443, load=load, scheme="https", mode=mode, path="/login/", plan=plan)
    end = InjectorEnd(
        outcome=COMPLETE,
        totals={"ok": sum(s.counters["ok"] for s in seconds)},
        duration_us=round((duration_s or len(seconds)) * 1e6),
        cpu_us=250_000,
        cpu_user_us=150_000,
        connect_burst=3,
        connections_at_once=2,
        peers={"10.0.0.5:8443": 1},
        tls=[TlsHandshakes("TLSv1.3", "AES", 9, bits=256)],
    )
    rows = [(0, each) for each in seconds]
    return order, LocalRun(Plan.from_json(order["plan"]), rows, [end], started_at=1.7e9)


def report(style, *seconds, **fields):
    order, result = result_of(*seconds, **fields)
    return result.report(style, order)


def line(text, beginning):
    return next(each for each in text.splitlines() if each.startswith(beginning))


def test_ab_has_its_lines_with_disjoint_failures():
    text = report("ab", second(0, [10_000] * 98, failed=[500, 500], statuses={"200": 90, "302": 8}))
    assert line(text, "Concurrency Level") == "Concurrency Level:      2"
    assert line(text, "Complete requests") == "Complete requests:      100"
    assert line(text, "Failed requests").startswith("Failed requests:        2 [")
    assert "   (Connect: 0, Receive: 2, Status: 0, Other: 0) [" in text
    assert line(text, "Non-2xx") == "Non-2xx responses:      8"
    assert "Keep-Alive requests" not in text
    assert line(text, "Document Path").split()[-1] == "/login/"
    assert "TLSv1.3,AES,–,256 [1]" in text
    assert "[1] 9 handshakes" in text


def test_ab_counts_failed_replies_among_those_on_kept_connections():
    row = second(0, [10_000] * 25, failed=[500] * 25, statuses={"200": 25, "500": 25})
    row.counters["connections_opened"] = 5
    text = report("ab", row, mode="keep-alive")
    assert line(text, "Keep-Alive").split()[2] == "45"


def test_ab_has_the_size_of_the_document_and_of_all_bodies():
    text = report("ab", second(0, [10_000] * 100))
    assert line(text, "Document Length") == "Document Length:        370 bytes"
    assert line(text, "Total transferred") == "Total transferred:      50000 bytes"
    assert line(text, "HTML transferred").startswith("HTML transferred:       37000 bytes [")
    assert "] beside 1000 bytes of chunked framing" in text


def test_ab_says_that_a_document_varies_instead_of_failing_its_replies():
    row = second(0, [10_000] * 100)
    row.counters |= {"body_received": 50 * 370 + 50 * 380, "body_squares": 50 * (370**2 + 380**2)}
    text = report("ab", row)
    assert line(text, "Document Length").startswith("Document Length:        375.0 bytes [")
    assert "] mean, varies by 5.0" in text


def test_sizes_that_were_not_counted_apart_are_not_made_up():
    old = second(0, [10_000] * 100)
    old.counters = {name: n for name, n in old.counters.items() if name != "head_received"}
    assert "Document Length" not in report("ab", old)
    assert "HTML transferred" not in report("ab", old)
    assert "Reply size [B]: header, content and footer (total 500.0)" in report("httperf", old)


ARRIVING = {"model": "open", "arrival_unit": "connection", "rate_per_s": 10, "requests": 100}


def test_httperf_has_lifetimes_of_connections_that_arrive_for_one_request():
    for mode in ["new", "keep-alive"]:
        one = report("httperf", second(0, [10_000] * 100), load=ARRIVING, mode=mode)
        assert "Connection time [ms]: min 10.000 avg 10.000 max 10.000" in one
        several = {"calls_per_connection": 4}
        text = report(
            "httperf", second(0, [10_000] * 100), load=ARRIVING, mode=mode, session=several
        )
        assert "not measured, connections are reused" in text


def test_ab_percentiles_are_nearest_rank():
    text = report("ab", second(0, [value * 1000 for value in range(1, 101)]))
    rank_50 = float(line(text, "   50%").split()[1])
    assert rank_50 == pytest.approx(50, rel=1e-3), "ab itself would print the 51st"
    assert line(text, "  100%").split()[1] == "100.000"


def test_ab_s_computed_time_is_doubted_where_it_is_not_the_measured_one():
    calm = report("ab", second(0, [20_000] * 100))
    assert line(calm, "Time per request") == "Time per request:       20.000 [ms] (mean)"
    idle = report("ab", second(0, [5_000] * 100))
    assert "over 5 % from the mean measured" in idle


def test_httperf_has_six_groups():
    text = report("httperf", *(second(n, [10_000] * 10) for n in range(12)))
    # A closed load of two connections at once has no command.
    assert text.startswith("httperf [1]\nMaximum connect burst length: 3\n\nTotal: ")
    beginnings = [
        "Total: connections 120 requests 120 replies 120 test-duration 12.000 s",
        "Connection rate: 10.0 conn/s (100.0 ms/conn, <=2 concurrent connections)",
        "Request rate: 10.0 req/s (100.0 ms/req)",
        "Reply rate [replies/s]: min 10.0 avg 10.0 max 10.0 stddev 0.0 (2 samples)",
        "CPU time [s]: user 0.15 system 0.10 (user 1.2% system 0.8% total 2.1%)",
        "Errors: total 0 client-timo 0",
    ]
    assert [line(text, each)[: len(each)] for each in beginnings] == beginnings
    assert "connect 3.000 [" in text
    assert "] TCP 1.000 + TLS 2.000" in text
    assert "response 6.800 transfer 0.200" in text
    assert "Connection length [replies/conn]: 1.000" in text


def test_httperf_tells_our_limits_from_tcp_s_own_and_connecting_from_waiting_for_the_reply():
    slow = second(0, [10_000] * 10, failed=[5_000_000] * 9)
    slow.errors = {"connect_timeout": 4, "first_byte_timeout": 3, "body_timeout": 2}
    slow.counters["socket_timeouts"] = 1
    text = report("httperf", slow)
    assert line(text, "Errors: total") == (
        "Errors: total 9 client-timo 8 socket-timo 1 connrefused 0 connreset 0"
    )
    assert line(text, "Errors: fd-unavail").endswith("other 0")
    assert line(text, "Client timeouts") == (
        "Client timeouts: connecting 3, first byte 3, rest of the reply 2"
    )
    assert "Client timeouts" not in report("httperf", second(0, [10_000] * 10))


def test_a_reply_rate_sample_is_five_whole_seconds():
    for duration_s, n_samples in [(62.4, 12), (60.0, 12), (59.9, 11), (3.0, 0)]:
        seconds = [second(number, [10_000] * 16) for number in range(int(duration_s) + 1)]
        text = report("httperf", *seconds, duration_s=duration_s)
        assert f"({n_samples} samples)" in text
        assert ("min –" in text) == (n_samples == 0)


def test_connection_lifetimes_are_those_with_a_reply_whatever_its_status():
    row = second(0, [10_000] * 5, failed=[1_000_000] * 5)
    row.timings["failed_reply"] = Timing.of([20_000] * 5)
    text = report("httperf", row)
    assert "avg 15.000 max 20.000" in line(text, "Connection time [ms]: min")


def test_fast_failures_do_not_make_the_response_faster():
    text = report("plain", second(0, [100_000] * 50, failed=[100] * 50))
    assert line(text, "response").split()[2] == "100.000"
    assert line(text, "attempts").split()[1:3] == ["100", "50.050"]
    assert "50.0 ok/s" in text


def test_the_warm_up_is_listed_apart():
    text = report("plain", second(-1, [1_000_000]), second(0, [1000] * 200))
    assert "Warm-up, in no figure: 1 request, longest 1000.000 ms." in text
    assert line(text, "response").split()[-1] == "1.000"


def test_nothing_or_next_to_nothing_is_a_dash_and_no_crash():
    for seconds in [[], [second(0, [])], [second(0, [], failed=[1])], [second(0, [1])]]:
        for style in REPORTS:
            order, result = result_of(*seconds, duration_s=0.0)
            text = result.report(style, order) + json.dumps(result.to_json(), allow_nan=False)
            assert not re.search(r"\b(nan|inf|None)\b", text)


def test_the_most_in_flight_is_of_seconds_that_were_not_the_last():
    first, last = second(0, [10_000] * 100), second(1, [10_000] * 100)
    first.in_flight = 2
    text = report("plain", first, last)
    assert "1.0 in flight on average (at most 2 at the end of a second)" in text


def test_the_rate_that_was_sent_leaves_out_the_wait_for_the_last_replies():
    load = {"model": "over", "requests": 100, "over_s": 2}
    order, result = result_of(second(0, [10_000] * 50), second(1, [10_000] * 50), load=load)
    result.ends[0] = replace(result.ends[0], duration_us=7_000_000, sending_us=1_980_000)
    text = result.report("plain", order)
    assert "over, 50.0 requests/s planned, 50.0 requests/s sent" in text


def read_log(path, tag):
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    histograms = []
    while (each := reader.get_next_interval_histogram()) is not None:
        if each.get_tag() == tag:
            histograms.append(each)
    reader.close()
    return reader, histograms


def test_the_log_is_read_by_the_hdrhistogram_package(tmp_path):
    _, result = result_of(second(-1, [9]), second(0, [1000, 2000]), second(1, [500_000] * 3))
    (tmp_path / "log").write_text("\n".join(hlog_lines(result)) + "\n")
    reader, (first, second_one) = read_log(tmp_path / "log", "response")
    assert reader.get_start_time_sec() == 1.7e9
    assert (first.get_total_count(), second_one.get_total_count()) == (2, 3)
    assert first.get_max_value() == pytest.approx(2000, rel=1e-3)
    assert second_one.get_start_time_stamp() == 1.7e12 + 1000
    assert len(read_log(tmp_path / "log", "tls")[1]) == 2


@pytest.mark.sockets
def test_the_command_line_writes_the_log(tmp_path):
    path = tmp_path / "run.hlog"
    with scripted(always(OK_REPLY)) as server:
        url = f"http://127.0.0.1:{server.port}/"
        done = run_unstarved(url, "--requests", 30, "--hlog", path)
    assert done.returncode == 0, done.stderr
    assert sum(each.get_total_count() for each in read_log(path, "response")[1]) == 30


@pytest.mark.sockets
def test_a_log_that_cannot_be_written_is_said_before_anything_is_sent(tmp_path):
    with scripted(always(OK_REPLY)) as server:
        done = run(f"http://127.0.0.1:{server.port}/", "--hlog", tmp_path / "no" / "log")
    assert (done.returncode, server.n_requests) == (2, 0)


def test_a_websocket_s_run_has_its_reports_too():
    for style in REPORTS:
        order, result = result_of(second(0, [10_000] * 100))
        order["plan"] = {"exchange": {"path": "/talk"}, "load": CLOSED, "connection_mode": "new"}
        result.plan = Plan.from_json(order["plan"])
        for name in ("send", "wait", "receive", "processing"):
            del result.seconds[0].timings[name]
        text = result.report(style, order)
        assert "Processing" not in text
        assert style != "ab" or line(text, "Document Path").split()[-1] == "/talk"


def seconds_with_sessions(count=6):
    for number in range(count):
        row = second(number, [10_000] * 20)
        row.counters |= {
            "sessions_started": 6, "sessions_ok": 4, "sessions_failed": 1, "sessions_dropped": 1,
            "session_length_5": 4, "session_length_2": 1, "calls_skipped": 7,
            "connections_opened": 10,
        }  # fmt: skip
        row.timings["session"] = Timing.of([2_000_000] * 4)
        row.timings["session_failed"] = Timing.of([500_000])
        yield row


SESSIONS_LOAD = {"model": "open", "rate_per_s": 6, "duration_s": 6, "arrival_unit": "session"}


def test_httperf_has_its_session_group_where_sessions_arrived():
    session = {"calls_per_session": 5}
    text = report("httperf", *seconds_with_sessions(), load=SESSIONS_LOAD, session=session)
    rate = line(text, "Session rate")
    assert "min 4.00 avg 4.00 max 4.00 stddev – (24/36)" in rate
    assert line(text, "Session: avg") == "Session: avg 2.00 connections/session"
    assert line(text, "Session lifetime") == "Session lifetime [s]: 2.000"
    assert line(text, "Session failtime") == "Session failtime [s]: 0.500"
    assert line(text, "Session length histogram").endswith(": 0 0 6 0 0 24")
    assert "Session" not in report("httperf", second(0, [10_000] * 9))


def test_the_object_has_the_figures_of_sessions():
    session = {"calls_per_session": 5}
    _, result = result_of(*seconds_with_sessions(), load=SESSIONS_LOAD, session=session)
    sessions = result.to_json()["sessions"]
    assert (sessions["started"], sessions["ok"], sessions["lengths"]) == (36, 24, {"2": 6, "5": 24})
    assert result.to_json()["timings_ms"]["session"]["mean"] == 2000
    _, without = result_of(second(0, [10_000] * 9))
    assert "sessions" not in without.to_json()

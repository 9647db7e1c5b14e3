"""Reports in the style of JMeter and wsperf; the others are tested with the terminal."""

import pytest

from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.snapshot import Timing, Total
from campaigns.domain.other_tools.reports import REPORTS, ReportHead, styles_for
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec


def total(times_us, *, failed=0, **timings):
    service = Timing.of(times_us)
    counters = {"ok": service.n, "failed": failed, "bytes_received": 2048 * service.n}
    return Total(counters, timings={"service": service, "response": service, **timings})


def measurement(whole, spec=None, steps=()):
    plan = Plan.from_json(plan_spec() | (spec or {}))
    return Measurement(plan, total=whole, steps=list(steps), duration_s=10.0)


def report(style, seen):
    return REPORTS[style](seen, ReportHead("10.0.0.5", 80, "new", None))


def cells(text, label):
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return line.split(label, 1)[1].split()


HUNDRED = [1000 * n for n in range(1, 101)]


def test_jmeter_has_the_columns_of_the_aggregate_report():
    text = report("jmeter", measurement(total(HUNDRED, failed=25)))
    samples, average, median, p90, p95, p99, low, high, sd, errors, rate = cells(text, "TOTAL")[:11]
    assert (samples, average, low, high) == ("125", "50.50", "1.00", "100.00")
    assert float(median) == pytest.approx(50, rel=1e-3)
    assert float(p90) == pytest.approx(90, rel=1e-3)
    assert (p95, p99) == ("~95.01", "–"), "p99 of 100 samples is the largest but one"
    assert (sd, errors, rate) == ("29.01", "20.00", "12.50"), "the deviation of a sample: n - 1"


def test_jmeter_has_a_row_for_each_of_several_steps():
    steps = [{"method": "GET", "path": f"/{name}", "label": name} for name in ("first", "second")]
    parts = [total(HUNDRED[:60]), total(HUNDRED[60:])]
    text = report("jmeter", measurement(total(HUNDRED), {"steps": steps}, parts))
    assert [cells(text, name)[0] for name in ("first", "second", "TOTAL")] == ["60", "40", "100"]


WINDOW = {"model": "window", "low": 250, "high": 500, "requests": 20_000}


def handshakes(n):
    whole = total([2000 + nth for nth in range(n)], handshake=Timing.of([500] * n))
    whole.counters |= {"window_throttled": 7, "window_resumed": 6}
    plan = {"steps": [], "exchange": {"messages": 0}, "load": WINDOW}
    return measurement(whole, plan)


def test_wsperf_has_the_rows_of_its_table():
    text = report("wsperf", handshakes(20_000))
    assert cells(text, "Total:") == ["20000"]
    assert cells(text, "Handshakes/sec:") == ["2000"]
    assert cells(text, "Fail %:") == ["0.00"]
    assert cells(text, "ms, of successes") == ["opening", "whole"]
    assert cells(text, "Min:") == ["0.50", "2.00"]
    rows = ["SD", "Avg", "Median", "q90", "q95", "q99", "q99.9", "q99.99", "Max"]
    assert all(len(cells(text, f"{row}:")) == 2 for row in rows)
    assert "Load: window, 250 to 500 being opened per injector process planned" in text
    assert "250 and 500; reached the high one 7 times, refilled 6 times" in text


def test_wsperf_prints_no_maximum_in_place_of_a_percentile():
    """wsperf prints the largest of 5,000 as q99.99."""
    text = report("wsperf", handshakes(5_000))
    assert cells(text, "q99.99:") == ["–", "–"]
    assert cells(text, "q99.9:") == ["~0.50", "~6.99"]


@pytest.mark.parametrize(
    "load",
    [
        {"model": "closed", "connections": 1, "requests": 100},
        {"model": "over", "requests": 100, "over_s": 10},
    ],
)
def test_wsperf_counts_connections_whatever_the_load(load):
    plan = {"steps": [], "exchange": {"messages": 0}, "load": load}
    text = report("wsperf", measurement(total(HUNDRED), plan))
    assert "connections/s begun" in text
    assert "requests/s sent" not in text


def test_wsperf_reached_a_mark_1_time():
    whole = handshakes(1000)
    whole.total.counters |= {"window_throttled": 1, "window_resumed": 1}
    assert "reached the high one 1 time, refilled 1 time." in report("wsperf", whole)


def test_a_websocket_s_first_style_is_wsperf_s():
    assert styles_for(handshakes(100).plan)[0] == "wsperf"

"""Reports in the style of JMeter and wsperf; the others are tested with the terminal."""

import pytest

from campaigns.domain.analysis.judgement import Observation, judge
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.other_tools.reports import REPORTS, ReportHead
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec


def total(times_us, *, failed=0, **timings):
    service = Timing.of(times_us)
    counters = {"ok": service.n, "failed": failed, "bytes_received": 2048 * service.n}
    return Total(counters, timings={"service": service, "response": service, **timings})


def measurement(whole, spec=None, steps=()):
    plan = Plan.from_json(plan_spec() | (spec or {}))
    return Measurement(plan, total=whole, steps=list(steps), duration_s=10.0)


def report(style, run):
    return REPORTS[style](run, ReportHead("10.0.0.5", 80, "new", None))


def cells(text, label):
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return line.split(label, 1)[1].split()


HUNDRED = [1000 * n for n in range(1, 101)]


def test_jmeter_has_the_columns_of_the_aggregate_report():
    text = report("jmeter", measurement(total(HUNDRED, failed=25)))
    samples, average, median, p90, p95, p99, low, high, sd, errors, rate = cells(text, "TOTAL")[:11]
    assert (samples, average, low, high) == ("125", "50.500", "1.000", "100.000")
    assert float(median) == pytest.approx(50, rel=1e-3)
    assert float(p90) == pytest.approx(90, rel=1e-3)
    assert (p95, p99) == ("~95.008", "–"), "p99 of 100 samples is the largest but one"
    assert (sd, errors, rate) == ("29.011", "20.00", "12.50"), "the deviation of a sample: n - 1"


def test_a_rate_of_a_few_requests_a_minute_does_not_read_as_none():
    slow = {"load": {"model": "open", "rate_per_s": 0.03, "duration_s": 100}}
    whole = measurement(total([1000] * 3), slow)
    whole.duration_s = 100.0
    assert "0.03 ok/s" in report("plain", whole).splitlines()
    assert "Load: open, 0.03 requests/s planned" in report("ab", whole)


def test_a_measurement_that_cannot_be_used_breaks_no_rule():
    for style in REPORTS:
        whole = measurement(total(HUNDRED))
        whole.thresholds = [Verdict("p95 < 50 ms", "p95", 50, "ms", 95.1, False, 3)]
        judgement = judge({"cpu": Observation(0.9)}, Timing.of(HUNDRED))
        lines = REPORTS[style](whole, ReportHead("10.0.0.5", 80, "new", judgement)).splitlines()
        assert "  open  p95 < 50 ms: 95.1 ms" in lines
        assert "  FAILED  p95 < 50 ms: 95.1 ms, since second 3" in report(style, whole).splitlines()


def test_some_errors_do_not_read_as_none():
    whole = total([1000] * 50_000, failed=1)
    assert cells(report("jmeter", measurement(whole)), "TOTAL")[9] == "0.002"


def test_our_own_report_has_the_times_without_what_the_injector_added_where_they_are_known():
    whole = measurement(total(HUNDRED, undelayed=Timing.of([900 * n for n in range(1, 101)])))
    text = report("plain", whole)
    assert cells(text, "undelayed")[:3] == ["100", "45.450", "0.900"]
    assert "undelayed" not in report("plain", measurement(total(HUNDRED)))


def test_every_report_has_lower_ends_where_the_injector_made_times_longer():
    for style in REPORTS:
        busy = total(HUNDRED * 10, quieter=Timing.of([900] * 500))
        line = "  at least:      mean 0.900  p50 0.900  p95 0.900  p99 0.900"
        assert line in report(style, measurement(busy))
        assert "at least:" not in report(style, measurement(total(HUNDRED)))


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
    assert cells(text, "Min:") == ["0.500", "2.000"]
    rows = ["SD", "Avg", "Median", "q90", "q95", "q99", "q99.9", "q99.99", "Max"]
    assert all(len(cells(text, f"{row}:")) == 2 for row in rows)
    assert "7 times, refilled 6 times" in text


def test_wsperf_prints_no_maximum_in_place_of_a_percentile():
    """wsperf prints the largest of 5,000 as q99.99."""
    text = report("wsperf", handshakes(5_000))
    assert cells(text, "q99.99:") == ["–", "–"]
    assert cells(text, "q99.9:") == ["~0.500", "~6.994"]


def test_a_report_has_both_clocks_and_names_each():
    for style in ["ab", "httperf", "jmeter", "wsperf"]:
        # A hundred requests, each sent so late after its intended start.
        whole = total(HUNDRED, response=Timing.of([each + 108_000 for each in HUNDRED]))
        text = report(style, measurement(whole))
        response, service = (
            next(line for line in text.splitlines() if line.strip().startswith(f"{clock} time:"))
            for clock in ("response", "service")
        )
        assert "mean 158.500" in response
        assert response.endswith("from the intended start")
        assert "mean 50.500" in service
        assert service.endswith("from the actual start")

"""Seconds and series packed for the database say all that they said."""

import json

import numpy as np
import pytest

from campaigns.domain.errors import CorruptHistogram
from campaigns.domain.metrics.series import (
    POINTS_OF_CHUNK,
    chunks_of,
    columns_of,
    columns_of_chunks,
    line_of,
    pack,
    points_of_chunks,
    second_of,
)
from campaigns.domain.metrics.snapshot import Second, Timing
from tests.values import make_point

# What `golden` is packed to. Stored rows look like this.
STORED = bytes.fromhex(
    "026495b90dc0300cc4facc72056539b03d4ba0490ced9e2670be0dae20799797fe90b2a6e67aa545b8a78ae687"
    "e7fd0f54b7929a772a782f70351ba03ab06e001aa006208bd461f288ed9c510b7bf21d034646464600"
)


def golden() -> Second:
    second = Second(3, 0, {"ok": 3, "started": 4}, {"reset": 1}, {"200": 3}, in_flight=2)
    second.timings = {"response": Timing.of([900, 1000, 70_000]), "failed": Timing.of([50])}
    second.vitals = {"cpu_share": 0.25, "hub_lag_max_us": 812}
    return second


def of_kept_connections(n: int = 1000) -> Second:
    """As an injector tells a second of an undisturbed run."""
    rng = np.random.default_rng(1)
    values = (10_000 * rng.lognormal(0, 0.4, n)).astype(int)
    timings = {name: Timing.of(values) for name in ("response", "service", "wait")}
    timings |= {name: Timing.of(rng.integers(20, 90, n)) for name in ("send", "receive")}
    counters = {"started": n, "ok": n, "bytes_received": 4000 * n}
    return Second(0, 0, counters, {}, {"200": n}, 4, timings, {"cpu_share": 0.2})


def of_bad_replies() -> Second:
    second = golden()
    second.details = {"reset": {"by a proxy": 1}}
    return second


def test_all_that_was_told_is_there():
    for second in [golden(), of_kept_connections(), of_bad_replies(), Second(-1, 2)]:
        line = second.to_json()
        payload = pack(line)
        assert line_of(second.second, second.step, payload) == line
        assert second_of(second.second, second.step, payload).to_json() == line


def test_what_was_packed_once_is_read_for_ever():
    assert line_of(3, 0, STORED) == golden().to_json()
    assert second_of(3, 0, STORED).to_json() == golden().to_json()
    assert pack(golden().to_json()) == STORED


def test_moments_are_left_out_only_where_they_follow_from_the_histogram():
    line = golden().to_json()
    short = len(pack(line))
    line["timings"]["failed"]["sum_us"] += 1
    assert len(pack(line)) > short
    assert line_of(3, 0, pack(line)) == line


def test_long_durations_keep_their_exact_moments():
    for us in [2047, 2048, 2049, 3_600_000_000]:
        second = Second(0, 0, timings={"response": Timing.of([us, us])})
        assert line_of(0, 0, pack(second.to_json())) == second.to_json()


def test_equal_histograms_are_there_once():
    second = of_kept_connections()
    alone = len(pack(second.to_json()))
    second.timings |= dict.fromkeys(("processing", "sampled"), second.timings["response"])
    assert len(pack(second.to_json())) < alone + 40


def test_it_is_about_a_fifth_of_its_line():
    line = of_kept_connections().to_json()
    assert len(pack(line)) < len(json.dumps(line)) / 4.8


def test_timings_of_nothing_and_other_fields_of_the_line_are_left_out():
    line = golden().to_json()
    payload = pack(line)
    line["timings"]["dns"] = {"n": 0, "sum_us": 0, "sum_squares": 0, "min_us": 0, "max_us": 0}
    assert pack(line | {"type": "second", "examples": [{}]}) == payload


def test_a_payload_that_is_not_ours_is_kept_as_it_came_and_refused_when_it_is_read():
    for payload in ["", "no payload", "AAAA"]:
        line = golden().to_json()
        line["timings"]["failed"]["histogram"] = payload
        row = pack(line)
        assert line_of(3, 0, row) == line
        timings = second_of(3, 0, row).timings
        assert timings["response"].percentile_us(50_000) == 1000
        with pytest.raises(CorruptHistogram):
            _ = timings["failed"].histogram.counts


def test_another_format_is_refused():
    with pytest.raises(ValueError, match=r"this release reads 2 and 3"):
        second_of(0, 0, b"\x04" + pack(golden().to_json())[1:])


N = POINTS_OF_CHUNK + 5


def points():
    errors = [{}, {"reset": 2}]
    return [make_point(n - 3, errors=errors[n % 2], p99_ms=n / 1000) for n in range(N)]


def test_they_come_back_as_they_were():
    assert points_of_chunks(chunks_of(points())) == points()


def test_a_chunk_has_an_hour():
    first, second = columns_of_chunks(chunks_of(points()))
    assert (first["second"][0], first["second"][-1]) == (-3, POINTS_OF_CHUNK - 4)
    assert second == columns_of(points()[POINTS_OF_CHUNK:])


def test_as_written_its_numbers_are_the_text_that_they_are_stored_as():
    first, _ = columns_of_chunks(chunks_of(points()), as_written=True)
    assert first["p99_ms"][:3] == [repr(n / 1000) for n in range(3)]
    assert first["second"][0] == "-3"
    assert first["errors"][1] == {"reset": "2"}

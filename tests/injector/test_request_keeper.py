"""Which requests are kept one by one, and which number each has."""

import numpy as np
import pytest

from campaigns.domain.metrics.kept_requests import KeptRequests
from campaigns.domain.metrics.outcomes import Kind
from tests.injector.forked import FORKED
from tests.injector.servers import after, closed, make_order, scripted
from workers.injector.attempt_row import FIELDS
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.request_keeper import RequestKeeper

S, US = 10**9, 10**3


def attempt(start, took_us, due=None):
    end = start + took_us * US
    times = {"intended": start if due is None else due, "start": start, "end": end}
    row = times | {"sent": start + 5 * US, "first": end, "status": 200}
    return tuple(row.get(name, 0) for name in FIELDS)


def recorders_with(keeper, n_steps=1):
    recorders = [StepRecorder(step, 80, is_scheduled=True) for step in range(n_steps)]
    for recorder in recorders:
        recorder.keeper = keeper
    return recorders


def kept_of(keeper) -> KeptRequests:
    return KeptRequests.from_line(keeper.line())


@pytest.mark.pure
@pytest.mark.parametrize("most", [0, 300], ids=["slowest from the beginning", "all at first"])
def test_the_slowest_have_the_numbers_in_which_they_were_begun(most):
    rng = np.random.default_rng(4)
    starts = np.sort(rng.integers(0, 20 * S, 3000)).tolist()
    took_us = rng.integers(500, 3_000_000, 3000).tolist()
    by_end = sorted(zip(starts, took_us, strict=True), key=lambda each: each[0] + each[1] * US)
    keeper = RequestKeeper(most)
    recorders = recorders_with(keeper, n_steps=3)
    nth = 0
    for second in range(25):
        while nth < len(by_end) and by_end[nth][0] + by_end[nth][1] * US < (second + 1) * S:
            start, took = by_end[nth]
            recorders[nth % 3].record(attempt(start, took))
            nth += 1
        for recorder in recorders:
            recorder.compact()
        under_way = [start for start, _ in by_end[nth:] if start < (second + 1) * S]
        keeper.settle(min(under_way, default=(second + 1) * S))
    requests = kept_of(keeper)
    assert not requests.is_all
    slowest = sorted(range(3000), key=lambda n: -took_us[n])[:10]
    assert {(row.number, row.response_us) for row in requests.rows} == {
        (n + 1, took_us[n]) for n in slowest
    }


@pytest.mark.pure
def test_few_are_kept_whole_with_their_parts_and_the_warm_up_apart():
    keeper = RequestKeeper(2)
    [recorder] = recorders_with(keeper)
    recorder.zero_ns = 10 * S
    for start in (9 * S, 12 * S, 11 * S):
        recorder.record(attempt(start, 2000, due=start - 50 * US))
    recorder.record(attempt(10 * S - US, 500))
    recorder.compact()
    requests = kept_of(keeper)
    assert requests.is_all
    assert [(row.number, row.start_us) for row in requests.rows] == [
        (None, -1_000_000), (1, 1_000_000), (2, 2_000_000),
    ]  # fmt: skip
    row = requests.rows[1]
    assert row.parts_us == {"lateness": 50, "send": 5, "wait": 1995, "receive": 0}
    assert row.response_us == sum(row.parts_us.values())


@pytest.mark.pure
def test_a_failed_request_is_among_the_slowest():
    keeper = RequestKeeper(0)
    [recorder] = recorders_with(keeper)
    for n in range(20):
        recorder.record(attempt(n * 1000 * US, 500))
    recorder.failures.append(Failure(S, S, 4 * S, Kind.FIRST_BYTE_TIMEOUT, 0, 80, 0))
    recorder.compact()
    slowest = kept_of(keeper).slowest(1)[0]
    assert (slowest.number, slowest.response_us) == (21, 3_000_000)
    assert (slowest.kind, slowest.status, slowest.wait_us) == ("first_byte_timeout", 0, None)


@pytest.mark.pure
def test_a_warm_up_of_many_is_not_kept():
    keeper = RequestKeeper(5)
    [recorder] = recorders_with(keeper)
    recorder.zero_ns = 10 * S
    for n in range(6):
        recorder.record(attempt(9 * S + n * US, 500))
    recorder.record(attempt(11 * S, 500))
    recorder.compact()
    assert [row.number for row in kept_of(keeper).rows] == [1]


def test_an_injector_tells_each_request_of_a_short_run_before_its_end(program):
    with scripted(after(0.001)) as server:
        injector = program(make_order(server.port, load=closed(40, 4)), FORKED)
        injector.start()
        lines, _ = injector.rest()
    [line] = injector.requests
    requests = KeptRequests.from_line(line)
    assert requests.is_all
    assert [row.number for row in requests.rows] == list(range(1, 41))
    assert all(row.response_us == sum(row.parts_us.values()) for row in requests.rows)
    assert lines[-1]["type"] == "end"

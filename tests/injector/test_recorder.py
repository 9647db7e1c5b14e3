"""The recorder: a second is counted a little at a time, and nothing of it is lost."""

import pytest

from campaigns.domain.outcomes import Kind
from workers.injector.recorder import NS, Failure, StepRecorder

_MS = 1_000_000


@pytest.fixture
def recorder():
    recorder = StepRecorder(0, 100, is_scheduled=True)
    recorder.zero_ns = 50 * NS
    return recorder


def note(recorder, at_ms, took_ms=20):
    """An ok attempt that was due at a time, sent at once, and answered in one piece."""
    due = recorder.zero_ns + at_ms * _MS
    end = due + took_ms * _MS
    recorder.record((due, due, 0, 0, due, end, end, 200, 160))


def count_all(recorder):
    turns = 0
    while recorder.count_one_timing():
        turns += 1
    return turns


def test_what_was_compacted_waits_to_be_counted_one_timing_at_a_time(recorder):
    note(recorder, 10)
    recorder.compact()
    assert recorder.has_uncounted(0)
    turns = count_all(recorder)
    assert not recorder.has_uncounted(0)
    timings = recorder.finish(0, []).timings
    assert turns == len(timings)
    assert timings["response"].n == 1


def test_a_second_counted_in_pieces_is_the_one_counted_at_once(recorder):
    other = StepRecorder(0, 100, is_scheduled=True)
    other.zero_ns = recorder.zero_ns
    for at_ms in range(0, 900, 10):
        note(recorder, at_ms, took_ms=at_ms % 70)
        note(other, at_ms, took_ms=at_ms % 70)
        recorder.compact()
        if at_ms % 3 == 0:
            recorder.count_one_timing()
    other.compact()
    assert recorder.finish(0, []) == other.finish(0, [])


def test_a_second_that_is_over_is_counted_although_the_next_one_has_begun(recorder):
    note(recorder, 900)
    note(recorder, 1100)
    recorder.compact()
    while recorder.has_uncounted(0):
        assert recorder.count_one_timing()
    assert recorder.finish(0, []).counters["ok"] == 1
    assert recorder.finish(1, []).timings["response"].n == 1


def test_many_failures_of_a_second_are_one_piece_of_work(recorder):
    start = recorder.zero_ns
    failure = Failure(start, start, start + _MS, Kind.RESET, 0, 100, 0)
    recorder.failures.extend([failure] * 1000)
    recorder.compact()
    assert count_all(recorder) == 1
    second = recorder.finish(0, [])
    assert second.errors == {"reset": 1000}
    assert (second.timings["failed"].n, second.timings["failed"].mean_us) == (1000, 1000)

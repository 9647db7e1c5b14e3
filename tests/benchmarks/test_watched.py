"""The lines that tell whether all viewers hear of each second in time, and see the end of a run."""

import pytest

from benchmarks import watched_live
from benchmarks.watched_end import Watcher, lines_of

pytestmark = pytest.mark.pure


def viewer(*statuses: int, final_at: float | None) -> Watcher:
    return Watcher(0, ("", ""), {}, statuses=list(statuses), final_at=final_at)


@pytest.mark.parametrize(
    ("last", "said", "is_met"),
    [
        (viewer(200, final_at=108.0), "2 see it within 8.0 s, 0 errors", True),
        (viewer(200, final_at=111.0), "2 see it within 11.0 s, 0 errors", False),
        (viewer(503, 200, final_at=108.0), "2 see it within 8.0 s, 1 errors", False),
        (viewer(503, final_at=None), "1 see it within 1.0 s, 1 errors", False),
    ],
)
def test_all_have_to_see_the_final_page_in_time_and_without_an_error(last, said, is_met):
    goal, cost = lines_of([viewer(200, final_at=101.0), last], 100.0, 0.5)
    assert (goal.measured, goal.is_met) == (said, is_met)
    assert cost.measured == "0.5 s of CPU, 250.0 ms each"


def test_a_stream_that_ends_before_the_run_goes_on_where_it_says():
    watching = Watcher(0, ("/stream", "/page"), {})
    beat = b'event: beat\ndata: {"spread_ms":500,"refresh_s":5.0}\n\n'
    again = b'event: again\ndata: {"after":"e1.r2.s3","state":"running"}\n\n'
    assert watching.hear((beat + again).splitlines()) == "/stream?after=e1.r2.s3&state=running"
    assert (watching.spread_s, watching.is_listening.is_set()) == (0.5, True)
    assert watching.hear(b"event: end\ndata: {}\n\n".splitlines()) == ""
    with pytest.raises(RuntimeError, match="without a word"):
        watching.hear(beat.splitlines())


@pytest.mark.parametrize(
    ("more", "is_met"),
    [
        ({}, [True, True, None, True]),
        ({"delays_ms": [20.0] * 90 + [300.0] * 10}, [False, True, None, True]),
        ({"share": 0.09}, [True, False, None, True]),
        ({"memory_mb": 201.0}, [True, True, None, False]),
    ],
)
def test_a_second_has_to_be_heard_in_time_and_for_little(more, is_met):
    seen = {"delays_ms": [20.0] * 100, "share": 0.05, "share_with_pages": 0.12}
    seen |= {"pages_per_s": 10.0, "memory_mb": 150.0}
    lines = list(watched_live.lines_of(500, watched_live.HeardSeconds(**seen | more)))
    assert [line.is_met for line in lines] == is_met
    assert lines[2].measured == "12.0 % of a core, 10.0 pages/s"

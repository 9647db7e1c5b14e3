"""The lines that tell whether all viewers see the end of a run."""

import pytest

from benchmarks.watched_end import Viewer, lines_of

pytestmark = pytest.mark.pure


def viewer(*statuses: int, final_at: float | None) -> Viewer:
    return Viewer(0, ("", ""), {}, statuses=list(statuses), final_at=final_at)


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

"""What `python -m benchmarks.search_endings` prints of a search, and which endings it makes."""

import pytest

from benchmarks.search_endings import CASES, report
from campaigns.domain.judged.capacity import Ending

pytestmark = pytest.mark.pure
FOUND = {
    "ending": "injector",
    "sentence": "At least 4,000 requests/s keep p95 below 100 ms.",
    "limited_by": {"word": "injectors"},
    "trials": [
        {"rate_per_s": 4000.0, "result": "passed", "reason": ""},
        {"rate_per_s": 8000.0, "result": "untrusted", "reason": "The injector was busy."},
    ],
}


def test_every_ending_is_made_but_that_of_a_target_that_drifts():
    made = {case.ending for case in CASES}
    assert made == {*Ending} - {Ending.DRIFTED}, "no target of ours drifts by itself"


@pytest.mark.parametrize(("meant", "how"), [("injector", "as meant"), ("below", "injector")])
def test_the_report_has_how_it_ended_its_sentence_and_its_trials(meant, how):
    assert list(report(meant, FOUND)) == [
        f"{meant}: {how}",
        "  At least 4,000 requests/s keep p95 below 100 ms.",
        "  limited by: injectors",
        "  4000/s passed",
        "  8000/s untrusted: The injector was busy.",
    ]

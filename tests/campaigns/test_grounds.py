"""What a campaign's answer rests on, as its page lists it below the sentence."""

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from tests.factories import make_run
from tests.measured import https_campaign, measure, run_in_blocks

HTTP, HTTPS = [18_900, 19_000, 18_800], [29_100, 29_000, 29_300]


@pytest.fixture
def compared(project):
    """A finished campaign of HTTP and HTTPS, and its two tests, which have no runs yet."""
    now = timezone.now()
    return https_campaign(project, started_at=now, finished_at=now)


def test_errors_are_those_of_the_runs_that_count_where_others_are_left_out(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    failed = {"counters": {"failed": 200, "started": 200}, "errors": {"connect_refused": 200}}
    measure(make_run(tests[0], 3), 0, n=0, **failed)
    measure(make_run(tests[1], 3), HTTPS[2])
    assert (
        "no errors in 10,000 requests of the runs that count" in campaign_answer(campaign).grounds
    )

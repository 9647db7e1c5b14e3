"""What a campaign's answer rests on, as its page lists it below the sentence."""

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.shown.sentences import plain_text
from campaigns.queries.answers import campaign_answer
from campaigns.services.runs import STOPPED_BEFORE
from tests.factories import make_run
from tests.queries.measured import https_campaign, measure, run_in_blocks, spoil

HTTP, HTTPS = [18_900, 19_000, 18_800], [29_100, 29_000, 29_300]


@pytest.fixture
def compared(project):
    """A finished campaign of HTTP and HTTPS, and its two tests, which have no runs yet."""
    now = timezone.now()
    return https_campaign(project, started_at=now, finished_at=now)


def test_they_name_interval_threshold_requests_and_metric(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP, HTTPS])
    assert campaign_answer(campaign).grounds == [
        "95\u202f% intervals over 3 paired blocks",
        "practical threshold 5\u202f%",
        "no errors in 12,000 requests",
        "primary metric: average, whose parts add up",
    ]


def test_a_practical_threshold_is_said_as_it_was_set(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP, HTTPS])
    campaign.practical_threshold = 0.025
    assert "practical threshold 2.5\u202f%" in campaign_answer(campaign).grounds


def test_errors_are_those_of_the_runs_that_count_where_others_are_left_out(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    failed = {"counters": {"failed": 200, "started": 200}, "errors": {"connect_refused": 200}}
    measure(make_run(tests[0], 3), 0, n=0, **failed)
    measure(make_run(tests[1], 3), HTTPS[2])
    assert (
        "no errors in 10,000 requests of the runs that count" in campaign_answer(campaign).grounds
    )


def test_the_reason_of_a_run_that_cannot_be_used_is_not_said_of_others(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP, HTTPS])
    for outcome in (Outcome.PARTIAL, Outcome.KILLED, Outcome.KILLED):
        measure(make_run(tests[0], campaign.runs.count()), 20_000, outcome=outcome)
    assert campaign_answer(campaign).grounds[-1] == (
        "1 of 9 runs did not finish. Partial: it did not end as planned. 2 other runs did not "
        "finish for another reason."
    )


def test_a_run_that_finished_but_is_not_usable_makes_no_count_of_the_others_wrong(compared):
    campaign, tests = compared
    runs = run_in_blocks(tests, [HTTP, HTTPS])
    spoil(runs[0], cpu=0.99)
    measure(make_run(tests[0], 4), 20_000, outcome=Outcome.PARTIAL)
    ground = campaign_answer(campaign).grounds[-1]
    assert ground.startswith("1 of 7 runs did not finish.")
    assert "cannot be used" not in ground


def test_runs_that_a_stop_kept_from_starting_are_told_in_one_sentence_of_each(compared):
    campaign, tests = compared
    run_in_blocks(tests, [HTTP[:1], HTTPS[:1]])
    for test in tests:
        for repeat in (2, 3):
            make_run(test, repeat, state="done", outcome="stopped", reason=STOPPED_BEFORE)
    answer = campaign_answer(campaign)
    assert answer.grounds[-1] == "4 of 6 runs did not finish. Each stopped before it started."
    assert answer.overheads[0].word_reason.startswith(
        "4 runs cannot be used. Each stopped before it started."
    )


def test_a_campaign_that_was_stopped_before_its_first_run_says_so_of_each_run(compared):
    campaign, tests = compared
    for test in tests:
        for repeat in (1, 2, 3):
            make_run(test, repeat, state="done", outcome="stopped", reason=STOPPED_BEFORE)
    assert plain_text(campaign_answer(campaign).sentence) == (
        "No answer: no run has figures. Each stopped before it started."
    )


def test_notes_of_one_kind_are_one_line(compared):
    campaign, tests = compared
    for run in run_in_blocks(tests, [HTTP, HTTPS]):
        spoil(run, co_located=1)
    (line,) = [each for each in campaign_answer(campaign).grounds if "injector host" in each]
    assert line.startswith("The target runs on the injector host")


def test_a_percentile_that_is_partly_the_injectors_is_marked_in_its_row_and_warned_of_nowhere(
    compared,
):
    campaign, tests = compared
    runs = run_in_blocks(tests, [HTTP, HTTPS])
    before = campaign_answer(campaign).grounds
    spoil(runs[0], own_tail=1_500)
    answer = campaign_answer(campaign)
    assert answer.grounds == before
    marked = [cell for row in answer.tests[0].table.rows for cell in row.cells if cell.weak]
    assert marked[0].why.startswith("About 1.50\u202fms of the")

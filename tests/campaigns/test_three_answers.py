"""Measurement, target and precision, under the sentence of a run and of a campaign."""

import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.presentation.sentences import plain_text
from campaigns.runs.queries.reports import run_report
from tests.campaigns.test_answers import HTTP, HTTPS, done
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.measured import end, https_campaign, measure, run_in_blocks
from tests.values import make_second


def words(answers) -> list[str]:
    return [each.word for each in answers]


def a_run(project, **fields):
    return measure(make_run(make_test(make_campaign(project, repeats=1))), 20_000, **fields)


def test_a_trusted_run_of_a_healthy_target_says_what_was_counted(project):
    measurement, target, precision = run_report(a_run(project)).answers
    assert words([measurement, target, precision]) == ["Trusted", "Healthy", "Up to p99"]
    assert all("2,000 requests" in each.reason for each in (measurement, target, precision))


def test_precision_is_that_of_the_run_with_the_fewest(project):
    campaign, tests = https_campaign(project, repeats=1)
    measure(make_run(tests[0]), 20_000)
    measure(make_run(tests[1]), 20_000, n=50)
    assert "50 requests: p50 between " in campaign_answer(done(campaign)).answers[2].reason


def test_failures_are_counted_and_dated_since_the_sentence_has_named_them(project):
    failures = {"counters": {"failed": 50}, "errors": {"status_unexpected": 50}}
    run = a_run(project, **failures)
    for report in (run_report(run), campaign_answer(done(run.campaign))):
        target = report.answers[1]
        assert target.word == "Failing"
        assert target.reason == "500 errors in 2,500 requests, from second 0 to 9."


@pytest.mark.parametrize(
    ("lateness_us", "answer"), [(50, "Healthy"), (5_000, "Healthy")], ids=["trusted", "in doubt"]
)
def test_nothing_but_redirects_is_said_first_and_is_no_failure(project, lateness_us, answer):
    """ab's preset on the founding study's /login/: every reply counts, as in ab."""
    run = a_run(project, statuses={"302": 200}, lateness_us=lateness_us)
    for report in (run_report(run), campaign_answer(done(run.campaign))):
        assert report.answers[1].word == answer
        assert "no errors in 2,000 requests" in plain_text(report.sentence)
        assert [each.place for each in report.remedies] == ["plan"]


def test_where_everything_failed_there_is_nothing_to_be_precise_about(project):
    run = make_run(make_test(make_campaign(project, repeats=1)))
    lost = make_second(0, [], counters={"failed": 50}, errors={"connect_refused": 50})
    store_second(run, lost)
    run = end(run, Outcome.COMPLETE)
    answers = run_report(run).answers
    assert words(answers) == ["Trusted", "Failing", "No usable data"]
    assert answers[1].reason == "50 errors in 50 requests, all in second 0."


def test_of_a_measurement_without_an_answer_nothing_else_is_claimed(project):
    report = run_report(a_run(project, counters={"in_doubt": 20}))
    assert words(report.answers) == ["No answer", "Healthy", "No usable data"]
    assert [each.place for each in report.remedies] == ["hosts", "again"]


def test_a_campaign_whose_other_tests_can_be_used_says_in_part_and_how_precise_these_are(project):
    campaign, (http, https) = https_campaign(project)
    run_in_blocks([http], [HTTP])
    run_in_blocks([https], [HTTPS], counters={"in_doubt": 20})
    answers = campaign_answer(done(campaign)).answers
    assert (answers[0].word, answers[2].word) == ("No answer in part", "Up to p99")
    assert answers[0].reason.startswith("3 of 6 runs")


def test_a_target_is_healthy_by_the_runs_that_could_judge_it(project):
    campaign, (http, https) = https_campaign(project)
    run_in_blocks([http], [HTTP], lateness_us=5_000)
    run_in_blocks([https], [HTTPS])
    target = campaign_answer(done(campaign)).answers[1]
    assert (target.word, "12,000 requests" in target.reason) == ("Healthy", True)


def test_a_campaign_says_how_many_runs_are_in_doubt_and_keeps_its_word(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTPS], vitals={"cpu_share": 0.9})
    answer = campaign_answer(done(campaign))
    assert answer.answers[0].word == "Busy"
    assert answer.answers[0].reason.startswith("6 of 6 runs")
    assert answer.overheads[0].word == "slower"

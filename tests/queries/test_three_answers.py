"""Measurement, target and precision, under the sentence of a run and of a campaign."""

import pytest

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.shown.sentences import plain_text
from campaigns.queries.answers import campaign_answer
from campaigns.queries.reports import run_report
from tests.factories import make_campaign, make_run, make_test, store_second
from tests.queries.measured import end, https_campaign, measure, run_in_blocks
from tests.queries.test_answers import HTTP, HTTPS, done
from tests.values import make_second


def told(answers) -> list[tuple[str, str]]:
    return [(each.word, each.reason.replace("\u202f", " ")) for each in answers]


def a_run(project, **seen):
    return measure(make_run(make_test(make_campaign(project, repeats=1))), 20_000, **seen)


def test_a_trusted_run_of_a_healthy_target_says_what_was_counted(project):
    measurement, target, precision = run_report(a_run(project)).answers
    assert [each.question for each in (measurement, target, precision)] == [
        "Can the measurement be believed?",
        "How did the target do?",
        "How precise is it?",
    ]
    assert told([measurement, target]) == [
        ("Trusted", "The injector kept up, and all 2,000 requests are accounted for."),
        ("Healthy", "No errors in 2,000 requests."),
    ]
    assert precision.word == "Up to p99"
    assert precision.reason.startswith("2,000 requests: p99 ± ")


def test_precision_is_that_of_the_run_with_the_fewest(project):
    campaign, tests = https_campaign(project, repeats=1)
    measure(make_run(tests[0]), 20_000)
    measure(make_run(tests[1]), 20_000, n=50)
    precision = campaign_answer(done(campaign)).answers[2]
    assert precision.reason.startswith("The run with the fewest has 50 requests: p50 ± ")
    failed = {"counters": {"failed": 200, "started": 200}, "errors": {"connect_refused": 200}}
    measure(make_run(tests[1], 2), 0, n=0, **failed)
    precision = campaign_answer(done(campaign)).answers[2]
    assert precision.reason == (
        "The run with the fewest has no response times: no request succeeded."
    )


def test_failures_are_counted_and_dated_since_the_sentence_has_named_them(project):
    seen = {"counters": {"failed": 50}, "errors": {"status_unexpected": 50}}
    run = a_run(project, **seen)
    expected = ("Failing", "500 errors in 2,500 requests, from second 0 to 9.")
    assert told(run_report(run).answers)[1] == expected
    assert told(campaign_answer(done(run.campaign)).answers)[1] == expected


@pytest.mark.parametrize(
    ("lateness_us", "answer"), [(50, "Healthy"), (5_000, "Not judged")], ids=["trusted", "in doubt"]
)
def test_nothing_but_redirects_is_said_first_and_is_no_failure(project, lateness_us, answer):
    """ab's preset on the founding study's /login/: every reply counts, as in ab."""
    run = a_run(project, statuses={"302": 200}, lateness_us=lateness_us)
    remark = "Every reply was a redirect. This measures the redirect, not the page. "
    for report in (run_report(run), campaign_answer(done(run.campaign))):
        assert plain_text(report.sentence).startswith(remark)
        assert report.answers[1].word == answer
        assert "no errors in 2,000 requests" in plain_text(report.sentence)
        assert [each.title for each in report.remedies] == [
            "Do you want the page behind the redirect?"
        ]


def test_where_everything_failed_there_is_nothing_to_be_precise_about(project):
    run = make_run(make_test(make_campaign(project, repeats=1)))
    lost = make_second(0, [], counters={"failed": 50}, errors={"connect_refused": 50})
    store_second(run, lost)
    run = end(run, Outcome.COMPLETE)
    assert told(run_report(run).answers) == [
        ("Trusted", "The injector kept up, and all 50 requests are accounted for."),
        ("Failing", "50 errors in 50 requests, all in second 0."),
        ("Nothing to be precise about", "No response times: no request succeeded."),
    ]


def test_of_a_measurement_that_is_not_usable_nothing_else_is_claimed(project):
    report = run_report(a_run(project, lateness_us=15_000))
    (measured, why), (target, _), (precision, _) = told(report.answers)
    assert (measured, target, precision) == (
        "Not usable",
        "Not judged",
        "Nothing to be precise about",
    )
    assert why.startswith("The injector sent late (p99 15.0 ms")
    assert [each.place for each in report.remedies] == ["hosts", "again"]


def test_a_campaign_whose_other_tests_can_be_used_says_in_part_and_how_precise_these_are(project):
    campaign, (http, https) = https_campaign(project)
    run_in_blocks([http], [HTTP])
    run_in_blocks([https], [HTTPS], lateness_us=15_000)
    answer = campaign_answer(done(campaign))
    (word, why), _, (precision, _) = told(answer.answers)
    assert word == "Not usable in part"
    assert why.startswith("3 of 6 runs: The injector sent late")
    assert precision == "Up to p99"


def test_a_target_is_healthy_by_the_runs_that_could_judge_it(project):
    campaign, (http, https) = https_campaign(project)
    run_in_blocks([http], [HTTP], lateness_us=5_000)
    run_in_blocks([https], [HTTPS])
    _, target, _ = told(campaign_answer(done(campaign)).answers)
    assert target == ("Healthy", "No errors in 12,000 requests.")


def test_a_campaign_says_how_many_runs_are_in_doubt_and_keeps_its_word(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTPS], vitals={"cpu_share": 0.7})
    answer = campaign_answer(done(campaign))
    (word, why), *_ = told(answer.answers)
    assert word == "Doubtful"
    assert why.startswith("6 of 6 runs: The injector was busy")
    assert not any("busy" in ground for ground in answer.grounds)
    assert answer.overheads[0].word == "slower"


def test_the_only_run_is_not_1_of_1_runs(project):
    run = a_run(project, vitals={"cpu_share": 0.7})
    (_, why), *_ = told(campaign_answer(done(run.campaign)).answers)
    assert why.startswith("The injector was busy")


def test_nothing_is_answered_before_a_run_was_judged(project):
    campaign, _ = https_campaign(project)
    assert campaign_answer(campaign).answers == ()

from copy import deepcopy

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.shown.badges import Answers
from campaigns.domain.shown.sentences import plain_text
from campaigns.queries.answers import campaign_answer
from campaigns.queries.reports import run_report
from campaigns.services.summaries import keep_figures
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.kept_rows import forget
from tests.queries.measured import end, https_campaign, measure, run_in_blocks, spoil
from tests.values import plan_spec

HTTP, HTTPS = [18_900, 19_000, 18_800], [29_100, 29_000, 29_300]


def done(campaign):
    campaign.started_at = campaign.finished_at = timezone.now()
    campaign.save()
    return campaign


def values(table, label: str) -> dict:
    row = next(row for row in table.rows if row.label.startswith(label))
    return {column.key: cell.value for column, cell in zip(table.columns, row.cells, strict=True)}


@pytest.fixture(scope="module")
def finished_of_the_file(rows_of_the_file):
    campaign, tests = https_campaign(make_project())
    runs = run_in_blocks(tests, [HTTP, HTTPS])
    return done(campaign), tests, runs


@pytest.fixture
def finished(finished_of_the_file, db):
    """A campaign, its tests, its runs; what a test changes of them is undone."""
    forget()
    return deepcopy(finished_of_the_file)


def test_the_sentence_says_what_https_costs(finished):
    campaign, _, _ = finished
    assert plain_text(campaign_answer(campaign).sentence).replace("\u202f", " ") == (
        "On a new connection HTTPS is slower than HTTP: +54 % (95 % interval +50 to +58 %), "
        "29.1 instead of 18.9 ms."
    )


def test_each_test_has_run_rows_a_mean_row_and_a_pooled_row(finished):
    campaign, tests, runs = finished
    answer = campaign_answer(campaign)
    assert [each.test_id for each in answer.tests] == [test.pk for test in tests]
    table = answer.tests[0].table
    assert [row.kind for row in table.rows] == ["run"] * 3 + ["mean", "pooled"]
    assert table.rows[0].link["run"] == runs[0].pk
    assert values(table, "Mean")["mean"] == 18.9
    assert values(table, "Pooled")["n"] == 6000
    assert values(table, "Repeat 2")["rate"] == 200


def test_a_test_answer_carries_what_charts_need(finished):
    answer = campaign_answer(finished[0]).tests[1]
    assert (answer.scheme, answer.connection_mode) == ("https", "new")
    assert (answer.trust, answer.target_state) == ("trusted", "healthy")
    assert answer.label == "HTTPS new connection"
    assert answer.means_ms == pytest.approx([29.1, 29.0, 29.3], rel=1e-3)
    assert answer.curve[0]["q"] == 0.1


def test_the_overhead_has_both_percentages_interval_and_word(finished):
    (overhead,) = campaign_answer(finished[0]).overheads
    mean = values(overhead.table, "average")
    assert (mean["http"], mean["https"], mean["difference"]) == (18.9, 29.1, 10.2)
    assert (mean["increase"], mean["share"]) == (54.1, 35.1)
    assert mean["low"] < mean["ratio"] < mean["high"]
    assert (overhead.word, mean["word"]) == ("slower", "slower")
    assert values(overhead.table, "p50")["word"] is None
    assert values(overhead.table, "max")["low"] is None
    assert [row["metric"] for row in overhead.forest] == ["average", "p50", "p90", "p95", "p99"]


def test_the_split_blames_the_tls_handshake_and_adds_up(finished):
    (overhead,) = campaign_answer(finished[0]).overheads
    assert overhead.split.difference["parts"]["tls"] == 9.0
    for row in (*overhead.split.rows, overhead.split.difference):
        whole = sum(value for value in row["parts"].values() if value is not None)
        assert whole == pytest.approx(row["total_ms"])


def test_what_was_the_same_and_equal_is_listed(finished):
    (overhead,) = campaign_answer(finished[0]).overheads
    found = overhead.like_for_like
    assert [name for name, _ in found["same"]] == ["target", "host", "plan", "injector hosts"]
    assert ["status", "200 only"] in found["equal"]
    assert found["different"] == []


def test_before_the_third_repeat_there_are_figures_and_no_word(project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    make_run(tests[0], 3)
    answer = campaign_answer(campaign)
    assert (answer.n_done, answer.n_runs, answer.has_word) == (4, 5, False)
    assert answer.overheads[0].word == ""
    assert "No verdict yet: that takes 3 finished repeats of each." in plain_text(answer.sentence)
    assert plain_text(answer.sentence).startswith("So far")


def test_a_campaign_that_ended_with_two_repeats_is_inconclusive(project):
    campaign, tests = https_campaign(project, repeats=2)
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    answer = campaign_answer(done(campaign))
    assert answer.overheads[0].word == "inconclusive"
    assert "3 finished repeats" in answer.overheads[0].word_reason


def test_a_run_that_is_not_usable_is_shown_with_its_reason_and_enters_nothing(finished):
    campaign, _, runs = finished
    spoil(runs[0], cpu=0.9)
    answer = campaign_answer(campaign)
    table = answer.tests[0].table
    assert values(table, "Repeat 1")["mean"] == 18.9
    assert table.rows[0].note == "Not usable: the injector was busy"
    assert table.rows[1].note == ""
    assert table.rows[3].label == "Mean of 2 runs"
    assert values(table, "Pooled")["n"] == 4000
    assert answer.overheads[0].word == "inconclusive"
    assert "The injector was busy" in answer.overheads[0].word_reason
    assert answer.tests[0].means_ms[0] is None


def test_without_a_single_usable_run_there_is_no_answer_and_no_figure_but_in_the_rows(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTPS], lateness_us=15_000)
    answer = campaign_answer(done(campaign))
    table = answer.tests[0].table
    assert values(table, "Repeat 1")["mean"] == 18.9
    assert values(table, "Mean")["mean"] is values(table, "Pooled")["n"] is None
    (overhead,) = answer.overheads
    assert values(overhead.table, "average")["increase"] is None
    assert overhead.word == "inconclusive"
    assert overhead.word_reason.startswith("6 runs cannot be used. Not usable: The ")
    said = "No answer: the injector sent late in 6 of 6 runs."
    assert plain_text(answer.sentence) == said
    assert not answer.has_word


def test_runs_that_never_began_are_none_of_those_without_an_answer(project):
    campaign, tests = https_campaign(project)
    run_in_blocks([tests[0]], [HTTP], lateness_us=15_000)
    make_run(tests[1], state="done", outcome="stopped")
    said = plain_text(campaign_answer(done(campaign)).sentence)
    assert said == "No answer: the injector sent late in 3 of 3 runs."


def test_an_arm_without_a_usable_run_leaves_nothing_to_compare(project):
    campaign, tests = https_campaign(project)
    run_in_blocks([tests[0]], [HTTP])
    run_in_blocks([tests[1]], [HTTPS], lateness_us=15_000)
    said = plain_text(campaign_answer(done(campaign)).sentence)
    assert said == "On a new connection no answer: the injector sent late in 3 of 3 HTTPS runs."


def test_a_campaign_that_was_stopped_in_its_first_run_says_what_that_run_measured(project):
    campaign, tests = https_campaign(project)
    stopped = measure(make_run(tests[0]), 20_000, seconds=4, outcome=Outcome.STOPPED)
    end(make_run(tests[1]), Outcome.STOPPED)
    answer = campaign_answer(done(campaign))
    said = plain_text(answer.sentence).replace("\u202f", " ")
    assert said.startswith("Stopped: it did not end as planned. 20.0 ms on average")
    assert answer.partial_run == stopped.pk
    assert answer.grounds == [f"partial figures of run {stopped.label}, which measured for 4 s"]


def test_a_failed_run_is_not_averaged_as_zero(project):
    campaign, tests = https_campaign(project, repeats=4)
    run_in_blocks(tests, [HTTP, HTTPS])
    measure(make_run(tests[0], 4), 1, n=10, seconds=1, outcome=Outcome.FAILED)
    answer = campaign_answer(done(campaign))
    assert values(answer.tests[0].table, "Mean of 3 runs")["mean"] == 18.9
    assert answer.overheads[0].word == "slower"
    assert "1 of 7 runs did not finish" in answer.grounds[-1]


def test_the_reason_of_a_run_that_cannot_be_used_is_not_that_of_all(project):
    campaign, tests = https_campaign(project)
    runs = run_in_blocks(tests, [HTTP, HTTPS])
    spoil(runs[0], cpu=0.9)
    spoil(runs[1], cpu=0.95)
    spoil(runs[2], in_flight_growing=3.0)
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word_reason.startswith(
        "3 runs cannot be used. 2 of them: Not usable: The injector was busy: 90"
    )


def test_a_trusted_run_in_which_nothing_ended_says_in_its_row_why_it_is_in_no_mean(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    measure(make_run(tests[0], 3), 1, n=0)
    table = campaign_answer(done(campaign)).tests[0].table
    assert table.note == "1 run is shown but not part of mean and pooled; the row says why."
    assert table.rows[2].note == "No request succeeded, so there are no response times."


def test_a_run_that_hung_makes_no_word_but_the_advice_to_repeat_its_block(project):
    campaign, tests = https_campaign(project, repeats=4)
    run_in_blocks(tests, [[31_000, 30_000, 29_000, 29_000], [31_000, 30_000, 1_930_000, 29_500]])
    answer = campaign_answer(done(campaign))
    assert answer.overheads[0].word == "inconclusive"
    assert answer.overheads[0].word_reason.startswith("Repeat block 3: its HTTPS run took 64 times")
    assert "Repeat block 3" in plain_text(answer.sentence)


def test_blocks_stay_paired_where_a_run_of_another_is_missing(project):
    campaign, tests = https_campaign(project, repeats=4)
    run_in_blocks(tests, [[10_000, 15_000, 20_000, 25_000], [12_000, 18_010, 24_000, 30_020]])
    tests[1].runs.filter(repeat=2).delete()
    answer = campaign_answer(done(campaign))
    assert answer.overheads[0].word == "slower"
    assert answer.grounds[0] == "95\u202f% intervals over 3 of 4 blocks, paired"


def test_many_errors_forbid_a_word_about_times(project):
    campaign, tests = https_campaign(project)
    run_in_blocks([tests[0]], [HTTP])
    run_in_blocks([tests[1]], [HTTPS], counters={"failed": 5}, errors={"reset": 5})
    answer = campaign_answer(done(campaign))
    assert answer.overheads[0].word == "inconclusive"
    assert "Too many requests failed" in answer.overheads[0].word_reason


def test_runs_one_after_the_other_are_inconclusive(project):
    campaign, tests = https_campaign(project)
    run_in_blocks([tests[0]], [HTTP])
    run_in_blocks([tests[1]], [HTTPS])
    answer = campaign_answer(done(campaign))
    assert "counterbalanced blocks" in answer.overheads[0].word_reason


def test_arms_that_were_sent_at_different_rates_get_no_word_but_both_rates(project):
    campaign, tests = https_campaign(project)
    for repeat in range(1, 4):
        measure(make_run(tests[0], repeat), 19_000)
        measure(make_run(tests[1], repeat), 29_000, sending_s=11.0)
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word == "inconclusive"
    assert "The loads differ: 200 and 182 requests/s sent" in overhead.word_reason


def test_arms_that_were_sent_at_nearly_the_same_rate_get_their_word(project):
    campaign, tests = https_campaign(project)
    for repeat in range(1, 4):
        measure(make_run(tests[0], repeat), 19_000 + repeat)
        measure(make_run(tests[1], repeat), 29_000 + repeat, sending_s=10.4)
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word == "slower"


def test_arms_on_different_targets_are_compared_but_not_like_for_like(project):
    campaign, tests = https_campaign(project)
    tests[1].endpoint = make_endpoint(make_target(project, "other node"), "https")
    tests[1].save()
    run_in_blocks(tests, [HTTP, HTTPS])
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word == "inconclusive"
    assert overhead.like_for_like["different"][0][0] == "target"
    assert overhead.word_reason == "The two are not set up alike. They differ in: target."


def test_each_connection_mode_has_its_own_overhead(project):
    campaign, tests = https_campaign(project, modes=("new", "keep-alive"))
    same = [19_300, 19_400, 19_200]
    run_in_blocks(tests, [HTTP, HTTPS, HTTP, same])
    answer = campaign_answer(done(campaign))
    assert [each.word for each in answer.overheads] == ["slower", "no practical difference"]
    assert "With keep-alive there is no practical difference" in plain_text(answer.sentence)
    assert "2 of 2 comparisons differ after Holm's correction" in answer.grounds


def test_a_resumed_session_is_compared_with_http_on_a_new_connection(project):
    campaign, tests = https_campaign(project)
    resumed = make_test(
        campaign,
        tests[0].plan_version,
        endpoint=tests[1].endpoint,
        connection_mode="resumed",
    )
    run_in_blocks([*tests, resumed], [HTTP, HTTPS, [24_700, 24_600, 24_800]])
    overheads = campaign_answer(done(campaign)).overheads
    assert [(each.connection_mode, each.baseline_test_id) for each in overheads] == [
        ("new", tests[0].pk),
        ("resumed", tests[0].pk),
    ]


def test_comparisons_at_several_values_of_a_sweep_are_told_by_their_values(project):
    campaign, tests = https_campaign(project)
    for test in tests:
        test.swept, test.swept_value = "requests", 2000
        test.save()
    more = [
        make_test(
            campaign,
            tests[0].plan_version,
            endpoint=test.endpoint,
            swept="requests",
            swept_value=4000,
        )
        for test in tests
    ]
    run_in_blocks([*tests, *more], [HTTP, HTTPS, HTTP, HTTP])
    answer = campaign_answer(done(campaign))
    said = plain_text(answer.sentence)
    assert said.startswith("2,000 requests: on a new connection HTTPS is slower than HTTP: ")
    assert "4,000 requests: on a new connection there is no practical difference" in said
    titles = [each.title for each in answer.overheads]
    assert titles == ["New connection, 2,000 requests", "New connection, 4,000 requests"]


def test_comparisons_on_several_ports_of_a_target_are_told_by_their_ports(project):
    campaign, tests = https_campaign(project)
    other = make_endpoint(tests[0].endpoint.target, "https", port=9443)
    tests.append(make_test(campaign, tests[0].plan_version, endpoint=other))
    run_in_blocks(tests, [HTTP, HTTPS, HTTP])
    titles = [each.title for each in campaign_answer(done(campaign)).overheads]
    assert titles == [f"New connection, :{test.endpoint.port}" for test in tests[1:]]


def test_without_a_pair_the_sentence_is_plain_and_uses_no_comparison_word(project):
    campaign, tests = https_campaign(project)
    tests[1].delete()
    run_in_blocks(tests[:1], [HTTP])
    answer = campaign_answer(done(campaign))
    text = plain_text(answer.sentence).replace("\u202f", " ")
    assert "takes 18.9 ms on average at 200 ok requests/s, no errors in 6,000 requests." in text
    assert answer.overheads == []


def test_a_draft_says_what_it_would_do(project):
    campaign, _ = https_campaign(project)
    answer = campaign_answer(campaign)
    assert plain_text(answer.sentence) == "Not started yet: 2 tests, 3 repeats, 6 runs."
    assert (answer.n_done, answer.n_runs) == (0, 6)


def test_a_campaign_that_has_just_started_says_when_there_will_be_something(project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    make_run(tests[0])
    answer = campaign_answer(campaign)
    assert plain_text(answer.sentence).startswith("0 of 1 run has ended")
    assert answer.tests[0].table.rows[0].cells[0].why == "This run is queued."
    assert answer.overheads[0].split is None


def test_the_number_of_queries_does_not_grow_with_the_runs(project, django_assert_max_num_queries):
    campaign, tests = https_campaign(project, repeats=6)
    run_in_blocks(tests, [HTTP * 2, HTTPS * 2], n=100, seconds=1)
    keep_figures([test.pk for test in tests])
    with django_assert_max_num_queries(6):
        campaign_answer(done(campaign))


def test_a_campaign_says_how_many_runs_keep_each_threshold(project):
    rules = [{"metric": "mean", "limit": 15, "unit": "ms"}]
    version = make_plan(project, spec=plan_spec() | {"thresholds": rules})
    test = make_test(make_campaign(project), version)
    for repeat, mean_us in enumerate([10_000, 12_000, 20_000], 1):
        measure(make_run(test, repeat), mean_us)
    answer = campaign_answer(test.campaign)
    (row,) = answer.thresholds.rows
    assert row.label == "HTTP new connection: mean < 15 ms"
    assert [cell.text for cell in row.cells] == ["2 of 3 runs", "20 ms", "15 ms", "broken"]
    assert answer.thresholds in answer.tables


def test_a_broken_threshold_comes_first_and_a_kept_one_last(project):
    rules = [{"metric": "mean", "limit": 15, "unit": "ms"}]
    version = make_plan(project, spec=plan_spec() | {"thresholds": rules})
    test = make_test(make_campaign(project), version)
    measure(make_run(test, 1), 10_000)
    answer = campaign_answer(done(test.campaign))
    assert plain_text(answer.sentence).endswith(" Kept: mean < 15 ms.")
    assert answer.found.thresholds == "kept"
    measure(make_run(test, 2), 20_000)
    answer = campaign_answer(test.campaign)
    said = "Broken in 1 of 2 runs: mean < 15 ms (was 20 ms). "
    assert plain_text(answer.sentence).startswith(said)
    assert answer.found.thresholds == "broken"


def test_a_measurement_that_is_not_usable_breaks_no_threshold(project):
    rules = [{"metric": "mean", "limit": 15, "unit": "ms"}]
    version = make_plan(project, spec=plan_spec() | {"thresholds": rules})
    test = make_test(make_campaign(project, repeats=1), version)
    run = measure(make_run(test), 20_000, lateness_us=15_000)
    answer = campaign_answer(done(test.campaign))
    assert plain_text(answer.sentence) == "No answer: the injector sent late."
    assert (answer.found.thresholds, run.threshold_state) == ("", None)
    assert answer.thresholds.rows == ()


def test_overload_is_the_finding_of_a_campaign_that_looks_for_the_limit(project):
    spec = plan_spec(model="open", stages=[{"duration_s": 10, "from_per_s": 10, "to_per_s": 400}])
    test = make_test(make_campaign(project, repeats=1), make_plan(project, spec=spec))
    run = measure(make_run(test), 20_000)
    spoil(run, dropped=0.05)
    answer = campaign_answer(done(test.campaign))
    said = plain_text(answer.sentence).replace("\u202f", " ")
    assert said.startswith("The limit was found: The target did not keep up")
    assert "takes 20.0 ms on average at 200 ok requests/s" in said
    assert answer.found.finds_limit


def test_a_limit_that_is_found_by_errors_is_the_finding_as_well(project):
    spec = plan_spec(model="closed", connections=64, duration_s=10)
    test = make_test(make_campaign(project, repeats=1), make_plan(project, spec=spec))
    refused = {"status_unexpected": 50}
    run = measure(
        make_run(test), 20_000, counters={"failed": 50}, errors=refused, statuses={"503": 50}
    )
    answer = campaign_answer(done(test.campaign))
    said = "The limit was found: 20 % failed with 503 Service Unavailable; times are of the other"
    for sentence in (answer.sentence, run_report(run).sentence):
        assert plain_text(sentence).replace("\u202f", " ").startswith(said)
    assert answer.found == Answers("trusted", "overloaded", finds_limit=True)
    assert [each.word for each in answer.answers] == ["Trusted", "Limit found", "Up to p99"]
    assert answer.remedies == ()


def test_what_a_target_answers_at_most_is_told_before_its_times(project):
    spec = plan_spec(model="closed", connections=64, duration_s=10)
    test = make_test(make_campaign(project, repeats=1), make_plan(project, spec=spec))
    measure(make_run(test), 20_000)
    said = plain_text(campaign_answer(done(test.campaign)).sentence).replace("\u202f", " ")
    assert "answers at most 200 ok requests/s, 20.0 ms on average, no errors in 2,000" in said

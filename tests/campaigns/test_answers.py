from copy import deepcopy

import pytest
from django.utils import timezone

from campaigns.campaigns.queries.answers import answer_of, campaign_answer
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.presentation.sentences import plain_text
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
from tests.measured import end, https_campaign, measure, responses_us, run_in_blocks, spoil
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
def study_of_the_file(rows_of_the_file):
    campaign, tests = https_campaign(make_project())
    runs = run_in_blocks(tests, [HTTP, HTTPS])
    return done(campaign), tests, runs


@pytest.fixture
def study(study_of_the_file, db):
    """A campaign, its tests, its runs; what a test changes of them is undone."""
    forget()
    return deepcopy(study_of_the_file)


def test_each_test_has_run_rows_a_mean_row_and_a_pooled_row(study):
    campaign, tests, runs = study
    answer = campaign_answer(campaign)
    assert [each.test_id for each in answer.tests] == [test.pk for test in tests]
    table = answer.tests[0].table
    assert [row.kind for row in table.rows] == ["run"] * 3 + ["mean", "pooled"]
    assert table.rows[0].link["run"] == runs[0].pk
    assert values(table, "Mean")["mean"] == 18.9
    assert values(table, "Pooled")["n"] == 6000
    assert values(table, "Repeat 2")["rate"] == 200


def test_the_overhead_has_both_percentages_interval_and_word(study):
    (overhead,) = campaign_answer(study[0]).overheads
    mean = values(overhead.table, "average")
    assert (mean["http"], mean["https"], mean["difference"]) == (18.9, 29.1, 10.2)
    assert (mean["increase"], mean["share"]) == (54.1, 35.1)
    assert mean["low"] < mean["ratio"] < mean["high"]
    assert (overhead.word, mean["word"]) == ("slower", "slower")
    assert values(overhead.table, "p50")["word"] is None
    assert values(overhead.table, "max")["low"] is None
    assert [row["metric"] for row in overhead.forest] == ["average", "p50", "p90", "p95", "p99"]


def test_the_split_blames_the_tls_handshake_and_adds_up(study):
    (overhead,) = campaign_answer(study[0]).overheads
    assert overhead.split.rows[1]["parts"]["tls"] == 9.0
    for row in overhead.split.rows:
        whole = sum(value for value in row["parts"].values() if value is not None)
        assert whole == pytest.approx(row["total_ms"])


def test_before_the_third_repeat_there_are_figures_and_no_word(project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    make_run(tests[0], 3)
    answer = campaign_answer(campaign)
    assert (answer.n_done, answer.n_runs, answer.has_word) == (4, 5, False)
    assert answer.overheads[0].word == ""


def test_a_run_that_is_not_usable_is_shown_with_its_reason_and_enters_nothing(study):
    campaign, _, runs = study
    spoil(runs[0], missing_seconds=0.5)
    answer = campaign_answer(campaign)
    table = answer.tests[0].table
    assert values(table, "Repeat 1")["mean"] == 18.9
    assert [bool(row.note) for row in table.rows[:2]] == [True, False]
    assert table.rows[3].label == "Mean of 2 runs"
    assert values(table, "Pooled")["n"] == 4000
    assert answer.overheads[0].word == ""
    assert answer.tests[0].means_ms[0] is None


def test_a_busy_machine_costs_the_average_and_leaves_the_comparison_of_medians(project):
    """The averages are spoilt by the delays of the injector; the medians without them are not."""
    campaign, tests = https_campaign(project)
    for repeat, late_us in enumerate((15_000, 40_000, 90_000), 1):
        for test, own_us in zip(tests, (2_000, 3_000), strict=True):
            own = responses_us(own_us, 200)
            delayed = Timing.of([each + late_us for each in own])
            timings = {"sampled": delayed, "undelayed": Timing.of(own)}
            measure(make_run(test, repeat), own_us + late_us, lateness_us=late_us, timings=timings)
    answer = campaign_answer(done(campaign))
    (overhead,) = answer.overheads
    assert answer.found.trust == "busy"
    assert (overhead.word, overhead.n_usable) == ("slower", 3)
    typical = values(overhead.table, "median without the injector's part")
    assert typical["increase"] == pytest.approx(50, abs=3)
    assert values(overhead.table, "average")["increase"] < 5
    decides = [row.label for row in overhead.table.rows if row.decides]
    assert decides == ["median without the injector's part"], "and not the average"
    assert "50\u202f% slower" in plain_text(answer.sentence)


def test_a_busy_run_enters_no_average_beside_quiet_ones(study):
    campaign, _, runs = study
    spoil(runs[0], cpu=0.9)
    answer = campaign_answer(campaign)
    assert answer.tests[0].table.rows[3].label == "Mean of 2 runs"
    assert answer.overheads[0].table.rows[0].kind == "p50"
    assert answer.overheads[0].word == "slower"


def test_without_a_single_usable_run_there_is_no_answer_and_no_figure_but_in_the_rows(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTPS], counters={"in_doubt": 20})
    answer = campaign_answer(done(campaign))
    table = answer.tests[0].table
    assert values(table, "Repeat 1")["mean"] == 18.9
    assert values(table, "Mean")["mean"] is values(table, "Pooled")["n"] is None
    (overhead,) = answer.overheads
    assert values(overhead.table, "average")["increase"] is None
    assert overhead.word == ""
    assert not answer.has_word


def test_a_campaign_that_was_stopped_in_its_first_run_says_what_that_run_measured(project):
    campaign, tests = https_campaign(project)
    run = measure(make_run(tests[0]), 20_000, seconds=4, outcome=Outcome.STOPPED)
    end(make_run(tests[1]), Outcome.STOPPED)
    answer = campaign_answer(done(campaign))
    assert "20.0\u202fms" in plain_text(answer.sentence)
    assert answer.partial_run == run.pk


def test_a_failed_run_is_not_averaged_as_zero(project):
    campaign, tests = https_campaign(project, repeats=4)
    run_in_blocks(tests, [HTTP, HTTPS])
    measure(make_run(tests[0], 4), 1, n=10, seconds=1, outcome=Outcome.FAILED)
    answer = campaign_answer(done(campaign))
    assert values(answer.tests[0].table, "Mean of 3 runs")["mean"] == 18.9
    assert answer.overheads[0].word == "slower"
    assert "1 of 7 runs did not finish" in answer.grounds[-1]


def test_blocks_stay_paired_where_a_run_of_another_is_missing(project):
    campaign, tests = https_campaign(project, repeats=4)
    run_in_blocks(tests, [[10_000, 15_000, 20_000, 25_000], [12_000, 18_010, 24_000, 30_020]])
    tests[1].runs.filter(repeat=2).delete()
    answer = campaign_answer(done(campaign))
    assert answer.overheads[0].word == "slower"
    assert answer.grounds[1] == "95\u202f% intervals over 3 of 4 blocks, paired"


@pytest.mark.parametrize(
    ("failed", "word", "metric"), [(0, "slower", "average"), (5, "slower", "p50"), (50, "", "p50")]
)
def test_what_failed_widens_the_interval_of_medians_and_a_tenth_forbids_it(
    project, failed, word, metric
):
    campaign, tests = https_campaign(project)
    for repeat, (http_us, https_us) in enumerate(zip(HTTP, HTTPS, strict=True), start=1):
        measure(make_run(tests[0], repeat), http_us)
        errors = {"counters": {"failed": failed}, "errors": {"reset": failed}} if failed else {}
        measure(make_run(tests[1], repeat), https_us, **errors)
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert (overhead.word, overhead.table.rows[0].label) == (word, metric)
    assert ("so times are not compared" in overhead.word_reason) == (word == "")


def test_runs_one_after_the_other_get_no_word(project):
    campaign, tests = https_campaign(project)
    run_in_blocks([tests[0]], [HTTP])
    run_in_blocks([tests[1]], [HTTPS])
    assert campaign_answer(done(campaign)).overheads[0].word == ""


def test_arms_that_were_sent_at_different_rates_get_no_word_but_both_rates(project):
    campaign, tests = https_campaign(project)
    for repeat in range(1, 4):
        measure(make_run(tests[0], repeat), 19_000)
        measure(make_run(tests[1], repeat), 29_000, sending_s=11.0)
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word == ""
    assert "The loads differ: 200 and 182 requests/s sent" in overhead.word_reason


def test_arms_on_different_targets_are_compared_but_not_like_for_like(project):
    campaign, tests = https_campaign(project)
    tests[1].endpoint = make_endpoint(make_target(project, "other node"), "https")
    tests[1].save()
    run_in_blocks(tests, [HTTP, HTTPS])
    (overhead,) = campaign_answer(done(campaign)).overheads
    assert overhead.word == ""
    assert overhead.like_for_like["different"][0][0] == "target"


def test_each_connection_mode_has_its_own_overhead(project):
    campaign, tests = https_campaign(project, modes=("new", "keep-alive"))
    same = [19_300, 19_400, 19_200]
    run_in_blocks(tests, [HTTP, HTTPS, HTTP, same])
    answer = campaign_answer(done(campaign))
    assert [each.word for each in answer.overheads] == ["slower", "no practical difference"]


def test_a_resumed_session_is_compared_with_http_on_a_new_connection(project):
    campaign, tests = https_campaign(project)
    resumed_test = make_test(
        campaign,
        tests[0].plan_version,
        endpoint=tests[1].endpoint,
        connection_mode="resumed",
    )
    run_in_blocks([*tests, resumed_test], [HTTP, HTTPS, [24_700, 24_600, 24_800]])
    overheads = campaign_answer(done(campaign)).overheads
    assert [(each.connection_mode, each.baseline_test_id) for each in overheads] == [
        ("new", tests[0].pk),
        ("resumed", tests[0].pk),
    ]


def test_without_a_pair_the_sentence_is_plain_and_uses_no_comparison_word(project):
    campaign, tests = https_campaign(project)
    tests[1].delete()
    run_in_blocks(tests[:1], [HTTP])
    answer = campaign_answer(done(campaign))
    text = plain_text(answer.sentence).replace("\u202f", " ")
    assert "18.9 ms on average at 200 ok requests/s, no errors in 6,000 requests" in text
    assert not any(word in text for word in ("slower", "faster", "difference"))
    assert answer.overheads == []


def limited_test(project, metric: str, **fields):
    rules = [{"metric": metric, "limit": 15, "unit": "ms"}]
    version = make_plan(project, spec=plan_spec() | {"thresholds": rules})
    return make_test(make_campaign(project, **fields), version)


def test_a_threshold_is_kept_until_a_run_breaks_it(project):
    test = limited_test(project, "mean")
    measure(make_run(test, 1), 10_000)
    assert campaign_answer(done(test.campaign)).found.thresholds == "kept"
    measure(make_run(test, 2), 20_000)
    assert campaign_answer(test.campaign).found.thresholds == "broken"


def test_a_rule_that_a_busy_machine_leaves_open_in_one_run_is_not_kept(project):
    test = limited_test(project, "p95")
    measure(make_run(test, 1), 10_000)
    own = responses_us(10_000, 200)
    timings = {"sampled": Timing.of([each + 15_000 for each in own]), "undelayed": Timing.of(own)}
    measure(make_run(test, 2), 25_000, lateness_us=15_000, timings=timings)
    answer = campaign_answer(done(test.campaign))
    assert answer.found.thresholds == ""
    assert "p95 < 15 ms is open: " in plain_text(answer.sentence)


def test_a_measurement_that_is_not_usable_breaks_no_threshold(project):
    test = limited_test(project, "mean", repeats=1)
    run = measure(make_run(test), 20_000, counters={"in_doubt": 20})
    answer = campaign_answer(done(test.campaign))
    assert (answer.found.thresholds, run.threshold_state) == ("", None)
    assert answer.thresholds.rows == ()


def test_overload_is_the_finding_of_a_campaign_that_looks_for_the_limit(project):
    spec = plan_spec(model="open", stages=[{"duration_s": 10, "from_per_s": 10, "to_per_s": 400}])
    test = make_test(make_campaign(project, repeats=1), make_plan(project, spec=spec))
    spoil(measure(make_run(test), 20_000), dropped=0.05)
    assert campaign_answer(done(test.campaign)).found.finds_limit


def test_an_answer_is_made_once_until_a_run_has_finished(project):
    campaign = make_campaign(project)
    test = make_test(campaign)
    first, second = make_run(test, 1), make_run(test, 2)
    measure(first, 12_000)
    assert answer_of(campaign) is answer_of(campaign)
    before = answer_of(campaign).n_done
    measure(second, 12_000)
    assert answer_of(campaign).n_done == before + 1


def test_errors_are_those_of_the_runs_that_count_where_others_are_left_out(project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP[:2], HTTPS[:2]])
    failed = {"counters": {"failed": 200, "started": 200}, "errors": {"connect_refused": 200}}
    measure(make_run(tests[0], 3), 0, n=0, **failed)
    measure(make_run(tests[1], 3), HTTPS[2])
    answer = campaign_answer(done(campaign))
    assert "no errors in 10,000 requests of the runs that count" in answer.grounds

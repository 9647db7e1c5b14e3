"""Rules that were kept or broken: in the first line, in tables, in charts."""

from dataclasses import replace

from campaigns.domain.analysis.thresholds import Verdict, threshold_state, weigh
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.domain.presentation.threshold_tables import (
    broken_words,
    campaign_thresholds_table,
    kept_words,
    run_thresholds_table,
    threshold_lines,
)


def p95(value: float | None, limit: float = 200) -> Verdict:
    is_kept = value is not None and value < limit
    return Verdict(f"p95 < {limit:g} ms", "p95", limit, "ms", value, is_kept, None)


def rate(value: float, limit: float = 100) -> Verdict:
    return Verdict(f"rate > {limit:g} /s", "rate", limit, "/s", value, value > limit, None)


def test_what_was_broken_is_said_with_its_worst_figure():
    for runs, words in [
        ([[p95(150)]], ""),
        ([[p95(312.2)]], "Broken: p95 < 200 ms (was 312 ms)"),
        ([[replace(p95(312), at_least=210)]], "Broken: p95 < 200 ms (was 210 to 312 ms)"),
        ([[replace(p95(312), at_least=310)]], "Broken: p95 < 200 ms (was 312 ms)"),
        ([[p95(None)]], "Broken: p95 < 200 ms (no request succeeded)"),
        (
            [[p95(312), rate(80)], [p95(150), rate(70)]],
            "Broken in 2 of 2 runs: p95 < 200 ms (at worst 312 ms) and rate > 100 /s "
            "(at worst 70 /s)",
        ),
    ]:
        assert broken_words(runs) == words


def test_a_figure_that_broke_a_rule_is_on_its_side_of_the_limit():
    for verdict, words in [
        (p95(200.4), "Broken: p95 < 200 ms (was 200.4 ms)"),
        (p95(200), "Broken: p95 < 200 ms (was 200 ms)"),
        (p95(200.63, 200.4), "Broken: p95 < 200.4 ms (was 201 ms)"),
        (p95(200.43, 200.4), "Broken: p95 < 200.4 ms (was 200.43 ms)"),
        (rate(1499.7, 1500), "Broken: rate > 1500 /s (was 1,499.7 /s)"),
    ]:
        assert broken_words([[verdict]]) == words


def test_the_table_tells_a_figure_from_its_limit():
    for verdict, value, limit in [
        (p95(199.7), "199.7 ms", "200 ms"),
        (p95(200.1, 200.4), "200 ms", "200.4 ms"),
        (p95(0.0002, 0.0001), "0.0002 ms", "0.0001 ms"),
        (p95(312.2, 0.5), "312 ms", "0.500 ms"),
    ]:
        (row,) = run_thresholds_table([verdict]).rows
        assert [cell.text for cell in row.cells[:2]] == [value, limit]


def test_rules_are_kept_if_all_runs_keep_them():
    for runs, words in [
        ([[p95(150)], [p95(160)]], "Kept: p95 < 200 ms"),
        ([[p95(150)], [p95(312)]], ""),
    ]:
        assert kept_words(runs) == words


def test_a_busy_machine_breaks_no_rule_and_what_was_kept_in_spite_of_it_is_kept():
    for verdicts, trust, state in [
        ([], "trusted", None),
        ([p95(150)], "trusted", "kept"),
        ([p95(150), p95(312)], "trusted", "broken"),
        ([replace(p95(312), at_least=199)], "trusted", None),
        ([replace(p95(202), at_least=199)], "trusted", "broken"),
        ([p95(150)], "busy", "kept"),
        ([p95(312)], "busy", None),
        ([replace(p95(312), at_least=199)], "busy", None),
        ([replace(p95(312), at_least=210)], "busy", "broken"),
        ([Verdict("errors < 1 %", "errors", 1, "%", 3, False, 0)], "busy", "broken"),
        ([p95(312)], "no_answer", None),
    ]:
        assert threshold_state(weigh(verdicts, trust)) == state


def test_an_open_rule_says_why_in_the_tables():
    for at_least, why in [
        (199.4, "312 ms as measured, 199 ms without the injector's part."),
        (None, "312 ms as measured on a busy machine, whose delay it may be."),
    ]:
        verdicts = weigh([replace(p95(312), at_least=at_least)], "busy")
        (of_run,) = run_thresholds_table(verdicts).rows
        (of_test,) = campaign_thresholds_table([("HTTPS", [verdicts])]).rows
        assert of_run.cells[2].why == of_test.cells[3].why == why


def test_a_rule_is_drawn_in_the_unit_of_its_chart():
    for rule, panel, value in [
        (Threshold("p95", 200, "ms"), "response", 200),
        (Threshold("max", 1.5, "s"), "response", 1500),
        (Threshold("mean", 500, "us"), "response", 0.5),
        (Threshold("rate", 100, "/s"), "requests", 100),
        (Threshold("errors", 1, "%"), "errors", 0.01),
    ]:
        (line,) = threshold_lines([rule], [])
        assert line == {"panel": panel, "label": rule.rule, "value": value, "isBroken": False}


def test_a_broken_rule_says_so():
    rule = Threshold("p95", 200, "ms")
    verdict = Verdict(rule.rule, "p95", 200, "ms", 312.0, False, 4)
    assert threshold_lines([rule], [verdict])[0]["isBroken"]
    with_six_digits = replace(verdict, rule="p95 < 2e+02 ms")
    assert threshold_lines([rule], [with_six_digits])[0]["isBroken"]


def test_a_number_of_errors_parts_and_rules_about_sessions_have_no_chart():
    texts = ("errors<5", "errors of check<5%", "p95 of step 1<5", "first_byte_p95<5")
    texts += ("session_p95<5", "session_mean<5", "sessions_failed<5%", "session_rate>5")
    assert threshold_lines([Threshold(**parse_rule(text)) for text in texts], []) == []

"""Each threshold about something that is drawn is a line in that chart."""

from dataclasses import replace

import pytest

from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.plan.threshold import UNITS, Threshold
from campaigns.domain.shown.threshold_lines import threshold_lines


@pytest.mark.parametrize(
    ("rule", "panel", "value"),
    [
        (Threshold("p95", 200, "ms"), "response", 200),
        (Threshold("max", 1.5, "s"), "response", 1500),
        (Threshold("mean", 500, "us"), "response", 0.5),
        (Threshold("rate", 100, "/s"), "requests", 100),
        (Threshold("errors", 1, "%"), "errors", 0.01),
    ],
)
def test_a_rule_is_drawn_in_the_unit_of_its_chart(rule, panel, value):
    (line,) = threshold_lines([rule], [])
    assert line == {"panel": panel, "label": rule.rule, "value": value, "isBroken": False}


def test_a_broken_rule_says_so():
    rule = Threshold("p95", 200, "ms")
    verdict = Verdict(rule.rule, "p95", 200, "ms", 312.0, False, 4)
    assert threshold_lines([rule], [verdict])[0]["isBroken"]
    with_six_digits = replace(verdict, rule="p95 < 2e+02 ms")
    assert threshold_lines([rule], [with_six_digits])[0]["isBroken"]


def test_a_number_of_errors_and_rules_about_sessions_have_no_chart():
    rules = [Threshold(metric, 1, UNITS[metric][0]) for metric in UNITS if "session" in metric]
    assert threshold_lines([Threshold("errors", 5, ""), *rules], []) == []

"""When the plan form shows a field of the load; the page reads the same conditions."""

import json
from itertools import product
from pathlib import Path

import pytest

from campaigns.domain.plan.load_rules import USES
from campaigns.forms.plan_fields import is_shown, shown_fields

CASES = json.loads((Path(__file__).parents[1] / "golden/conditions.json").read_text())
CHOICES = {
    "stop": ["requests", "duration"],
    "distribution": ["deterministic", "exponential", "uniform"],
    "hold": ["close", "keep_until_all", "keep_s"],
    "rate_shape": ["steady", "stages"],
    "protocol": ["http", "websocket"],
}


def shown(model, **choices):
    return shown_fields(
        {name: values[0] for name, values in CHOICES.items()} | choices | {"model": model}
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['condition']}-{case['holds']}")
def test_the_server_reads_a_condition_as_the_page_does(case):
    assert is_shown(case["condition"], case["choices"]) is case["holds"]


@pytest.mark.parametrize("model", USES)
def test_every_field_that_a_model_uses_can_be_reached_and_no_other(model):
    ways = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
    assert set().union(*(shown(model, **way) for way in ways)) == USES[model]


def test_the_chosen_stop_decides_which_end_counts():
    assert "duration_s" in shown("closed", stop="duration")
    assert "requests" not in shown("closed", stop="duration")
    assert "requests" in shown("sequential", stop="requests")


def test_gaps_take_the_place_of_the_rate_and_of_the_duration():
    used = shown("open", stop="duration", distribution="uniform")
    assert {"uniform_min_s", "uniform_max_s", "requests"} <= used
    assert not {"rate_per_s", "duration_s", "stages"} & used


def test_stages_take_the_place_of_rate_and_end():
    used = shown("open", rate_shape="stages")
    assert "stages" in used
    assert not {"rate_per_s", "requests", "duration_s"} & used


def test_what_is_spread_over_a_time_has_no_other_end():
    assert {"requests", "over_s"} <= shown("over", stop="duration")
    assert "duration_s" not in shown("over", stop="duration")


def test_a_window_has_a_time_to_hold_only_where_it_holds_for_a_time():
    assert "hold_s" in shown("window", hold="keep_s")
    assert "hold_s" not in shown("window", hold="close")


def test_what_arrives_is_asked_only_of_http_plans():
    assert "arrival_unit" in shown("open")
    assert "arrival_unit" not in shown("open", protocol="websocket")

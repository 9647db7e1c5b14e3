"""When the plan form shows a field of the load; the page reads the same conditions."""

import json
from itertools import product
from pathlib import Path

from campaigns.domain.plan.load_rules import USES
from campaigns.plans.forms.plan_fields import is_shown, shown_fields

CASES = json.loads((Path(__file__).parents[1] / "golden/conditions.json").read_text())
CHOICES = {
    "stop": ["requests", "duration"],
    "distribution": ["deterministic", "exponential", "uniform"],
    "hold": ["close", "keep_until_all", "keep_s"],
    "rate_shape": ["steady", "stages"],
    "protocol": ["http", "websocket"],
}


def names_shown(model, **choices):
    return shown_fields(
        {name: values[0] for name, values in CHOICES.items()} | choices | {"model": model}
    )


def test_the_server_reads_a_condition_as_the_page_does():
    for case in CASES:
        assert is_shown(case["condition"], case["choices"]) is case["holds"]


def test_every_field_that_a_model_uses_can_be_reached_and_no_other():
    for model in USES:
        ways = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
        assert set().union(*(names_shown(model, **way) for way in ways)) == USES[model]


def test_what_is_chosen_decides_what_is_asked():
    for model, choices, needs, left_out in [
        ("closed", {"stop": "duration"}, {"duration_s"}, {"requests"}),
        ("sequential", {"stop": "requests"}, {"requests"}, {"duration_s"}),
        # Gaps take the place of the rate and of the duration, stages that of rate and end.
        (
            "open",
            {"stop": "duration", "distribution": "uniform"},
            {"uniform_min_s", "uniform_max_s", "requests"},
            {"rate_per_s", "duration_s", "stages"},
        ),
        ("open", {"rate_shape": "stages"}, {"stages"}, {"rate_per_s", "requests", "duration_s"}),
        ("over", {"stop": "duration"}, {"requests", "over_s"}, {"duration_s"}),
        ("window", {"hold": "keep_s"}, {"hold_s"}, set()),
        ("window", {"hold": "close"}, set(), {"hold_s"}),
        ("open", {}, {"arrival_unit"}, set()),
        ("open", {"protocol": "websocket"}, set(), {"arrival_unit"}),
    ]:
        fields = names_shown(model, **choices)
        assert needs <= fields
        assert not left_out & fields

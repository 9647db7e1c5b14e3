"""The steps of a plan in its form, and their order."""

import pytest
from django.urls import reverse

from campaigns.forms.plans import initial_of
from campaigns.models import PlanVersion, SavedPlan
from tests.views.plan_form import save

pytestmark = pytest.mark.django_db
SECOND = {
    "step2_label": "list",
    "step2_method": "GET",
    "step2_path": "/list",
    "step2_headers": "X-Number: 2",
    "step2_body": "",
    "step2_extract": "",
    "step2_weight": "3",
}


def test_a_second_step_is_stored_with_all_that_it_has(as_editor, project):
    save(as_editor, project, label="add", n_steps="2", **SECOND)
    first, second = PlanVersion.objects.get().spec["steps"]
    assert (first["label"], first["method"]) == ("add", "POST")
    assert second == {
        "label": "list",
        "method": "GET",
        "path": "/list",
        "headers": [["X-Number", "2"]],
        "body": "",
        "extract": [],
    }


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ({"order_kind": "round_robin"}, ("round_robin", 1, [])),
        ({"order_kind": "blocks", "block_repeat": "1,000"}, ("blocks", 1000, [])),
        ({"order_kind": "random", "block_repeat": "9"}, ("random", 1, [])),
        ({"order_kind": "weighted", "weight": "0.5"}, ("weighted", 1, [0.5, 3.0])),
    ],
)
def test_the_order_is_stored_and_comes_back_into_the_form(fields, order, as_editor, project):
    save(as_editor, project, n_steps="2", **SECOND, **fields)
    version = PlanVersion.objects.get()
    stored = version.spec["order"]
    assert (stored["kind"], stored["block_repeat"], stored["weights"]) == order
    again = initial_of("again", version.value().to_json())
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), again)
    assert SavedPlan.objects.get().latest.pk == version.pk


def test_a_further_step_without_a_path_is_left_out_and_faults_keep_their_places(as_editor, project):
    third = {name.replace("step2", "step3"): value for name, value in SECOND.items()}
    empty = SECOND | {"step2_path": ""}
    save(as_editor, project, n_steps="3", **empty, **third)
    assert [step["path"] for step in PlanVersion.objects.get().spec["steps"]] == ["/", "/list"]
    third["step3_path"] = "wrong"
    answer = save(as_editor, project, name="other", n_steps="3", **empty, **third)
    assert set(answer.context["form"].errors) == {"step3_path"}


@pytest.mark.parametrize("n_steps", ["", "x", "-3", "999999"])
def test_a_made_up_number_of_steps_breaks_nothing(n_steps, as_editor, project):
    save(as_editor, project, n_steps=n_steps)
    assert PlanVersion.objects.count() <= 1


def test_weights_that_choose_no_step_are_said_at_the_order(as_editor, project):
    typed = {**SECOND, "weight": "0", "step2_weight": "0"}
    answer = save(as_editor, project, n_steps="2", order_kind="weighted", **typed)
    assert set(answer.context["form"].errors) == {"order_kind"}

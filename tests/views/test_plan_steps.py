"""The steps of a plan in its form, and their order."""

import pytest

from campaigns.models import PlanVersion
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

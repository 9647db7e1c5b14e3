"""Flows in the form of a plan: headings over steps, typed at the first step of each."""

import pytest
from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from campaigns.models import PlanVersion
from campaigns.plans.forms.plans import PlanForm, initial_of
from tests.pages import text_of
from tests.plans.plan_form import as_sent, save
from tests.typed_forms import form_data

pytestmark = pytest.mark.django_db
PATHS = {"path": "/", "step2_path": "/list", "step3_path": "/cart", "step4_path": "/pay"}
METHODS = {"method": "GET", **{f"step{n}_method": "GET" for n in (2, 3, 4)}}
FOUR = {"n_steps": "4", **PATHS, **METHODS}
SHOP = {
    "flows": "several",
    "flow": "browse",
    "share": "90",
    "step4_flow": "buy",
    "step4_share": "10",
}
FLOWS = [
    {"name": "browse", "share": 90.0, "steps": 3},
    {"name": "buy", "share": 10.0, "steps": 1},
]


def test_a_flow_has_the_steps_up_to_the_next_heading(as_editor, project):
    assert save(as_editor, project, "ab", **FOUR, **SHOP).status_code == 302
    version = PlanVersion.objects.get()
    assert version.spec["flows"] == FLOWS
    assert {name: initial_of("", version.spec)[name] for name in SHOP} == SHOP
    page = as_editor.get(reverse("plan-edit", args=[version.plan_id])).content
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), form_data(page, warm_up_s="1"))
    assert PlanVersion.objects.get(number=2).spec["flows"] == FLOWS


def test_headings_are_ignored_where_several_flows_are_not_chosen(as_editor, project):
    save(as_editor, project, "ab", **FOUR, **SHOP | {"flows": "one"})
    assert PlanVersion.objects.get().spec["flows"] == []


def test_the_preview_says_about_how_many_sessions_each_flow_has(as_editor, project):
    """Of further steps it gets what is typed, and does not read them."""
    load = {"model": "over", "over_s": "10", "requests": "105", "arrival_unit": "session"}
    data = initial_of("", PRESETS["ab"].spec) | FOUR | SHOP | load
    answer = as_editor.post(reverse("plan-preview", args=[project.pk]), as_sent(data))
    summary = answer.context["preview"]
    assert (summary.requests, summary.sessions) == ("294", "94 browse, 10 buy")
    assert "about 94 browse, 10 buy" in text_of(answer)


def test_a_fault_stands_at_its_field(as_editor, project):
    for wrong, field in [
        ({"share": "many"}, "share"),
        ({"step4_share": ""}, "step4_share"),
        ({"flow": ""}, "flow"),
        ({"step4_flow": "step 2"}, "step4_flow"),
        ({"step4_flow": "Browse"}, "flows"),
        ({"order_kind": "random"}, "order_kind"),
        ({"calls_per_session": "3"}, "calls_per_session"),
        ({"model": "open", "rate_per_s": "5"}, "arrival_unit"),
        ({"thresholds": "p95 of brows < 300 ms"}, "thresholds"),
    ]:
        answer = save(as_editor, project, "ab", **{**FOUR, **SHOP, **wrong})
        assert answer.status_code == 422
        assert set(answer.context["form"].errors) == {field}


def test_a_new_form_says_that_there_is_one_flow_and_a_plan_with_several_which(as_editor, project):
    assert "one flow" in PlanForm().order_disclosure.words
    save(as_editor, project, "ab", **FOUR, **SHOP)
    version = PlanVersion.objects.get()
    assert PlanForm.of("", version.spec).order_disclosure.words == "browse 90, buy 10"
    page = text_of(as_editor.get(reverse("plan-detail", args=[version.plan_id])))
    assert "browse 90 %: 3 steps; buy 10 %: 1 step" in page

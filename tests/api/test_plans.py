from dataclasses import fields

import pytest

from campaigns.api import specs
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.plan.session import Auth, Session, ThinkTime
from campaigns.domain.plan.step import Step
from campaigns.domain.plan.step_order import StepOrder
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.plan.variables import Variables
from tests.factories import make_plan
from tests.values import plan_spec

PLANS = "/api/v1/plans/"


def test_it_makes_a_plan_with_its_first_version(api, project):
    answer = api.post(
        PLANS, {"project": project.pk, "name": "add", "spec": plan_spec()}, format="json"
    )
    assert answer.status_code == 201
    made = answer.json()
    assert made["versions"] == [1]
    assert made["latest"]["number"] == 1
    assert Plan.from_json(made["latest"]["spec"]) == Plan.from_json(plan_spec())


def test_an_edit_makes_a_version_and_the_first_stays_as_it_was(api, project):
    plan = make_plan(project).plan
    slower = plan_spec(model="over", requests=100, over_s=100)
    answer = api.put(f"{PLANS}{plan.pk}/", {"name": plan.name, "spec": slower}, format="json")
    assert answer.json()["versions"] == [1, 2]
    first = api.get(f"{PLANS}{plan.pk}/versions/1/").json()
    assert first["spec"]["load"]["over_s"] == 10
    numbers = [row["number"] for row in api.get(f"{PLANS}{plan.pk}/versions/").json()["results"]]
    assert numbers == [1, 2]
    again = api.put(f"{PLANS}{plan.pk}/", {"name": "renamed", "spec": slower}, format="json")
    assert again.json()["versions"] == [1, 2]
    assert again.json()["name"] == "renamed"


@pytest.mark.parametrize("spec", [None, [], "text", 5, {"steps": [[]]}, {"load": []}])
def test_a_spec_of_another_shape_is_answered_and_does_not_break(api, project, spec):
    answer = api.post(PLANS, {"project": project.pk, "name": "add", "spec": spec}, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]


@pytest.mark.parametrize(
    ("described", "value"),
    [
        (specs.SpecSerializer, Plan),
        (specs.StepSerializer, Step),
        (specs.LoadSerializer, Load),
        (specs.TimeoutsSerializer, Timeouts),
        (specs.OrderSerializer, StepOrder),
        (specs.ThresholdSerializer, Threshold),
        (specs.SessionSerializer, Session),
        (specs.ThinkTimeSerializer, ThinkTime),
        (specs.AuthSerializer, Auth),
        (specs.ExchangeSerializer, Exchange),
        (specs.VariablesSerializer, Variables),
    ],
)
def test_the_description_names_the_fields_of_the_domain(described, value):
    assert set(described().fields) == {field.name for field in fields(value)}


def test_every_preset_is_listed_with_its_question(api, project):
    rows = api.get("/api/v1/presets/").json()
    assert [row["key"] for row in rows] == list(PRESETS)
    assert all(row["question"] and row["group"] for row in rows)


def test_a_preset_becomes_a_plan(api, project):
    preset = next(row for row in api.get("/api/v1/presets/").json() if row["key"] == "load")
    plan = {"project": project.pk, "name": preset["name"], "spec": preset["spec"]}
    answer = api.post("/api/v1/plans/", plan, format="json")
    assert answer.status_code == 201
    assert answer.json()["latest"]["spec"]["load"] == preset["spec"]["load"]

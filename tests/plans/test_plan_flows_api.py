"""Flows of a plan by REST: written, read back, estimated, and refused at their field."""

import pytest

from tests.factories import make_endpoint, make_target
from tests.rest.test_errors import PLANS

pytestmark = pytest.mark.django_db
FLOWS = [
    {"name": "browse", "share": 90.0, "steps": 2},
    {"name": "buy", "share": 10.0, "steps": 1},
]
SPEC = {
    "steps": [{"path": "/"}, {"path": "/list"}, {"path": "/pay"}],
    "load": {"model": "over", "requests": 100, "over_s": 10, "arrival_unit": "session"},
    "thresholds": [{"metric": "p95", "limit": 300, "unit": "ms", "flow": "buy"}],
    "flows": FLOWS,
}


def create(api, project, **changes):
    body = {"project": project.pk, "name": "shop", "spec": SPEC | changes}
    return api.post(PLANS, body, content_type="application/json")


def test_a_plan_with_flows_is_read_back_and_estimated(api, project):
    answer = create(api, project)
    assert answer.status_code == 201, answer.content
    plan = answer.json()
    spec = api.get(f"{PLANS}{plan['id']}/").json()["latest"]["spec"]
    assert spec["flows"] == FLOWS
    assert spec["thresholds"][0]["flow"] == "buy"
    endpoint = make_endpoint(make_target(project), "http")
    cells = [{"plan": plan["id"], "endpoint": endpoint.pk}]
    body = {"project": project.pk, "repeats": 2, "order": "blocks", "cells": cells}
    cost = api.post("/api/v1/campaigns/estimate/", body, content_type="application/json").json()
    assert (cost["sessions"], cost["requests"]) == ({"browse": 180, "buy": 20}, 380)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"flows": [FLOWS[0], FLOWS[1] | {"share": 0}]}, "spec.flows.1.share"),
        ({"flows": FLOWS[:1]}, "spec.flows"),
        ({"order": {"kind": "random"}}, "spec.order.kind"),
    ],
)
def test_a_fault_of_a_flow_is_named_by_its_field(api, project, changes, field):
    answer = create(api, project, **changes)
    assert answer.status_code == 400
    assert field in answer.content.decode()

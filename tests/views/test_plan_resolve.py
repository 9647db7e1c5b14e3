"""When the endpoint's name is looked up: in the form and on the page of a plan."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.forms.plans import PlanForm, initial_of
from tests.factories import make_plan
from tests.values import plan_spec

WORDS = "resolved for each connection"


def test_the_form_takes_it_and_shows_it_again(project):
    spec = make_plan(project).value().to_json()
    form = PlanForm({**initial_of("add", spec), "resolve": "per_connection"})
    assert form.is_valid(), form.errors
    stored = Plan.from_json(form.spec(spec)).to_json()
    assert initial_of("add", stored)["resolve"] == "per_connection"


def test_a_form_that_does_not_have_it_means_once(project):
    spec = make_plan(project).value().to_json()
    form = PlanForm({**initial_of("add", spec), "resolve": ""})
    assert form.is_valid(), form.errors
    assert form.spec(spec)["resolve"] == "once"


@pytest.mark.parametrize(("resolve", "is_said"), [("per_connection", True), ("once", False)])
def test_the_page_says_it_where_it_is_not_as_usual(client, bob, project, resolve, is_said):
    client.force_login(bob)
    plan = make_plan(project, spec=plan_spec() | {"resolve": resolve}).plan
    assert (WORDS in client.get(f"/plans/{plan.pk}/").content.decode()) == is_said

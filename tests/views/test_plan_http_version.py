"""The version of HTTP in the form and on the page of a plan."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.plan import Plan
from campaigns.forms.plans import PlanForm, initial_of
from tests.factories import make_plan


def test_the_form_takes_the_version_and_shows_it_again(project):
    spec = make_plan(project).value().to_json()
    form = PlanForm({**initial_of("add", spec), "http_version": "1.0"})
    assert form.is_valid(), form.errors
    stored = Plan.from_json(form.spec(spec)).to_json()
    assert initial_of("add", stored)["http_version"] == "1.0"


def test_the_form_takes_streams_with_http_2(project):
    spec = make_plan(project).value().to_json()
    form = PlanForm({**initial_of("add", spec), "http_version": "2", "streams": "16"})
    assert form.is_valid(), form.errors
    stored = Plan.from_json(form.spec(spec)).to_json()
    assert (stored["http_version"], stored["streams"]) == ("2", 16)


def test_streams_of_http_1_are_refused_at_their_field(project):
    spec = make_plan(project).value().to_json()
    form = PlanForm({**initial_of("add", spec), "http_version": "1.1", "streams": "16"})
    assert form.is_valid(), form.errors
    with pytest.raises(InvalidPlan) as invalid:
        Plan.from_json(form.spec(spec))
    assert "choose HTTP/2" in invalid.value.errors["streams"]


def test_the_page_names_it(client, bob, project):
    client.force_login(bob)
    plan = make_plan(project).plan
    assert ", HTTP/1.1" in client.get(f"/plans/{plan.pk}/").content.decode()

"""Reads of plans: the list without a query a row, and what versions changed."""

import pytest

from campaigns.domain.presentation.plan_words import changes_between
from campaigns.items.queries.items import list_plans, versions_of, with_newest
from campaigns.plans.services import edit_plan
from tests.factories import make_plan
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def test_the_list_has_the_latest_version_of_each(project, as_alice):
    first = make_plan(project, "A")
    make_plan(project, "B")
    edit_plan(
        by=as_alice, plan=first.plan, name="A", spec=plan_spec(model="sequential", requests=5)
    )
    plans = with_newest(list_plans(as_alice).filter(project=project))
    assert [(plan.name, plan.newest.number) for plan in plans] == [("A", 2), ("B", 1)]


def test_a_version_says_what_it_changed(project, as_alice):
    version = make_plan(project)
    spec = {**plan_spec(model="over", requests=200, over_s=10), "warm_up_s": 3}
    edit_plan(by=as_alice, plan=version.plan, name="x", spec=spec)
    newest, first = versions_of(version.plan)
    assert ("Requests", "100", "200") in newest.changes
    assert first.changes == []


def test_a_number_that_changed_only_far_behind_is_a_change_and_is_told_to_its_last_digit():
    before, after = ({"load": {"rate_per_s": value}} for value in (12345.67, 12345.68))
    assert changes_between(before, after) == [("Rate, requests/s", "12345.67", "12345.68")]


def test_flows_are_compared_one_by_one():
    browse = {"name": "browse", "share": 90.0, "steps": 2}
    before, after = {"flows": [browse]}, {"flows": [browse | {"share": 80.0}]}
    assert changes_between(before, after) == [("Flow 1 share", "90", "80")]
    assert changes_between({}, {"flows": []}) == []


def test_headers_and_statuses_are_compared_as_a_whole():
    before = {"expected_status": ["2xx"], "headers": [["A", "1"]]}
    after = {"expected_status": ["2xx", "304"], "headers": []}
    assert changes_between(before, after) == [
        ("Expected status", "2xx", "2xx, 304"),
        ("Headers", "A: 1", "–"),
    ]

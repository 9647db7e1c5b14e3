"""Plans: each edit that says something else is a version; versions never change."""

import pytest

from campaigns.domain.errors import InvalidFields, InvalidPlan, Refused
from campaigns.models import SavedPlan
from campaigns.services.items import archive_items, delete_items, tag_items
from campaigns.services.plans import create_plan, edit_plan
from tests.factories import make_plan
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def make(as_bob, project, name="Load", spec=None):
    return create_plan(by=as_bob, project=project, name=name, spec=spec or plan_spec())


def test_a_plan_begins_with_version_1_in_its_full_form(project, as_bob, bob):
    version = make(as_bob, project)
    assert (version.number, version.created_by) == (1, bob)
    assert version.spec == version.value().to_json()


def test_an_edit_makes_a_version_and_leaves_the_earlier_one_as_it_was(project, as_bob):
    first = make(as_bob, project)
    spec = plan_spec(model="over", requests=200, over_s=10)
    second = edit_plan(by=as_bob, plan=first.plan, name="Load", spec=spec)
    assert second.number == 2
    first.refresh_from_db()
    assert first.spec["load"]["requests"] == 100


def test_an_unchanged_spec_makes_no_version_even_under_a_new_name(project, as_bob):
    first = make(as_bob, project)
    again = edit_plan(by=as_bob, plan=first.plan, name="Other", spec=plan_spec())
    assert again.pk == first.pk
    first.plan.refresh_from_db()
    assert first.plan.name == "Other"


def test_a_rule_that_no_run_keeps_is_refused_but_one_that_is_stored_may_stay(project, as_bob):
    never = [{"metric": "errors", "limit": 0, "unit": "%"}]
    spec = plan_spec() | {"thresholds": never}
    with pytest.raises(InvalidPlan) as refused:
        make(as_bob, project, spec=spec)
    assert refused.value.errors.keys() == {"thresholds.0.limit"}
    stored = make_plan(project, spec=spec)
    edited = edit_plan(by=as_bob, plan=stored.plan, name="Other", spec=spec)
    assert edited == stored
    rules = [*never, {"metric": "p95", "limit": 0, "unit": "ms"}]
    with pytest.raises(InvalidPlan):
        edit_plan(by=as_bob, plan=stored.plan, name="Other", spec=spec | {"thresholds": rules})


@pytest.mark.parametrize("act", [archive_items, delete_items])
def test_what_was_archived_or_deleted_meanwhile_is_not_edited_back(project, as_bob, act):
    """Whoever edits it has read the row before."""
    seen = make(as_bob, project).plan
    act(by=as_bob, items=[SavedPlan.objects.get(pk=seen.pk)])
    with pytest.raises(Refused, match=r"archived|deleted"):
        edit_plan(by=as_bob, plan=seen, name="Load", spec=plan_spec())
    assert not project.plans.filter(archived_at=None).exists()


def test_tags_that_were_given_meanwhile_stay(project, as_bob):
    seen = make(as_bob, project).plan
    tag_items(by=as_bob, items=[seen], add=["nightly"])
    edit_plan(by=as_bob, plan=seen, name="Load", spec=plan_spec())
    assert project.plans.get().tags == ["nightly"]


def test_a_wrong_spec_is_refused_field_by_field_and_leaves_no_plan(project, as_bob):
    with pytest.raises(InvalidPlan) as refusal:
        make(as_bob, project, spec=plan_spec(model="open", rate_per_s=-1))
    assert "load.rate_per_s" in refusal.value.errors
    assert not project.plans.exists()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_plan_needs_a_name_of_a_fitting_length(name, project, as_bob):
    with pytest.raises(InvalidFields) as refusal:
        make(as_bob, project, name=name)
    assert list(refusal.value.errors) == ["name"]

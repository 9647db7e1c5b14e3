"""The two levels of the plan form: what is in sight, and disclosures that say what they hold."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from campaigns.domain.plan.fields import groups_of
from campaigns.domain.plan.plan import Plan
from campaigns.forms.plan_groups import GROUPS, names_in
from campaigns.forms.plans import PlanForm
from tests.factories import make_plan, make_project

pytestmark = pytest.mark.django_db
KEYS = [group.key for group in GROUPS]


@pytest.fixture
def form_at(as_editor, project):
    address = reverse("plan-new", args=[project.pk])
    return lambda **query: as_editor.get(address, query)


def disclosures_of(answer) -> dict:
    return {each.group.key: each for each in answer.context["form"].disclosures}


def test_every_group_of_the_registry_is_a_disclosure_with_fields():
    assert set(groups_of(Plan).values()) - {""} == set(KEYS)
    for key in KEYS:
        assert set(names_in(key)) & set(PlanForm.base_fields)


def test_a_new_form_is_as_usual_and_closed(form_at):
    answer = form_at()
    assert all(each.is_usual for each in disclosures_of(answer).values())
    assert not re.search(r'id="group-\w+" open', answer.content.decode())


def test_a_disclosure_says_what_differs(form_at):
    groups = disclosures_of(form_at(preset="sessions"))
    assert not groups["visits"].is_usual
    assert "Requests per session 5" in groups["visits"].words
    assert not groups["limits"].is_usual
    assert "Reply within 5 s" in groups["limits"].words
    assert groups["values"].is_usual


def test_a_page_knows_what_its_preset_said(form_at):
    page = form_at(preset="spike").content.decode()
    base = json.loads(unescape(re.search(r'data-base="([^"]*)"', page)[1]))
    assert base["connection_mode"] == {"label": "connections", "value": "new"}
    assert "secret" not in base


def test_a_plan_of_the_project_can_be_copied(form_at, project):
    plan = make_plan(project, "Prices").plan
    answer = form_at(copy=plan.pk)
    assert answer.context["form"].initial["name"] == "Prices copy"


def test_a_plan_of_another_project_cannot(form_at, project):
    plan = make_plan(make_project("other"), "Theirs").plan
    assert "Theirs" not in form_at(copy=plan.pk).content.decode()


def test_of_a_table_the_preview_knows_the_size_and_of_credentials_the_kind(as_editor, project):
    typed = {"csv_size": "1024", "auth_kind": "bearer"}
    answer = as_editor.post(reverse("plan-preview", args=[project.pk]), typed)
    groups = {each.group.key: each for each in answer.context["disclosures"]}
    assert groups["values"].words == "table of 1,024 bytes"
    assert not groups["auth"].is_usual

"""The parts of the plan form: each group has fields, presets and copies fill them in."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from campaigns.domain.plan.fields import groups_of
from campaigns.domain.plan.plan import Plan
from campaigns.forms.plans import GROUPS, PlanForm, names_in
from tests.factories import make_plan

pytestmark = pytest.mark.django_db
KEYS = [group.key for group in GROUPS]


@pytest.fixture
def form_at(as_editor, project):
    address = reverse("plan-new", args=[project.pk])
    return lambda **query: as_editor.get(address, query)


def test_every_group_of_the_registry_is_a_disclosure_with_fields():
    assert set(groups_of(Plan).values()) - {""} == set(KEYS)
    for key in KEYS:
        assert set(names_in(key)) & set(PlanForm.base_fields)


def test_a_page_knows_what_its_preset_said(form_at):
    page = form_at(preset="spike").content.decode()
    base = json.loads(unescape(re.search(r'data-base="([^"]*)"', page)[1]))
    assert base["connection_mode"] == {"label": "connections", "value": "new"}
    assert "secret" not in base


def test_a_plan_of_the_project_can_be_copied(form_at, project):
    plan = make_plan(project, "Prices").plan
    answer = form_at(copy=plan.pk)
    assert answer.context["form"].initial["name"] == "Prices copy"


def test_of_a_table_the_preview_knows_the_size_and_of_credentials_the_kind(as_editor, project):
    typed = {"csv_size": "1024", "auth_kind": "bearer"}
    answer = as_editor.post(reverse("plan-preview", args=[project.pk]), typed)
    groups = {each.group.key: each for each in answer.context["disclosures"]}
    assert groups["values"].words == "table of 1,024 bytes"
    assert not groups["auth"].is_usual

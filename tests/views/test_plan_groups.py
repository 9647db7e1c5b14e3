"""The two levels of the plan form: what is in sight, and disclosures that say what they hold."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from campaigns.domain.plan.fields import groups_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS
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
    page = answer.content.decode()
    assert all(each.is_usual for each in disclosures_of(answer).values())
    assert page.count("as usual") == len(KEYS)
    assert not re.search(r'id="group-\w+" open', page)


def test_a_disclosure_says_what_differs(form_at):
    groups = disclosures_of(form_at(preset="sessions"))
    assert not groups["visits"].is_usual
    assert "Requests per session 5" in groups["visits"].words
    assert not groups["limits"].is_usual
    assert "Reply within 5 s" in groups["limits"].words
    assert groups["values"].is_usual


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("expected_status", "nonsense", "right"),
        ("thresholds", "nonsense", "thresholds"),
        ("total_s", "nonsense", "limits"),
        ("warm_up_s", "-5", "start"),
        ("pipeline_depth", "99999", "visits"),
        ("csv", "a\n", "values"),
    ],
)
def test_an_error_opens_its_disclosure(as_editor, project, field, value, key):
    values = {name: made.initial or "" for name, made in PlanForm.base_fields.items()}
    values |= {"name": "x", field: value}
    answer = as_editor.post(reverse("plan-new", args=[project.pk]), values)
    assert answer.status_code == 422
    opened = {each for each, found in disclosures_of(answer).items() if found.is_open}
    assert opened == {key}
    assert re.search(rf'id="group-{key}" open', answer.content.decode())


def test_the_preview_says_the_words_anew(as_editor, project):
    answer = as_editor.post(
        reverse("plan-preview", args=[project.pk]), {"model": "over", "warm_up_s": "7"}
    )
    page = answer.content.decode()
    assert "Warm-up 7 s" in page
    assert 'data-live="group-start"' in page
    assert 'data-live="group-auth"' in page


def test_the_everyday_questions_come_first(form_at):
    page = form_at().content.decode()
    assert page.index("Everyday questions") < page.index("Published studies")
    assert next(iter(PRESETS.values())).group == "Everyday questions"
    assert all(each.short for each in PRESETS.values() if each.group == "Everyday questions")


def test_a_page_knows_what_its_preset_said(form_at):
    page = form_at(preset="spike").content.decode()
    base = json.loads(unescape(re.search(r'data-base="([^"]*)"', page)[1]))
    assert base["connection_mode"] == {"label": "connections", "value": "new"}
    assert "secret" not in base
    assert 'href="?preset=spike">Undo all' in page


def test_a_plan_of_the_project_can_be_copied(form_at, project):
    plan = make_plan(project, "Prices").plan
    answer = form_at(copy=plan.pk)
    assert answer.context["form"].initial["name"] == "Prices copy"


def test_a_plan_of_another_project_cannot(form_at, project):
    plan = make_plan(make_project("other"), "Theirs").plan
    assert "Theirs" not in form_at(copy=plan.pk).content.decode()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"headers": "Accept: */*\nX-Number: 2"}, "2 headers"),
        (
            {"headers": "Content-Type: application/json", "body": "{}"},
            "1 header, JSON body of 2 bytes",
        ),
        ({"body": "é"}, "body of 2 bytes"),
        (
            {"label": "sign in", "extract": "token = header X-Token: (.*)"},
            "named sign in, 1 value taken from the reply",
        ),
    ],
)
def test_what_is_set_under_a_request_is_said_while_it_is_closed(given, words):
    (block,) = PlanForm({"n_steps": "1", **given}).step_blocks
    assert block.more_words == words


def test_the_form_says_how_many_disclosures_differ(form_at):
    assert "none differs from the usual" in form_at().content.decode()
    with_sessions = form_at(preset="sessions")
    n = sum(not each.is_usual for each in disclosures_of(with_sessions).values())
    assert n
    n_in_sight = sum(group.protocol != "websocket" for group in GROUPS)
    assert f"{n} of {n_in_sight} differ" in with_sessions.content.decode()


def test_of_a_table_the_preview_knows_the_size_and_of_credentials_the_kind(as_editor, project):
    typed = {"csv_size": "1024", "auth_kind": "bearer"}
    answer = as_editor.post(reverse("plan-preview", args=[project.pk]), typed)
    groups = {each.group.key: each for each in answer.context["disclosures"]}
    assert groups["values"].words == "table of 1,024 bytes"
    assert groups["auth"].words == "Credentials Bearer token"
    n_in_sight = sum(group.protocol != "websocket" for group in GROUPS)
    assert f'data-live="differing">2 of {n_in_sight} differ' in answer.content.decode()


def test_a_table_on_the_page_says_its_size(form_at, project):
    spec = {**PRESETS["smoke"].spec, "variables": {"csv": "user\nann\n", "order": "sequential"}}
    plan = make_plan(project, "With a table", spec).plan
    assert disclosures_of(form_at(copy=plan.pk))["values"].words == "table of 9 bytes"

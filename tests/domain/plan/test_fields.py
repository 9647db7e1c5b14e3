"""The registry of plan fields: every field of a plan has its row."""

from dataclasses import fields

import pytest

from campaigns.domain.plan.fields import all_fields, fields_of
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.load_rules import USES
from campaigns.domain.plan.plan import Plan

FIELDS = all_fields(Plan)
SCALARS = {path: field for path, field in FIELDS.items() if field.kind is not None}
PARTS = [Plan, *(field.part for field in FIELDS.values() if field.part)]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_field_of_a_plan_has_a_row(part):
    assert list(fields_of(part)) == [each.name for each in fields(part)]


@pytest.mark.parametrize("path", [path for path, field in SCALARS.items() if field.is_number])
def test_the_default_and_the_example_are_within_the_bounds(path):
    field = SCALARS[path]
    for value in (field.default, field.example):
        if value not in (None, ""):
            assert field.low <= value <= field.high
            assert value > 0 or not field.positive


@pytest.mark.parametrize("path", [path for path, field in SCALARS.items() if field.is_choice])
def test_every_choice_has_a_label(path):
    assert set(SCALARS[path].choices) == set(SCALARS[path].kind)


def test_every_field_of_a_load_belongs_to_a_model():
    assert set().union(*USES.values()) | {"model"} == set(fields_of(Load))
    assert all(USES[model] for model in Model)


def test_no_two_fields_have_the_same_option():
    options = [field.option.partition(" ")[0] for field in FIELDS.values() if field.option]
    assert len(options) == len(set(options))

"""The registry of plan fields: every field of a plan has its row."""

from dataclasses import fields

from campaigns.domain.plan.fields import all_fields, fields_of
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.load_rules import USES
from campaigns.domain.plan.plan import Plan

FIELDS = all_fields(Plan)
SCALARS = {path: field for path, field in FIELDS.items() if field.kind is not None}
PARTS = [Plan, *(field.part for field in FIELDS.values() if field.part)]


def test_every_field_of_a_plan_has_a_row():
    for part in PARTS:
        assert list(fields_of(part)) == [each.name for each in fields(part)]


def test_the_default_and_the_example_are_within_the_bounds():
    for path in [path for path, field in SCALARS.items() if field.is_number]:
        field = SCALARS[path]
        for value in (field.default, field.example):
            if value not in (None, ""):
                assert field.low <= value <= field.high
                assert value > 0 or not field.positive


def test_every_choice_has_a_label():
    for path in [path for path, field in SCALARS.items() if field.is_choice]:
        assert set(SCALARS[path].choices) == set(SCALARS[path].kind)


def test_every_field_of_a_load_belongs_to_a_model():
    assert set().union(*USES.values()) | {"model"} == set(fields_of(Load))
    assert all(USES[model] for model in Model)


def test_no_two_fields_have_the_same_option():
    options = [field.option.partition(" ")[0] for field in FIELDS.values() if field.option]
    assert len(options) == len(set(options))

"""Variables of a plan: declared, used, or refused in words."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.plan import Plan

LOAD = {"model": "closed", "connections": 2, "requests": 10}
TAKEN = {"name": "token", "from": "header", "header": "Location", "pattern": "/(.+)"}


def plan(csv: str = "", path: str = "/", **step):
    return Plan.from_json(
        {
            "steps": [{"path": path, **step}],
            "load": LOAD,
            "variables": {"csv": csv, "order": "random"},
        }
    )


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert plan("\ufeffuser\nann\n", "/${user}").variables.values(0) == {"user": "ann"}


def test_a_spreadsheet_may_separate_values_by_other_than_commas():
    for between in [",", ";", "\t"]:
        made = plan(f'user{between}page\nann{between}"/a{between}b"\n', "/${user}${page}")
        assert made.variables.values(0) == {"user": "ann", "page": f"/a{between}b"}


def test_variables_survive_being_stored():
    made = plan("a,b\n1,\n", "/${a}/${token}", extract=[TAKEN])
    assert Plan.from_json(made.to_json()) == made
    assert made.variable_names == {"a", "b", "token"}
    assert made.to_json()["steps"][0]["extract"] == [TAKEN]


def test_what_cannot_be_is_refused_at_its_field():
    for given, field in [
        ({"csv": "a,b\n1\n"}, "variables.csv"),
        ({"csv": "a\n"}, "variables.csv"),
        ({"csv": "a b\n1\n"}, "variables.csv"),
        ({"csv": "a,a\n1,2\n"}, "variables.csv"),
        ({"csv": 'a\n"open\n'}, "variables.csv"),
        ({"csv": "a\n1\n", "path": "/${b}"}, "variables.csv"),
        ({"extract": [TAKEN | {"name": "x y"}]}, "steps.0.extract.0.name"),
        ({"extract": [TAKEN | {"header": ""}]}, "steps.0.extract.0.header"),
        ({"extract": [TAKEN | {"pattern": "(?=a)(b)"}]}, "steps.0.extract.0.pattern"),
        ({"extract": "all"}, "steps.0.extract"),
    ]:
        with pytest.raises(InvalidPlan) as refusal:
            plan(**given)
        assert field in refusal.value.errors

"""Variables of a plan: declared, used, or refused in words."""

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.typed_request import first_request
from campaigns.domain.plan.variables import ValueMaker, parse_lines, write_lines
from tests.domain.plan.reading import faults, read

TAKEN = {"name": "token", "from": "header", "header": "Location", "pattern": "/(.+)"}


def spec(csv: str = "", path: str = "/", **step):
    return {"steps": [{"path": path, **step}], "variables": {"csv": csv, "order": "random"}}


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert read(**spec("\ufeffuser\nann\n", "/${user}")).variables.values(0) == {"user": "ann"}


def test_a_spreadsheet_may_separate_values_by_other_than_commas():
    for between in [",", ";", "\t"]:
        plan = read(**spec(f'user{between}page\nann{between}"/a{between}b"\n', "/${user}${page}"))
        assert plan.variables.values(0) == {"user": "ann", "page": f"/a{between}b"}


def test_what_cannot_be_is_refused_at_its_field():
    for fields, field in [
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
        assert field in faults(**spec(**fields))


LINES = "id = uuid\nn = counter 5\nsize = integer -2 to 9\nkind = choice a, b c\nat = time iso"
STEP = {"path": "/${id}/${n}/${size}/${kind}/${at}"}


def test_lines_and_json_say_the_same():
    plan = read(steps=[STEP], variables={"generators": parse_lines(LINES)})
    assert write_lines(plan.to_json()["variables"]["generators"]) == LINES
    assert Plan.from_json(plan.to_json()) == plan


def test_what_cannot_be_made_is_refused():
    for line in [
        "id",
        "id = guid",
        "1d = uuid",
        "id = uuid 4",
        "n = counter first",
        "n = integer 9 to 1",
        "n = integer 9",
        "n = choice",
        "at = time min",
        "user = uuid",
        "id = uuid\nid = uuid",
    ]:
        generators = [
            each | ({"words": []} if line == "n = choice" else {}) for each in parse_lines(line)
        ]
        variables = {"csv": "user\nann\n", "generators": generators}
        assert all(path.startswith("variables.generators") for path in faults(variables=variables))


def test_a_time_is_written_as_the_plan_says():
    for clock, text in [
        ("s", "1795939530"),
        ("ms", "1795939530123"),
        ("iso", "2026-11-29T08:05:30.123Z"),
    ]:
        generators = read(
            variables={"generators": parse_lines(f"at = time {clock}")}
        ).variables.generators
        assert ValueMaker(generators, 0, b"").times(1_795_939_530_123_456_789) == {"at": text}


def test_the_first_request_has_values_too():
    plan = read(steps=[STEP], variables={"generators": parse_lines(LINES)})
    path = first_request(plan, epoch_ns=1_795_939_530_000_000_000)["path"]
    assert path.endswith("2026-11-29T08:05:30.000Z")
    assert path.split("/")[2] == "5"

"""Everybody asks at every address with every method, and gets what tests/access_table.py says:
of rows of their own project, of an archived one, of another team's, and of rows that never were.

An address that the table does not know fails here; so does a marker of the project in anything
that somebody reads who should not, and a write by a request that should write nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from django.db import transaction

from campaigns.api import schema
from tests.access_admin import asked_of_admin, expected_of_admin
from tests.access_probes import (
    NEVER,
    ROUTES,
    Answer,
    Asked,
    address,
    all_addresses,
    ask,
    asked_at,
    expected,
    remembered,
    rows_of,
    rows_that_never_were,
    send,
    unlisted_at,
)
from tests.access_table import EVERYBODY, NOBODY, PAGES, STRANGERS, TABLE, Rule
from tests.access_world import (
    DEAD_TOKENS,
    FOREIGN,
    OPEN,
    SECRET,
    Rows,
    World,
    add_other_rows,
    make_world,
)

pytestmark = pytest.mark.django_db

# Pages of administrators, which name projects and campaigns and show nothing of their results.
ABOUT_ALL = {"load", "caps", "caps-edit", "storage", "ownership", "audit-all", "audit-all-csv"}
NAMES = sorted(set(TABLE) & set(ROUTES))


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker) -> Iterator[World]:
    """Made once; every request is undone, so that each finds it as it was."""
    with django_db_blocker.unblock(), transaction.atomic(), remembered():
        world = make_world()
        add_other_rows(world)
        yield world
        transaction.set_rollback(True)


def check_markers(asked: Asked, text: str) -> None:
    who, name = asked.who, asked.name
    if asked.thing == "foreign":
        assert FOREIGN not in text, f"{asked}: shows something of it"
    if name in {"share-view", "share-stream"}:
        assert SECRET not in text, f"{asked}: shows a secret of the project"
    elif who in STRANGERS | NOBODY | DEAD_TOKENS and not (who == "adam" and name in ABOUT_ALL):
        assert OPEN not in text, f"{asked}: shows something of the project"
        assert SECRET not in text, f"{asked}: shows a secret of the project"


def test_ten_thousand_requests_are_tried():
    listed = sum(1 for name in NAMES for _ in asked_at(name))
    unlisted = sum(1 for name in NAMES for _ in unlisted_at(name))
    of_staff = sum(1 for _ in asked_of_admin(EVERYBODY))
    assert listed + unlisted + of_staff > 10_000


def test_the_table_knows_every_address():
    unknown = {route for route, name in all_addresses() if name not in TABLE}
    assert not unknown, f"Say in tests/access_table.py who may ask at {sorted(unknown)}."


def test_the_table_names_no_address_that_is_gone():
    assert set(TABLE) - set(ROUTES) == set()


def test_no_two_addresses_share_a_name():
    names = [name for _, name in all_addresses()]
    assert len(names) == len(set(names))


@pytest.fixture(scope="module")
def described() -> dict[tuple[str, str], set[int]]:
    """The statuses that the API's schema tells, by address and method."""
    paths = json.loads(schema.described())["paths"]
    return {
        (re.sub(r"{\w+}", "{}", path), method.upper()): {int(each) for each in told["responses"]}
        for path, operations in paths.items()
        for method, told in operations.items()
    }


def statuses_of(asked: Asked, described: dict[tuple[str, str], set[int]]) -> set[int]:
    """What is told of this address; anything of pages, and of what describes the API itself."""
    path = "/" + re.sub(r"<[^>]+>", "{}", ROUTES[asked.name])
    return described.get((path, asked.method), set(range(600)))


@pytest.mark.parametrize("name", NAMES)
def test_everybody_gets_what_the_table_says(world, described, name):
    refusals: dict[tuple[str, str], dict[str, Answer]] = defaultdict(dict)
    for asked in asked_at(name):
        answer, wanted = ask(world, asked), expected(asked)
        assert answer.verdict == wanted, f"{asked}: is {answer.verdict}, not {wanted}: {answer}"
        told = statuses_of(asked, described)
        assert answer.status in told, f"{asked}: {answer.status} is not in the API's schema"
        check_markers(asked, answer.text)
        if wanted != "in" or asked.method == "GET":
            assert not answer.written, f"{asked}: writes {answer.written}"
        if wanted == "404":
            refusals[asked.method, asked.who][asked.thing] = answer
    for who, answers in refusals.items():
        assert len({answer.text for answer in answers.values()}) == 1, (
            f"{who} can tell at {name} which of these rows there are: {answers}"
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_method_that_the_table_does_not_list_changes_nothing(world, name):
    for asked in unlisted_at(name):
        answer = ask(world, asked)
        assert not answer.written, f"{asked}: writes {answer.written}"
        check_markers(asked, answer.text)
        if asked.method not in {"HEAD", "OPTIONS"}:
            may_read = expected(asked) == "in"
            assert answer.verdict != "in" or may_read, f"{asked}: lets them in"


@pytest.mark.parametrize("name", sorted({name for *_, name in asked_of_admin({"sam"})}))
def test_the_site_for_staff_lets_in_only_staff_and_shows_them_nothing(world, name):
    for who, method, path, _ in (each for each in asked_of_admin(EVERYBODY) if each[3] == name):
        may_write = who == "sam" or name in {"login", "logout"}
        answer = send(world, who, method, path, {}, may_write=may_write)
        wanted, what = expected_of_admin(who, name), f"{who}: {method} {path}"
        assert answer.verdict in wanted, f"{what}: is {answer.verdict}, not {wanted}"
        assert not answer.written, f"{what}: writes {answer.written}"
        assert OPEN not in answer.text, f"{what}: shows something of the project"
        assert SECRET not in answer.text, f"{what}: shows a secret of the project"


def beside(rows: Rows, own: Rows) -> Rows:
    """These rows, but for the project and what is compared, which are one's own."""
    return rows | {noun: own[noun] for noun in ("project", "version", "run")}


def names_others(rule: Rule) -> bool:
    own = rows_that_never_were()
    first, other = (rule.body(beside(rows_that_never_were(number), own)) for number in (1, 2))
    return first != other


MIXED = [
    (name, method)
    for name in NAMES
    for method, rule in TABLE[name].items()
    if "comparison" in name or names_others(rule)
]


@pytest.mark.parametrize(("name", "method"), MIXED)
def test_a_row_of_another_team_cannot_be_named_beside_ones_own(world, name, method):
    """The address and the project are alice's, the rest of the body is charlie's."""
    rule, is_page = TABLE[name][method], name in PAGES
    who = "alice" if is_page else "alice's write token"
    answers = []
    for thing in ("foreign", "never"):
        rows = beside(rows_of(world, thing), world.rows)
        path = address(name, world, rule, rows if "comparison" in name else None)
        answer = send(world, who, method, path, rule.body(rows), is_page)
        assert FOREIGN not in answer.text, f"{who}: {method} {name} shows something of it"
        assert not answer.written, f"{who}: {method} {name} writes {answer.written}"
        answers.append((answer.verdict, _without_numbers(answer.text)))
    assert answers[0] == answers[1], f"{name} tells which rows there are: {answers}"


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "N", text)


# Where a page reads which row to begin with from its address.
BESIDE = {
    "campaign-list": ("target", "by"),
    "campaign-new": ("again", "edit", "plan", "target", "confirm"),
    "search-new": ("plan", "target"),
    "plan-new": ("copy",),
    "run-list": ("target", "plan", "campaign", "candidate"),
    "injector-list": ("project",),
    "target-measure": ("probe",),
    "history": ("target", "plan"),
    "api-run-list": ("project", "campaign", "target", "plan", "test"),
    "api-campaign-list": ("project", "target"),
    "api-target-list": ("project",),
    "api-plan-list": ("project",),
    "api-probe-list": ("project", "target"),
}


@pytest.mark.parametrize(
    ("name", "noun"), [(name, noun) for name, nouns in BESIDE.items() for noun in nouns]
)
def test_a_row_of_another_team_in_the_query_is_one_that_never_was(world, name, noun):
    path = address(name, world, TABLE[name]["GET"])
    row = world.foreign.get(noun) or world.foreign["campaign"]
    answers = []
    for number in (row.pk, NEVER):
        answer = send(world, "alice", "GET", f"{path}?{noun}={number}", {})
        assert FOREIGN not in answer.text
        answers.append((answer.verdict, _without_numbers(answer.text)))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("link", ["revoked", "expired", "dana's"])
@pytest.mark.parametrize("tail", ["", "stream/"])
def test_a_dead_link_opens_nothing_for_anybody(world, link, tail):
    for who in sorted(EVERYBODY):
        for method in ("GET", "POST"):
            answer = send(world, who, method, f"/s/{world.share_tokens[link]}/{tail}", {})
            assert answer.verdict == ("404" if method == "GET" else "405"), f"{who}: {answer}"
            if who in STRANGERS | NOBODY | DEAD_TOKENS:  # others read their projects' names
                assert OPEN not in answer.text


@pytest.mark.parametrize("token", ["", "x" * 43, "campaign", "%00"])
@pytest.mark.parametrize("tail", ["", "stream/"])
def test_another_share_token_opens_nothing(world, token, tail):
    response = world.client("anonymous").get(f"/s/{token}/{tail}")
    assert response.status_code == 404
    assert OPEN not in response.content.decode()


def test_a_share_link_of_a_run_shows_no_secret_and_no_other_run(world):
    text = world.client("anonymous").get(f"/s/{world.share_tokens['run']}/").content.decode()
    assert SECRET not in text
    assert f"/runs/{world.rows['candidate'].pk}/" not in text

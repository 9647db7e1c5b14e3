"""Who asks at every page gets what tests/access_table.py says: nobody, a stranger, one role below
the one that the page needs, and that role. A marker of the project in anything that
somebody reads who should not fails here; so does a write by a request that should write nothing.
The same of REST is in test_access_of_rest.py.

And what is no single row of the table: Django's site for staff, rows of another team beside one's
own, and share links that open nothing."""

import re

import pytest

from tests.access_admin import admin_requests, admin_verdicts
from tests.access_checks import check_everybody, check_other_methods
from tests.access_probes import (
    NEVER,
    ROUTES,
    address,
    all_addresses,
    rows_of,
    rows_that_never_were,
    send,
)
from tests.access_table import NOBODY, PAGES, STRANGERS, TABLE, Rule
from tests.access_world import DEAD_TOKENS, FOREIGN, OPEN, SECRET, Rows

pytestmark = pytest.mark.django_db

NAMES = sorted(set(TABLE) & set(ROUTES))


def test_the_table_knows_every_address():
    unknown = {route for route, name in all_addresses() if name not in TABLE}
    assert not unknown, f"Say in tests/access_table.py who may ask at {sorted(unknown)}."


def test_the_table_names_no_address_that_is_gone():
    assert set(TABLE) - set(ROUTES) == set()


def test_no_two_addresses_share_a_name():
    names = [name for _, name in all_addresses()]
    assert len(names) == len(set(names))


def test_everybody_gets_what_the_table_says_of_pages(world):
    for name in sorted(set(PAGES) & set(ROUTES)):
        check_everybody(world, {}, name)  # the API's schema tells nothing of pages


def test_a_method_that_the_table_does_not_list_for_a_page_changes_nothing(world):
    for name in sorted(set(PAGES) & set(ROUTES)):
        check_other_methods(world, name)


def test_the_site_for_staff_lets_in_only_staff_and_shows_them_nothing(world):
    for name in sorted({name for *_, name in admin_requests()}):
        for who, method, path, _ in (each for each in admin_requests() if each[3] == name):
            may_write = who == "sam" or name in {"login", "logout"}
            answer = send(world, who, method, path, {}, may_write=may_write)
            verdicts, what = admin_verdicts(who, name), f"{who}: {method} {path}"
            assert answer.verdict in verdicts, f"{what}: is {answer.verdict}, not {verdicts}"
            assert not answer.writes, f"{what}: writes {answer.writes}"
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


def test_a_row_of_another_team_cannot_be_named_beside_ones_own(world):
    """The address and the project are alice's, the rest of the body is charlie's."""
    for name, method in MIXED:
        rule, is_page = TABLE[name][method], name in PAGES
        who = "alice" if is_page else "alice's write token"
        answers = []
        for thing in ("foreign", "never"):
            rows = beside(rows_of(world, thing), world.rows)
            path = address(name, world, rule, rows if "comparison" in name else None)
            answer = send(world, who, method, path, rule.body(rows), is_page)
            assert FOREIGN not in answer.text, f"{who}: {method} {name} shows something of it"
            assert not answer.writes, f"{who}: {method} {name} writes {answer.writes}"
            answers.append((answer.verdict, _without_numbers(answer.text)))
        assert answers[0] == answers[1], f"{name} tells which rows there are: {answers}"


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "N", text)


# What a page names in its address otherwise than the world does its rows.
CALLED = {"again": "campaign", "confirm": "campaign", "edit": "campaign", "copy": "plan"}
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


def test_a_row_of_another_team_in_the_query_is_one_that_never_was(world):
    for name, noun in [(name, noun) for name, nouns in BESIDE.items() for noun in nouns]:
        path = address(name, world, TABLE[name]["GET"])
        # Of the kind that is asked for: another's number may be one of a row of alice's.
        rows = world.foreign | {"by": world.foreign["membership"].user}
        row = rows[CALLED.get(noun, noun)]
        answers = []
        for number in (row.pk, NEVER):
            answer = send(world, "alice", "GET", f"{path}?{noun}={number}", {})
            assert FOREIGN not in answer.text
            answers.append((answer.verdict, _without_numbers(answer.text)))
        assert answers[0] == answers[1]


def test_a_dead_link_opens_nothing_for_anybody(world):
    for tail in ["", "stream/"]:
        for link in ["revoked", "expired", "dana's"]:
            for who in ("anonymous", "charlie", "alice"):
                for method in ("GET", "POST"):
                    answer = send(world, who, method, f"/s/{world.share_tokens[link]}/{tail}", {})
                    assert answer.verdict == ("404" if method == "GET" else "405"), (
                        f"{who}: {answer}"
                    )
                    if who in STRANGERS | NOBODY | DEAD_TOKENS:  # others read their projects' names
                        assert OPEN not in answer.text


def test_another_share_token_opens_nothing(world):
    for tail in ["", "stream/"]:
        for token in ["", "x" * 43, "campaign", "%00"]:
            response = world.client("anonymous").get(f"/s/{token}/{tail}")
            assert response.status_code == 404
            assert OPEN not in response.content.decode()


def test_a_share_link_of_a_run_shows_no_secret_and_no_other_run(world):
    text = world.client("anonymous").get(f"/s/{world.share_tokens['run']}/").content.decode()
    assert SECRET not in text
    assert f"/runs/{world.rows['candidate'].pk}/" not in text


POSTED = sorted(name for name in set(PAGES) & set(ROUTES) if "POST" in PAGES[name])
# Fields of one's own words that a page takes, beside those in the table of access.
FREE = ("name", "tags", "note", "why", "link", "reason", "query", "text", "username")
# PostgreSQL refuses the one, and Python reads no number of so many digits.
NUL, LONG = "a\0b", "9" * 5000


@pytest.mark.long
def test_what_cannot_be_stored_is_answered(world):
    for name in POSTED:
        rule = PAGES[name]["POST"]
        who = "adam" if rule.right == "installation" else "alice"
        path, body = address(name, world, rule), rule.body(world.rows)
        bodies = [dict.fromkeys(FREE, NUL), dict.fromkeys(FREE, LONG), dict.fromkeys(body, LONG)]
        for junk in [*bodies, *({field: NUL} for field in body)]:
            answer = send(world, who, "POST", path, body | junk)
            assert answer.status < 500, f"{name}: {junk}"


TWO = "curl shop.example/a\ncurl shop.example/b"
NUMBERED = [
    ("get", "/projects/{}/schedules/", "campaign", {}),
    ("post", "/projects/{}/notifications/", "shown", {"do": "choose"}),
    ("post", "/projects/{}/plans/paste/", "chosen", {"what": TWO, "choose": "1"}),
    ("post", "/measure/", "project", {"what": "shop.example"}),
]


@pytest.mark.parametrize("number", ["²", LONG])
@pytest.mark.parametrize(("method", "path", "name", "rest"), NUMBERED)
def test_what_is_no_number_is_answered(world, method, path, name, rest, number):
    ask = getattr(world.client("alice"), method)
    answer = ask(path.format(world.rows["project"].pk), {name: number, **rest})
    assert answer.status_code < 500

"""Everybody asks at every address with every method, and gets what tests/access_table.py says.

An address that the table does not know fails here; so does a marker of the project in anything
that somebody reads who should not, and a write by a request that should write nothing.
"""

import re
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

from tests.access_table import EVERYBODY, MAY, NOBODY, PAGES, STRANGERS, TABLE, Rule
from tests.access_world import OPEN, SECRET, World, make_world

pytestmark = pytest.mark.django_db

# Django's own site for staff; its accounts and rights are not ours.
NOT_OURS = ("admin/",)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Pages whose answer, or the way on from it, is the sign-in page.
SIGN_IN = {"login", "logout"}
# Pages of administrators, which name projects and campaigns and show nothing of their results.
ABOUT_ALL = {"load", "caps", "caps-edit", "storage", "audit-all", "audit-all-csv"}
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# What a request may write although it changes nothing: who was here, and when.
BOOKKEEPING = ("django_session", "campaigns_sharelink", "campaigns_apitoken", "auth_user", "axes_")
WRITES = re.compile(r'^(?:INSERT INTO|UPDATE|DELETE FROM) "(\w+)"')


def all_addresses(patterns=None, before: str = "") -> Iterator[tuple[str, str | None]]:
    """(route, name) of every pattern, however deep."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if route.startswith(NOT_OURS):
            continue
        if isinstance(pattern, URLPattern):
            yield route, pattern.name
        else:
            yield from all_addresses(pattern.url_patterns, route)


ROUTES = {name: route for route, name in all_addresses()}


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker) -> Iterator[World]:
    """Made once; every request is undone, so that each finds it as it was."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)


def address(name: str, world: World, rule: Rule) -> str:
    rows = dict(world.rows)
    noun = name.removeprefix("api-").split("-")[0]
    rows |= {shown: world.rows[other] for shown, other in rule.rows}
    rows["pk"] = rows.get(noun)

    def value_of(match: re.Match) -> str:
        if match[1] == "token" and noun == "share":
            return world.share_tokens["campaign"]
        return "1" if match[1] == "number" else str(rows[match[1]].pk)

    path = "/" + PARAMETER.sub(value_of, ROUTES[name])
    if "comparison" in name:
        path += f"?a=run-{world.rows['run'].pk}&b=campaign-{world.rows['campaign'].pk}"
    return path


def ask(world: World, who: str, method: str, name: str, rule: Rule):
    """The response, its text, and the tables that it wrote; then all is as before."""
    path = address(name, world, rule)
    body = rule.body(world)
    form = {"data": body} if name in PAGES else {"data": body, "content_type": "application/json"}
    client = world.client(who)
    written = set()

    def note(execute, sql, params, many, context):
        if match := WRITES.match(sql):
            written.add(match[1])
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(note):
        sent = form if method in {"POST", "PUT", "PATCH"} else {}
        if name in PAGES and method in {"PUT", "PATCH"}:
            sent = {}
        response = getattr(client, method.lower())(path, **sent)
        text = b"".join(response).decode(errors="replace")
        transaction.set_rollback(True)
    return response, text, {table for table in written if not table.startswith(BOOKKEEPING)}


def verdict(response) -> str:
    """in, login, 401, 403, 404 or 405."""
    if response.status_code == 302:
        return "login" if response["Location"].startswith("/login/") else "in"
    if response.status_code in {401, 403, 404, 405}:
        return str(response.status_code)
    assert response.status_code < 500, response.content
    return "in"


def expected(who: str, name: str, rule: Rule) -> str:
    """What the table says: signing in comes before existing, existing before being allowed."""
    is_page = name in PAGES
    is_nobody = who in NOBODY or (is_page and who.endswith("token"))
    if is_page and who.endswith("token") and (rule.right != "nothing" or name in SIGN_IN):
        return "401"  # never a sign-in page with status 200
    if rule.right == "nothing":
        return "login" if name == "logout" else "in"
    if is_nobody or rule.right == "agent":
        return "login" if is_page else "401"
    if who in MAY[rule.right]:
        return "in"
    if rule.right == "own over REST" and who.startswith("alice"):
        return "403"  # it is hers, but the token is too narrow
    is_hidden = who in STRANGERS or rule.right in ("own", "own over REST", "installation")
    return "404" if is_hidden else "403"


def check_markers(who: str, name: str, text: str) -> None:
    if name.startswith("share-") and name in {"share-view", "share-stream"}:
        assert SECRET not in text, f"{who} reads a secret of the project at {name}"
    elif who in STRANGERS | NOBODY and not (who == "adam" and name in ABOUT_ALL):
        assert OPEN not in text, f"{who} reads something of the project at {name}"
        assert SECRET not in text, f"{who} reads a secret of the project at {name}"


def test_the_table_knows_every_address():
    unknown = {route for route, name in all_addresses() if name not in TABLE}
    assert not unknown, f"Say in tests/access_table.py who may ask at {sorted(unknown)}."


def test_the_table_names_no_address_that_is_gone():
    assert set(TABLE) - set(ROUTES) == set()


def test_no_two_addresses_share_a_name():
    names = [name for _, name in all_addresses()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", sorted(set(TABLE) & set(ROUTES)))
def test_everybody_gets_what_the_table_says(world, name):
    for method, rule in TABLE[name].items():
        for who in sorted(EVERYBODY):
            response, text, written = ask(world, who, method, name, rule)
            wanted = expected(who, name, rule)
            got = verdict(response)
            assert got == wanted, f"{who}: {method} {name} is {got}, should be {wanted}: {text}"
            check_markers(who, name, text)
            if wanted != "in" or method == "GET":
                assert not written, f"{who}: {method} {name} writes {written}"


@pytest.mark.parametrize("name", sorted(set(TABLE) & set(ROUTES)))
def test_a_method_that_the_table_does_not_list_changes_nothing(world, name):
    rules = TABLE[name]
    first = next(iter(rules.values()), Rule("nothing"))
    for method in [method for method in METHODS if method not in rules]:
        for who in ("anonymous", "charlie", "alice", "alice's write token"):
            response, text, written = ask(world, who, method, name, first)
            assert not written, f"{who}: {method} {name} writes {written}"
            check_markers(who, name, text)
            if method not in {"HEAD", "OPTIONS"}:
                refused = verdict(response) != "in"
                may_read = expected(who, name, first) == "in"
                assert refused or may_read, f"{who}: {method} {name} lets them in"


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


def test_what_is_foreign_answers_as_what_never_was(world):
    for name in ("api-target", "api-plan", "api-campaign", "api-run", "api-run-seconds"):
        foreign = address(name, world, Rule("view"))
        never = re.sub(r"\d+(?=/)", "987654321", foreign.removeprefix("/api/v1"))
        client = world.client("charlie")
        assert client.get(foreign).content == client.get(f"/api/v1{never}").content

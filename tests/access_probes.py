"""A probe is one request of somebody, at an address, with a method, about a row; and its answer.

What is probed follows from the URL configuration; what must be answered follows from
tests/access_table.py alone.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

from django.conf import urls
from django.contrib import auth
from django.db import connection, transaction
from django.http import HttpResponseNotFound
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

from campaigns.accounts import tokens
from campaigns.campaigns.views.kept_pages import NOTHING
from campaigns.core import context
from campaigns.operations import views as health
from tests.access_table import MAY, NOBODY, PAGES, ROLES, STRANGERS, TABLE, Rule
from tests.access_world import DEAD_TOKENS, Rows, World
from tests.values import plan_spec

# Django's own site for staff: tests/access_admin.py.
ADMIN = "admin/"
# Pages whose answer, or the way on from it, is the sign-in page.
SIGN_IN = {"account_login", "account_logout"}
# Pages that lead who has not signed in to the sign-in page.
TO_SIGN_IN = {"account_logout", "mfa_authenticate", "mfa_login_webauthn"}
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
CSRF_TOKEN = re.compile(r'(name="csrfmiddlewaretoken" value=")\w+')
# What a request may write although it changes nothing: who was here, and when.
BOOKKEEPING = (
    *("django_session", "campaigns_sharelink", "campaigns_apitoken", "campaigns_lastseen"),
    *("auth_user", "axes_"),
)
WRITES = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM) "(\w+)"')
NEVER = 987_654_321
_NOT_DRAWN = mock.patch("django.template.backends.django.Template.render", return_value=NOTHING)


def all_addresses(patterns=None, before: str = "") -> Iterator[tuple[str, str | None]]:
    """(route, name) of every pattern, however deep."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if route.startswith(ADMIN):
            continue
        if isinstance(pattern, URLPattern):
            yield route, pattern.name
        else:
            yield from all_addresses(pattern.url_patterns, route)


ROUTES = {name: route for route, name in all_addresses()}


@contextmanager
def remembering() -> Iterator[None]:
    """Who a session or a live token belongs to, and what every page says of their projects, is read
    only once, and the page of what is not there drawn once for each of them and each cause: that
    would be half of what a refusal costs. Dead tokens are asked about every time. Where an address
    leads is found once for all who ask there.
    """
    users: dict[str | None, Any] = {}
    whose, projects, nothing = auth.get_user, context._projects_of, health._nothing_begins
    answers: dict[Any, Any] = {}
    live_tokens: dict[str, Any] = {}
    authenticate = tokens.authenticate_token

    def token_of(*, text: str):
        if text not in live_tokens and (token := authenticate(text=text)):
            live_tokens[text] = token
        return live_tokens.get(text)

    def user_of(request):
        key = request.COOKIES.get("sessionid")
        if key not in users:
            users[key] = whose(request)
        return users[key]

    def once(read):
        def reading(request):
            key = (read, request.user.pk)
            if key not in answers:
                answers[key] = read(request)
            return answers[key]

        return reading

    not_found, pages = urls.handler404, {}
    resolver = get_resolver()

    def not_found_once(request, exception):
        key = (request.user.pk, str(exception))
        if key not in pages:
            pages[key] = not_found(request, exception).content
        return HttpResponseNotFound(pages[key])

    with (
        mock.patch.object(resolver, "resolve", cache(resolver.resolve)),
        mock.patch.object(urls, "handler404", not_found_once),
        mock.patch.object(auth, "get_user", user_of),
        mock.patch.object(tokens, "authenticate_token", token_of),
        mock.patch.object(context, "_projects_of", once(projects)),
        mock.patch.object(health, "_nothing_begins", once(nothing)),
    ):
        yield


@dataclass(frozen=True)
class Request:
    """`thing`: whose row it is about, "own" (of alice's project), "foreign" (of charlie's) or
    "never" (there is no such row)."""

    who: str
    method: str
    name: str
    rule: Rule
    thing: str = "own"

    def __str__(self) -> str:
        return f"{self.who}: {self.method} {self.name} of a row that is {self.thing}"

    @property
    def is_page(self) -> bool:
        return self.name in PAGES


@dataclass(frozen=True)
class Answer:
    """`verdict` as verdict_of says it; `writes`: the tables that were written."""

    status: int
    verdict: str
    text: str
    writes: frozenset[str]


# From the fewest rights to the most.
OF_PAGES = tuple(ROLES)
OF_REST = ("alice's read token", "alice's run token", "alice's write token")


def requests_at(name: str) -> Iterator[Request]:
    """At an address with each method that it takes: nobody, a stranger, one role below the one that
    has the right, and that role. The stranger asks for a row that never was as well."""
    for method, rule in TABLE[name].items():
        is_page, ranks = name in PAGES, OF_PAGES if name in PAGES else OF_REST
        stranger = "charlie" if is_page else "charlie's write token"
        able = [who for who in (*ranks, "adam") if who in MAY[rule.right]]
        unable = [who for who in ranks if who not in MAY[rule.right]]
        for who in dict.fromkeys(("anonymous", stranger, *unable[-1:], *able[:1])):
            yield Request(who, method, name, rule)
        if names_rows(name, rule) and "token" not in ROUTES[name]:
            yield Request(stranger, method, name, rule, "never")


def names_rows(name: str, rule: Rule) -> bool:
    """Whether the address or the body says which row it is about."""
    first, other = (rule.body(rows_that_never_were(number)) for number in (1, 2))
    return "<" in ROUTES[name] or "comparison" in name or first != other


def unlisted_at(name: str) -> Iterator[Request]:
    """What would change something by a method that the table does not list; whoever has most rights
    asks."""
    rules = TABLE[name]
    first = next(iter(rules.values()), Rule("nothing"))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        if method not in rules:
            yield Request("alice" if name in PAGES else "alice's write token", method, name, first)


def table_verdict(request: Request) -> str:
    """What the table says: signing in comes before existing, existing before being allowed."""
    who, right, is_page = request.who, request.rule.right, request.is_page
    is_own = request.thing == "own"
    if is_page and who.endswith("token") and (right != "nothing" or request.name in SIGN_IN):
        return "401"  # never a sign-in page with status 200
    if who in DEAD_TOKENS and not is_page:
        return "401"  # also where no token is needed
    if right == "nothing":
        if request.name == "account_logout" or (request.name in TO_SIGN_IN and who in NOBODY):
            return "login"
        return "in" if is_own else "404"
    if who in NOBODY or who in DEAD_TOKENS:
        return "login" if is_page else "401"
    if not is_own:
        return "404"
    if who in MAY[right]:
        return "in"
    is_hidden = who in STRANGERS or right in ("own", "installation", "channel")
    return "404" if is_hidden else "403"


def rows_that_never_were(number: int = NEVER) -> Rows:
    return defaultdict(lambda: SimpleNamespace(pk=number, spec=plan_spec()))


def rows_of(world: World, thing: str) -> Rows:
    if thing == "never":
        return rows_that_never_were()
    return {"own": world.rows, "foreign": world.foreign}[thing]


def parameters_of(name: str, world: World, rule: Rule, rows: Rows) -> dict[str, str]:
    """What the address of these rows has for each of its parameters."""
    noun, other_nouns = name.removeprefix("api-").split("-")[0], dict(rule.rows)

    def value_of(parameter: str) -> str:
        key = noun if parameter == "pk" else parameter
        if key == "token" and noun == "share":
            link = "test" if name == "share-badge" else "campaign"
            return world.share_tokens[link] if rows is world.rows else "x" * 43
        return "1" if key == "number" else str(rows[other_nouns.get(key, key)].pk)

    return {parameter: value_of(parameter) for parameter in PARAMETER.findall(ROUTES[name])}


def address(name: str, world: World, rule: Rule, rows: Rows | None = None) -> str:
    """The address of a row of alice's project, or of these `rows`."""
    rows = world.rows if rows is None else rows
    values = parameters_of(name, world, rule, rows)
    path = "/" + PARAMETER.sub(lambda match: values[match[1]], ROUTES[name])
    if "comparison" in name:
        path += f"?a=run-{rows['run'].pk}&b=campaign-{rows['campaign'].pk}"
    return path


def ask(world: World, request: Request) -> Answer:
    """The answer; then all is as before."""
    rows = rows_of(world, request.thing)
    path, body = address(request.name, world, request.rule, rows), request.rule.body(rows)
    is_let_in = table_verdict(request) == "in"
    may_write = is_let_in or request.name in SIGN_IN
    drawing = nullcontext() if not is_let_in or _is_drawn(request) else _NOT_DRAWN
    with drawing:
        return send(world, request.who, request.method, path, body, request.is_page, may_write)


def _is_drawn(request: Request) -> bool:
    """Of the members whom a page lets in, the one with the fewest rights gets all of its HTML."""
    members = [who for who in ROLES if who in MAY[request.rule.right]]
    is_listed = request.method in TABLE[request.name]
    return request.who not in ROLES or (is_listed and request.who == members[0])


def send(
    world: World,
    who: str,
    method: str,
    path: str,
    body: dict[str, Any],
    is_page: bool = True,
    may_write: bool = True,
) -> Answer:
    """Ask with this body: pages get forms, the API JSON. What may write is undone; to undo
    what writes nothing would take a fifth of the time."""
    sent: dict[str, Any] = {}
    if method in {"POST", "PUT", "PATCH"} and not is_page:
        sent = {"data": body, "content_type": "application/json"}
    elif method == "POST":
        sent = {"data": body}
    tables: set[str] = set()

    def note(execute, sql, *context):
        if isinstance(sql, str) and (match := WRITES.match(sql)):
            tables.add(match[1])
        return execute(sql, *context)

    client = world.client(who)
    with transaction.atomic() if may_write else nullcontext(), connection.execute_wrapper(note):
        response = getattr(client, method.lower())(path, **sent)
        text = b"".join(response).decode(errors="replace")
        if may_write:
            transaction.set_rollback(True)
    writes = frozenset(table for table in tables if not table.startswith(BOOKKEEPING))
    text = CSRF_TOKEN.sub(r"\1", text)
    return Answer(response.status_code, verdict_of(response), text, writes)


def verdict_of(response) -> str:
    """in, login, home (the index of the staff's site), 401, 403, 404 or 405."""
    if response.status_code == 302:
        path = response["Location"].partition("?")[0]
        return {"/login/": "login", "/admin/login/": "login", "/admin/": "home"}.get(path, "in")
    if response.status_code in {401, 403, 404, 405}:
        return str(response.status_code)
    assert response.status_code < 500, response.content
    return "in"

"""Django's own site for staff: its addresses, as URLs name them, and who may ask there."""

import re
from collections.abc import Iterator

from django.contrib import admin
from django.urls.resolvers import URLPattern

# sam is staff and has been given no right, ruth is staff and a superuser; adam, who administers
# the installation, is not staff.
STAFF = {"sam", "ruth"}
# What everybody has who is staff: their own password, the index of nothing.
ANY_STAFF = {"index", "jsi18n", "password_change", "password_change_done"}
_PARAMETER = re.compile(r"<\w+:\w+>|<\w+>")
_APPS = re.compile(r"\^?\(\?P<app_label>(\w+)[^)]*\)/\$")
# The index again of rows that never were, 404 of the way to one on the site.
_READ = {"in", "home", "404"}
_ANYTHING = "(?P<url>.*)$"


def admin_addresses(patterns=None, before: str = "/admin/") -> Iterator[tuple[str, str]]:
    """(path, name) of every pattern; parameters are the number of a row that never was."""
    for pattern in admin.site.urls[0] if patterns is None else patterns:
        route = str(pattern.pattern).replace(_ANYTHING, "nothing/here/")
        path = before + _PARAMETER.sub("987654321", _APPS.sub(r"\1/", route))
        if isinstance(pattern, URLPattern):
            yield path, pattern.name or path
        else:
            yield from admin_addresses(pattern.url_patterns, path)


def admin_requests() -> Iterator[tuple[str, str, str, str]]:
    """(who, method, path, name); a superuser only reads, what is changed there is Django's."""
    for path, name in admin_addresses():
        for who in ("alice", "alice's write token", "anonymous", "ruth", "sam"):
            yield who, "GET", path, name
            if who != "ruth":
                yield who, "POST", path, name


def admin_verdicts(who: str, name: str) -> set[str]:
    """The verdicts that are right."""
    if name == "logout":
        return {"login", "405"} if who in STAFF else {"home", "401"}
    if who.endswith("token"):
        return {"401"}
    if name == "login":
        return {"home"} if who in STAFF else {"login"} if who == "anonymous" else {"in"}
    if who not in STAFF:
        return {"login"}
    if name in ANY_STAFF:
        return {"in", "405"}
    if name.endswith("/"):
        return {"in", "404"}  # without a name: the way to another address, or nothing
    if name == "autocomplete":
        return {"403", "405"}  # of nothing
    if who == "ruth":
        # What the guard against guessed passwords noted cannot be added to.
        return {"403"} if name.startswith("axes_") and name.endswith("_add") else _READ
    # Django says of a row that never was where its history would be: back to the index.
    return {"403", "404", "home"} if name.endswith("_history") else {"403", "404"}

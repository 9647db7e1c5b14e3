"""Rows that are dear to make, once for all tests of a file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType

import pytest
from django.core.cache import caches
from django.db import transaction

from campaigns.core.cache import Cache


@pytest.fixture(scope="module")
def rows_of_the_file(django_db_setup, django_db_blocker) -> Iterator[None]:
    """A transaction around the tests of a file. What a fixture of the file makes in it, each of
    them finds as it was: a test's own changes are undone by a savepoint, for which what gives it
    the rows asks for `db`. `now()` stands still.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def undone() -> Iterator[None]:
    """What a case of a table writes is undone before the next one."""
    forget()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def forget() -> None:
    """As in a process that has just started: of rows that were changed by hand, and whose change
    was undone, pages may remember either."""
    for module, name in _names_of_caches(len(sys.modules)):
        getattr(module, name)._entries.clear()
    for name in caches.settings:
        caches[name].clear()


@cache
def _names_of_caches(_n_modules: int) -> list[tuple[ModuleType, str]]:
    """Looked for again where a module has been loaded since: to look at each name of each module
    took longer than many a page."""
    modules = [each for name, each in sys.modules.items() if name.startswith("campaigns.")]
    return [
        (module, name)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Cache)
    ]

"""Every page and every address of the REST API takes as many statements for 200 of everything as
for one: of campaigns, tests, runs and what they have, of plans, targets, people, marks …

An address that is new is asked here by itself; so is a table whose rows nobody multiplies.
"""

import re
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.access_probes import address
from tests.access_table import TABLE
from tests.access_world import World, make_world
from tests.grown_world import add_what_is_missing, grow, too_few
from tests.kept_rows import forget

pytestmark = [pytest.mark.django_db, pytest.mark.long]
ASKED = sorted(name for name, methods in TABLE.items() if "GET" in methods)
# The statements that an address may take more, and what for.
_BATCHES = "a hundred runs at a time, so that a slow reader holds no more of them"
_CROWDED = "charts of many tests name first what changed, and the runs fill a page"
_COUNTED = "rows are counted where a page does not have them all"
_LATER = "a stream looks again at what it read a second ago"
MORE: dict[str, tuple[int, str]] = {
    "campaign-csv": (6, _BATCHES),
    "api-campaign-csv": (6, _BATCHES),
    "run-list-csv": (34, _BATCHES),
    "api-run-list-csv": (35, _BATCHES),
    "schedule-list": (7, f"{_COUNTED}; its only campaign has not ended: no result is read"),
    "run-list": (1, _COUNTED),
    "mark-list": (1, _COUNTED),
    "triage-list": (1, _COUNTED),
    "audit": (1, _COUNTED),
    "audit-all": (1, _COUNTED),
    "user-list": (1, _COUNTED),
    "history-test": (1, _COUNTED),
    "campaign-detail": (4, f"{_CROWDED}, {_COUNTED}, and a large page is kept for others"),
    "share-view": (5, _CROWDED),
    "project-list": (3, "who has one project is led to it"),
    "run-stream": (4, _LATER),
    "campaign-stream": (4, _LATER),
}
_WRITES = ("UPDATE", "INSERT", "SAVEPOINT", "RELEASE")
_VALUES = re.compile(r"'[^']*'|\b\d+\b|(?:\?, )+")


def statements(world: World, name: str) -> Counter[str]:
    """How often a process that has kept nothing sends each of them, whatever their values."""
    forget()
    rule = TABLE[name]["GET"]
    is_api = name.startswith("api-")
    who = "adam" if rule.right == "installation" else "alice"
    client = world.client("alice's write token" if is_api else who)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address(name, world, rule))
        b"".join(answer)
    assert answer.status_code in {200, 302}, f"{name}: {answer.status_code}"
    # What is written is who was here, and when, at most once in a minute.
    reads = (each["sql"] for each in queries if not each["sql"].startswith(_WRITES))
    return Counter(_VALUES.sub("?", sql) for sql in reads)


@pytest.fixture(scope="module")
def one(rows_of_the_file) -> tuple[World, dict[str, Counter[str]]]:
    """The world, which has grown, and what each address took before."""
    world = make_world()
    add_what_is_missing(world)
    before = {name: statements(world, name) for name in ASKED}
    grow(world)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return world, before


def test_there_are_many_of_everything(one):
    assert too_few() == {}


def test_many_take_as_many_statements_as_one(one):
    world, before = one
    faults = []
    for name in ASKED:
        now, most = statements(world, name), MORE.get(name, (0, ""))[0]
        if now.total() > before[name].total() + most:
            more = [f"{n} × {sql[:300]}" for sql, n in (now - before[name]).most_common(8)]
            totals = f"{name}: {now.total()} statements, not {before[name].total()}, such as"
            faults += [totals, *more]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def test_what_may_take_more_is_asked():
    assert set(MORE) <= set(ASKED)
    assert all(why for _, why in MORE.values())

"""Whatever a program posts to a page's form, it gets an answer: never a server error."""

import pytest

from tests.access_probes import ROUTES, address, send
from tests.access_table import PAGES

pytestmark = pytest.mark.django_db
POSTED = sorted(name for name in set(PAGES) & set(ROUTES) if "POST" in PAGES[name])
# Fields of one's own words that a page takes, beside those in the table of access.
FREE = ("name", "tags", "note", "why", "link", "reason", "query", "text", "username")
# PostgreSQL refuses the one, and Python reads no number of so many digits.
JUNK = {"NUL": "a\0b", "a long number": "9" * 5000}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("name", POSTED)
def test_what_cannot_be_stored_is_answered(world, name, junk):
    rule = PAGES[name]["POST"]
    who = "adam" if rule.right == "installation" else "alice"
    path, body = address(name, world, rule), rule.body(world.rows)
    for fields in [*((field,) for field in body), FREE]:
        answer = send(world, who, "POST", path, {**body, **dict.fromkeys(fields, junk)})
        assert answer.status < 500

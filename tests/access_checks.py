"""What is held to tests/access_table.py at an address, and the world in which it is asked.

The REST API has a file of tests of its own, so that the workers of a run share the requests.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from campaigns.rest import schema
from tests.access_probes import (
    ROUTES,
    Answer,
    Request,
    ask,
    remembering,
    requests_at,
    table_verdict,
    unlisted_at,
)
from tests.access_table import NOBODY, STRANGERS
from tests.access_world import DEAD_TOKENS, FOREIGN, OPEN, SECRET, World, add_other_rows, make_world

# Pages of administrators, which name projects and campaigns and show nothing of their results.
ABOUT_ALL = {"load", "caps", "caps-edit", "storage", "ownership", "audit-all", "audit-all-csv"}
# Where alice is nobody, whatever she asks.
DEAF = {"api-nothing-here"}
Statuses = dict[tuple[str, str], set[int]]


@pytest.fixture(scope="module")
def world(rows_of_the_file) -> Iterator[World]:
    """Made once; every request is undone, so that each finds it as it was."""
    with remembering():
        world = make_world()
        add_other_rows(world)
        yield world


@pytest.fixture(scope="module")
def schema_statuses() -> Statuses:
    """The statuses that the API's schema tells, by address and method."""
    paths = json.loads(schema.described())["paths"]
    return {
        (re.sub(r"{\w+}", "{}", path), method.upper()): {
            int(each) for each in operation["responses"]
        }
        for path, operations in paths.items()
        for method, operation in operations.items()
    }


def check_markers(request: Request, text: str) -> None:
    who, name = request.who, request.name
    if request.thing == "foreign":
        assert FOREIGN not in text, f"{request}: shows something of it"
    if name in {"share-view", "share-csv", "share-stream", "share-badge", "invitation-accept"}:
        assert SECRET not in text, f"{request}: shows a secret of the project"
    elif who in STRANGERS | NOBODY | DEAD_TOKENS and not (who == "adam" and name in ABOUT_ALL):
        assert OPEN not in text, f"{request}: shows something of the project"
        assert SECRET not in text, f"{request}: shows a secret of the project"


def check_everybody(world: World, schema_statuses: Statuses, name: str) -> None:
    """Everybody gets what the table says, and cannot tell apart what they may not see."""
    refusals: dict[tuple[str, str], dict[str, Answer]] = defaultdict(dict)
    for request in requests_at(name):
        answer, verdict = ask(world, request), table_verdict(request)
        assert answer.verdict == verdict, f"{request}: is {answer.verdict}, not {verdict}: {answer}"
        # What is told of this address; anything of what is not described.
        path = "/" + re.sub(r"<[^>]+>", "{}", ROUTES[request.name])
        statuses = schema_statuses.get((path, request.method), set(range(600)))
        assert answer.status in statuses, f"{request}: {answer.status} is not in the API's schema"
        check_markers(request, answer.text)
        if verdict != "in" or request.method == "GET":
            assert not answer.writes, f"{request}: writes {answer.writes}"
        if verdict == "404":
            refusals[request.method, request.who][request.thing] = answer
    for who, answers in refusals.items():
        assert len({answer.text for answer in answers.values()}) == 1, (
            f"{who} can tell at {name} which of these rows there are: {answers}"
        )


def check_other_methods(world: World, name: str) -> None:
    """A method that would change something and is not listed is verdicts, and changes nothing."""
    for request in unlisted_at(name):
        answer = ask(world, request)
        if request.name not in DEAF:
            verdicts = {"405", "404"} if request.rule.right == "installation" else {"405"}
            assert answer.verdict in verdicts, f"{request}: is {answer.verdict}, not {verdicts}"
        assert not answer.writes, f"{request}: writes {answer.writes}"

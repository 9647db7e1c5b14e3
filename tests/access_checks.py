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
    Asked,
    ask,
    asked_at,
    expected,
    remembered,
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
    with remembered():
        world = make_world()
        add_other_rows(world)
        yield world


@pytest.fixture(scope="module")
def described() -> Statuses:
    """The statuses that the API's schema tells, by address and method."""
    paths = json.loads(schema.described())["paths"]
    return {
        (re.sub(r"{\w+}", "{}", path), method.upper()): {int(each) for each in told["responses"]}
        for path, operations in paths.items()
        for method, told in operations.items()
    }


def check_markers(asked: Asked, text: str) -> None:
    who, name = asked.who, asked.name
    if asked.thing == "foreign":
        assert FOREIGN not in text, f"{asked}: shows something of it"
    if name in {"share-view", "share-csv", "share-stream", "share-badge", "invitation-accept"}:
        assert SECRET not in text, f"{asked}: shows a secret of the project"
    elif who in STRANGERS | NOBODY | DEAD_TOKENS and not (who == "adam" and name in ABOUT_ALL):
        assert OPEN not in text, f"{asked}: shows something of the project"
        assert SECRET not in text, f"{asked}: shows a secret of the project"


def check_everybody(world: World, described: Statuses, name: str) -> None:
    """Everybody gets what the table says, and cannot tell apart what they may not see."""
    refusals: dict[tuple[str, str], dict[str, Answer]] = defaultdict(dict)
    for asked in asked_at(name):
        answer, wanted = ask(world, asked), expected(asked)
        assert answer.verdict == wanted, f"{asked}: is {answer.verdict}, not {wanted}: {answer}"
        # What is told of this address; anything of what is not described.
        path = "/" + re.sub(r"<[^>]+>", "{}", ROUTES[asked.name])
        told = described.get((path, asked.method), set(range(600)))
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


def check_other_methods(world: World, name: str) -> None:
    """A method that would change something and is not listed is refused, and changes nothing."""
    for asked in unlisted_at(name):
        answer = ask(world, asked)
        if asked.name not in DEAF:
            refused = {"405", "404"} if asked.rule.right == "installation" else {"405"}
            assert answer.verdict in refused, f"{asked}: is {answer.verdict}, not {refused}"
        assert not answer.written, f"{asked}: writes {answer.written}"

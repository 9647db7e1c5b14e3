"""To confirm a difference: a new campaign in which both sides run in turn, as far as they can still
be run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.models import Campaign, Project, Test
from campaigns.permissions import Actor

MIN_BLOCKS = 5
MOST_PAIRS = 20
_PAIR = re.compile(r"([1-9][0-9]{0,17})-([1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the form of a new campaign starts with. `versions` are the plan versions of its cells,
    `stored` the tests that can only be compared with the runs that there are."""

    campaign: Campaign
    name: str
    ticks: tuple[str, ...]
    versions: tuple[int, ...]
    repeats: int
    injectors: tuple[int, ...]
    n_in_turn: int
    stored: tuple[Test, ...]
    left_out: tuple[str, ...]  # sentences


def confirm_query(pairs: Sequence[tuple[int, int]]) -> str:
    """The value of `confirm` in an address: 34-56,35-57, each the old test and the new one."""
    return ",".join(f"{old}-{new}" for old, new in pairs[:MOST_PAIRS])


def confirmation_of(actor: Actor, project: Project, asked: str) -> Confirmation | None:
    """None if `asked` names no tests of this project that the actor sees."""
    pairs = [_PAIR.fullmatch(each) for each in asked.split(",")[:MOST_PAIRS]]
    if None in pairs:
        return None
    numbers = [(int(pair[1]), int(pair[2])) for pair in pairs]
    related = ("plan_version__plan", "endpoint__target", "campaign")
    tests = (
        Test.objects.visible_to(actor)
        .filter(campaign__project=project)
        .select_related(*related)
        .in_bulk({pk for pair in numbers for pk in pair})
    )
    if any(pk not in tests for pair in numbers for pk in pair):
        return None
    return _confirmation([(tests[old], tests[new]) for old, new in numbers])


def _confirmation(pairs: Sequence[tuple[Test, Test]]) -> Confirmation:
    cells: dict[str, Test] = {}
    stored, left_out, n_in_turn = [], [], 0
    for old, new in pairs:
        if not _can_run(new):
            left_out.append(f"{new} is left out: its plan or endpoint is archived.")
            continue
        cells[_key(new)] = new
        if _key(old) != _key(new) and _can_run(old):
            cells[_key(old)] = old
            n_in_turn += 1
        else:
            stored.append(old)
    newest = pairs[0][1].campaign
    return Confirmation(
        campaign=newest,
        name=f"Confirm {newest.name}"[:150],
        ticks=tuple(cells),
        versions=tuple({test.plan_version_id for test in cells.values()}),
        repeats=max(MIN_BLOCKS, newest.repeats),
        injectors=tuple(sorted({test.injectors for test in cells.values()})) or (1,),
        n_in_turn=n_in_turn,
        stored=tuple(stored),
        left_out=tuple(left_out),
    )


def _key(test: Test) -> str:
    return f"{test.plan_version_id}.{test.endpoint_id}.{test.connection_mode}"


def _can_run(test: Test) -> bool:
    endpoint = test.endpoint
    parts = (test.plan_version.plan, endpoint, endpoint.target)
    return not any(each.archived_at for each in parts)

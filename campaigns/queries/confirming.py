"""To confirm a difference: a new campaign in which both sides run in turn, as far as they can still
be run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.models import Campaign, Project, Test
from campaigns.permissions import Actor
from campaigns.queries.references import references_of

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
    in_turn: tuple[tuple[str, str], ...]  # the cells of the old side and of the new one
    stored: tuple[Test, ...]
    left_out: tuple[str, ...]  # sentences


def sides_in(campaign: Campaign, confirm: Confirmation) -> tuple[int, int] | None:
    """The tests of the campaign (old, new) that a single pair has become; None without one."""
    tests = {_key(test): test.pk for test in campaign.tests.all()}
    if len(confirm.in_turn) != 1 or not tests.keys() >= set(confirm.in_turn[0]):
        return None
    old, new = confirm.in_turn[0]
    return tests[old], tests[new]


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
    stored, left_out, in_turn = [], [], []
    for old, new in pairs:
        if not _can_run(new):
            why = "it is a point of a sweep" if new.swept else "its plan or endpoint is archived"
            left_out.append(f"{new} is left out: {why}.")
            continue
        cells[_key(new)] = new
        if _key(old) != _key(new) and _can_run(old):
            cells[_key(old)] = old
            in_turn.append((_key(old), _key(new)))
        else:
            stored.append(old)
    newest = pairs[0][1].campaign
    if stored:
        cells |= {_key(test): test for test in references_of(newest) if _can_run(test)}
    return Confirmation(
        campaign=newest,
        name=f"Confirm {newest.name}"[:150],
        ticks=tuple(cells),
        versions=tuple({test.plan_version_id for test in cells.values()}),
        repeats=max(MIN_BLOCKS, newest.repeats),
        injectors=tuple(sorted({test.injectors for test in cells.values()})) or (1,),
        in_turn=tuple(in_turn),
        stored=tuple(stored),
        left_out=tuple(left_out),
    )


def _key(test: Test) -> str:
    return f"{test.plan_version_id}.{test.endpoint_id}.{test.connection_mode}"


def _can_run(test: Test) -> bool:
    endpoint = test.endpoint
    parts = (test.plan_version.plan, endpoint, endpoint.target)
    return not test.swept and not any(each.archived_at for each in parts)

"""Tests of a reference: measured in each block to tell the targets from the environment. Checks no
permissions: callers pass rows found with visible_to. To confirm a difference: a new campaign in
which both sides run in turn, as far as they can still be run."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from campaigns.compare.queries.columns import ComparisonSide, key_of, sides_of
from campaigns.compare.queries.compared_facts import compared_pair
from campaigns.core.permissions import Actor
from campaigns.domain.analysis.likeness import partners
from campaigns.domain.plan.addresses import is_address, parse_networks, vet
from campaigns.domain.plan.plan import REFERENCE_PLAN
from campaigns.domain.presentation.compared import ReferenceState, reference_of
from campaigns.domain.typed_text import REFERENCE_TAG
from campaigns.domain.units import ms
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, SavedPlan, Test, TestFigures

_SINCE = {
    ReferenceState.UNMOVED: ", as before",
    ReferenceState.MOVED: ", no longer as before: the environment has changed",
    ReferenceState.UNSURE: ", perhaps not as before",
}


def why_no_reference() -> str:
    """Why campaigns of this installation cannot measure its own target; "" if they can. A name is
    looked up and checked when a run starts, like that of any target."""
    own = settings.REFERENCE_TARGET
    if own is None:
        return (
            "This installation has no reference: its administrator can set "
            "BENCHSITE_REFERENCE_TARGET to the address of the bundled target."
        )
    networks = parse_networks(settings.ALLOWED_NETWORKS)
    host, port = own["host"], own["port"]
    return (vet(host, port, networks) or "") if is_address(host) else ""


def reference_endpoint(project: Project) -> Endpoint | None:
    """The installation's own target, if the project has it as a reference."""
    of_project = Endpoint.objects.filter(target__project=project, archived_at=None)
    candidates = of_project.filter(target__archived_at=None, target__tags__contains=[REFERENCE_TAG])
    own = settings.REFERENCE_TARGET or {"scheme": ""}
    return candidates.filter(**own).select_related("target").order_by("pk").first()


def reference_version(project: Project) -> PlanVersion | None:
    """The plan of the project's reference, as long as nobody has edited it."""
    plans = SavedPlan.objects.filter(project=project, archived_at=None)
    for plan in plans.filter(tags__contains=[REFERENCE_TAG]).order_by("pk"):
        latest = plan.latest
        if latest.spec == REFERENCE_PLAN.to_json():
            return latest
    return None


def has_own_reference(campaign: Campaign) -> bool:
    """Whether the installation's own target is among what it measures."""
    version, endpoint = reference_version(campaign.project), reference_endpoint(campaign.project)
    return campaign.tests.filter(plan_version=version, endpoint=endpoint).exists()


def have_history(cells: Iterable[tuple[PlanVersion, Endpoint, str]]) -> bool:
    """Whether any of these was measured in a campaign that has ended."""
    keys = {(version.plan_id, endpoint.pk, str(mode)) for version, endpoint, mode in cells}
    rows = TestFigures.objects.outside_trash().filter(
        plan__in={plan for plan, _, _ in keys},
        endpoint__in={endpoint for _, endpoint, _ in keys},
        campaign__finished_at__isnull=False,
    )
    return not keys.isdisjoint(rows.values_list("plan", "endpoint", "connection_mode"))


def references_of(campaign: Campaign) -> list[Test]:
    """The campaign's tests of targets with the tag `reference`, in their order."""
    return _references_of({campaign.pk})[campaign.pk]


def _references_of(campaigns: Collection[int]) -> dict[int, list[Test]]:
    references: dict[int, list[Test]] = {pk: [] for pk in campaigns}
    tests = Test.objects.filter(
        campaign__in=campaigns, endpoint__target__tags__contains=[REFERENCE_TAG]
    )
    relations = ("plan_version__plan", "endpoint__target", "campaign")
    for test in tests.select_related(*relations).order_by("-campaign_id", "position"):
        references[test.campaign_id].append(test)
    return references


def references_between(
    campaigns: Iterable[tuple[int, int]],
) -> dict[tuple[int, int], ReferenceState | None]:
    """What became of the reference from one campaign to another, for each two of them; None if not
    both measured it. In a fixed number of queries."""
    pks = set(campaigns)
    tests = _references_of({pk for both in pks for pk in both})
    pairs = {}
    for both in pks:
        earlier, later = (tests[pk] for pk in both)
        places = partners(list(map(key_of, earlier)), list(map(key_of, later)))
        pairs[both] = [(earlier[old], later[new]) for old, new in places]
    test_by_pk = {test.pk: test for some in pairs.values() for pair in some for test in pair}
    columns = [ComparisonSide("", "test", test) for test in test_by_pk.values()]
    sides = dict(zip(test_by_pk, sides_of(columns) if columns else [], strict=True))
    return {
        both: reference_of([compared_pair(sides[old.pk], sides[new.pk]) for old, new in some])
        for both, some in pairs.items()
    }


def reference_sentence(campaign: Campaign) -> str:
    """Such as "Reference: 0.42 ms, as before"; "" without a reference, or until it was measured.
    Before is the newest earlier campaign that measured the same."""
    tests = references_of(campaign)
    if not tests or len(tests) == campaign.tests.count():
        return ""
    rows = TestFigures.objects.in_bulk([test.pk for test in tests])
    means = [
        sum(rows[test.pk].mean_us) / len(rows[test.pk].mean_us)
        for test in tests
        if test.pk in rows and rows[test.pk].mean_us
    ]
    if not means:
        return "Reference: none of its runs counts" if campaign.finished_at else ""
    text = ", ".join(ms(mean) for mean in means)
    state = None
    if campaign.finished_at:
        test = tests[0]
        same = TestFigures.objects.outside_trash().filter(
            plan=test.plan_version.plan_id,
            endpoint=test.endpoint_id,
            connection_mode=test.connection_mode,
            injectors=test.injectors,
            started_at__lt=campaign.started_at,
            campaign__finished_at__isnull=False,
        )
        newest = same.exclude(mean_us=[]).order_by("-started_at", "-pk")
        if before := newest.values_list("campaign", flat=True).first():
            both = (before, campaign.pk)
            state = references_between([both])[both]
    return f"Reference: {text}{_SINCE.get(state, '')}"


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
    tests = {_cell_key(test): test.pk for test in campaign.tests.all()}
    if len(confirm.in_turn) != 1 or not tests.keys() >= set(confirm.in_turn[0]):
        return None
    old, new = confirm.in_turn[0]
    return tests[old], tests[new]


def confirm_query(pairs: Sequence[tuple[int, int]]) -> str:
    """The value of `confirm` in an address: 34-56,35-57, each the old test and the new one."""
    return ",".join(f"{old}-{new}" for old, new in pairs[:MOST_PAIRS])


def confirmation_of(actor: Actor, project: Project, text: str) -> Confirmation | None:
    """None if `asked` names no tests of this project that the actor sees."""
    pairs = [_PAIR.fullmatch(each) for each in text.split(",")[:MOST_PAIRS]]
    if None in pairs:
        return None
    numbers = [(int(pair[1]), int(pair[2])) for pair in pairs]
    relations = ("plan_version__plan", "endpoint__target", "campaign")
    tests = (
        Test.objects.visible_to(actor)
        .filter(campaign__project=project)
        .select_related(*relations)
        .in_bulk({pk for pair in numbers for pk in pair})
    )
    if any(pk not in tests for pair in numbers for pk in pair):
        return None
    return _confirmation([(tests[old], tests[new]) for old, new in numbers])


def _confirmation(pairs: Sequence[tuple[Test, Test]]) -> Confirmation:
    cells: dict[str, Test] = {}
    only_in_store, left_out, in_turn = [], [], []
    for old, new in pairs:
        if not _can_run(new):
            why = "it is a point of a sweep" if new.swept else "its plan or endpoint is archived"
            left_out.append(f"{new} is left out: {why}.")
            continue
        cells[_cell_key(new)] = new
        if _cell_key(old) != _cell_key(new) and _can_run(old):
            cells[_cell_key(old)] = old
            in_turn.append((_cell_key(old), _cell_key(new)))
        else:
            only_in_store.append(old)
    newest = pairs[0][1].campaign
    if only_in_store:
        cells |= {_cell_key(test): test for test in references_of(newest) if _can_run(test)}
    return Confirmation(
        campaign=newest,
        name=f"Confirm {newest.name}"[:150],
        ticks=tuple(cells),
        versions=tuple({test.plan_version_id for test in cells.values()}),
        repeats=max(MIN_BLOCKS, newest.repeats),
        injectors=tuple(sorted({test.injectors for test in cells.values()})) or (1,),
        in_turn=tuple(in_turn),
        stored=tuple(only_in_store),
        left_out=tuple(left_out),
    )


def _cell_key(test: Test) -> str:
    return f"{test.plan_version_id}.{test.endpoint_id}.{test.connection_mode}"


def _can_run(test: Test) -> bool:
    endpoint = test.endpoint
    parts = (test.plan_version.plan, endpoint, endpoint.target)
    return not test.swept and not any(each.archived_at for each in parts)

"""Tests of a reference: measured in each block to tell the targets from the environment. Checks no
permissions: callers pass rows found with visible_to."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from django.conf import settings

from campaigns.domain.judged.pairing import partners
from campaigns.domain.plan.addresses import is_address, parse_networks, vet
from campaigns.domain.plan.reference import REFERENCE_PLAN
from campaigns.domain.shown.compared import ReferenceState, reference_of
from campaigns.domain.tags import REFERENCE_TAG
from campaigns.domain.units import ms
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, SavedPlan, Test, TestFigures
from campaigns.queries.columns import ComparisonSide, key_of, sides_of
from campaigns.queries.compared_tests import compared_pair

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
    tagged = of_project.filter(target__archived_at=None, target__tags__contains=[REFERENCE_TAG])
    own = settings.REFERENCE_TARGET or {"scheme": ""}
    return tagged.filter(**own).select_related("target").order_by("pk").first()


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
    wanted = {(version.plan_id, endpoint.pk, str(mode)) for version, endpoint, mode in cells}
    rows = TestFigures.objects.filter(
        plan__in={plan for plan, _, _ in wanted},
        endpoint__in={endpoint for _, endpoint, _ in wanted},
        campaign__finished_at__isnull=False,
    )
    return not wanted.isdisjoint(rows.values_list("plan", "endpoint", "connection_mode"))


def references_of(campaign: Campaign) -> list[Test]:
    """The campaign's tests of targets with the tag `reference`, in their order."""
    return _references_of({campaign.pk})[campaign.pk]


def _references_of(campaigns: Collection[int]) -> dict[int, list[Test]]:
    found: dict[int, list[Test]] = {pk: [] for pk in campaigns}
    tests = Test.objects.filter(
        campaign__in=campaigns, endpoint__target__tags__contains=[REFERENCE_TAG]
    )
    related = ("plan_version__plan", "endpoint__target", "campaign")
    for test in tests.select_related(*related).order_by("-campaign_id", "position"):
        found[test.campaign_id].append(test)
    return found


def references_between(
    campaigns: Iterable[tuple[int, int]],
) -> dict[tuple[int, int], ReferenceState | None]:
    """What became of the reference from one campaign to another, for each two of them; None if not
    both measured it. In a fixed number of queries."""
    asked = set(campaigns)
    tests = _references_of({pk for both in asked for pk in both})
    pairs = {both: list(_pairs(*(tests[pk] for pk in both))) for both in asked}
    compared = {test.pk: test for some in pairs.values() for pair in some for test in pair}
    columns = [ComparisonSide("", "test", test) for test in compared.values()]
    sides = dict(zip(compared, sides_of(columns) if columns else [], strict=True))
    return {
        both: reference_of([compared_pair(sides[old.pk], sides[new.pk]) for old, new in some])
        for both, some in pairs.items()
    }


def _pairs(earlier: Sequence[Test], later: Sequence[Test]) -> Iterator[tuple[Test, Test]]:
    for first, second in partners(*(list(map(key_of, side)) for side in (earlier, later))):
        yield earlier[first], later[second]


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
    said = ", ".join(ms(mean) for mean in means)
    before = _before(campaign, tests[0]) if campaign.finished_at else None
    both = (before, campaign.pk)
    state = references_between([both])[both] if before else None
    return f"Reference: {said}{_SINCE.get(state, '')}"


def _before(campaign: Campaign, test: Test) -> int | None:
    same = TestFigures.objects.filter(
        plan=test.plan_version.plan_id,
        endpoint=test.endpoint_id,
        connection_mode=test.connection_mode,
        injectors=test.injectors,
        started_at__lt=campaign.started_at,
        campaign__finished_at__isnull=False,
    ).exclude(mean_us=[])
    return same.order_by("-started_at", "-pk").values_list("campaign", flat=True).first()

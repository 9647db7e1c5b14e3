"""What a new campaign can measure: plans × endpoints × connection modes of a project, what its form
proposes of these, which of them were used last, and what it takes to run a campaign again."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from django.db.models import Prefetch, Q

from campaigns.campaigns.queries.cells import sweep_of
from campaigns.campaigns.queries.references import has_own_reference, reference_version
from campaigns.domain.errors import InvalidPlan
from campaigns.domain.metrics.outcomes import CLIENT_KINDS
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.sweep import Sweep
from campaigns.domain.plan.target import TLS_TWINS, WEBSOCKET_SCHEMES
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.typed_text import next_name
from campaigns.models import (
    Campaign,
    Endpoint,
    PlanVersion,
    Probe,
    Project,
    SavedPlan,
    Target,
    Test,
)

_MODES = {
    "http": (ConnectionMode.NEW, ConnectionMode.KEEP_ALIVE),
    "https": (ConnectionMode.NEW, ConnectionMode.RESUMED, ConnectionMode.KEEP_ALIVE),
    "ws": (ConnectionMode.NEW,),
    "wss": (ConnectionMode.NEW, ConnectionMode.RESUMED),
}
_RECENT = 50  # campaigns in which plans and targets count as used last


@dataclass(frozen=True, slots=True)
class Arm:
    endpoint: Endpoint
    mode: ConnectionMode

    @property
    def key(self) -> str:
        return f"{self.endpoint.pk}.{self.mode}"

    @property
    def is_websocket(self) -> bool:
        return self.endpoint.scheme in WEBSOCKET_SCHEMES


@dataclass(frozen=True, slots=True)
class GridPlan:
    version: PlanVersion
    plan: Plan

    @property
    def words(self) -> str:
        """GET /v1/prices · 1,000 requests/s"""
        steps = self.plan.steps
        begin = steps[0].label if steps else "WebSocket"
        more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
        return f"{begin}{more} · {plan_load_words(self.plan)}"

    @property
    def is_websocket(self) -> bool:
        return self.plan.exchange is not None

    def fits(self, arm: Arm) -> bool:
        """Whether the endpoint has the protocol that the plan needs, WebSocket or HTTP."""
        return self.is_websocket == arm.is_websocket


class Picks(NamedTuple):
    """What a form has of each picker, as its fields' values: keys as text. `left_out`: tests of
    their combinations that are not measured."""

    plans: Sequence[str] = ()
    targets: Sequence[str] = ()
    endpoints: Sequence[str] = ()
    modes: Sequence[str] = ()
    left_out: Sequence[str] = ()


class Cells(Mapping[str, tuple[GridPlan, Arm]]):
    """Every possible test by its key, in the order of the grid. They are many, plans × arms, so
    each is made when it is asked for."""

    def __init__(self, plans: Sequence[GridPlan], arms: Sequence[Arm]):
        self._plans = {str(plan.version.pk): plan for plan in plans}
        self._arms = {arm.key: arm for arm in arms}

    def __getitem__(self, key: str) -> tuple[GridPlan, Arm]:
        version, _, of_arm = key.partition(".")
        plan, arm = self._plans[version], self._arms[of_arm]
        if not plan.fits(arm):
            raise KeyError(key)
        return plan, arm

    def __iter__(self) -> Iterator[str]:
        arms = self._arms.values()
        return (
            f"{plan.version.pk}.{arm.key}"
            for plan in self._plans.values()
            for arm in arms
            if plan.fits(arm)
        )

    def __len__(self) -> int:
        arms = Counter(arm.is_websocket for arm in self._arms.values())
        return sum(arms[plan.is_websocket] for plan in self._plans.values())

    def combined(self, picks: Picks) -> list[str]:
        """All tests of the pickers, those that are left out too, in the order of the grid."""
        arms = [f"{endpoint}.{mode}" for endpoint in picks.endpoints for mode in picks.modes]
        return self.in_order({f"{plan}.{arm}" for plan in picks.plans for arm in arms})

    def in_order(self, keys: Collection[str]) -> list[str]:
        """Those of the keys that are a test's, in the order of the grid, each once."""
        plans, arms = ({key: n for n, key in enumerate(of)} for of in (self._plans, self._arms))

        def place(key: str) -> tuple[int, int]:
            version, _, arm = key.partition(".")
            return plans[version], arms[arm]

        return sorted({key for key in keys if key in self}, key=place)


class LastUse(NamedTuple):
    """A test of a campaign that was started lately."""

    plan: int
    target: int
    endpoint: int
    mode: str
    at: datetime


class LastReply(NamedTuple):
    """The latest single request to an endpoint; `error` is "" where it was answered."""

    at: datetime
    error: str


@dataclass(frozen=True)
class Grid:
    """Plans × arms of a project; each cell may become a test. `targets` are those of the arms;
    `answers` by endpoint."""

    project: Project
    plans: tuple[GridPlan, ...]
    targets: tuple[Target, ...]
    arms: tuple[Arm, ...]
    answers: Mapping[int, LastReply]

    @cached_property
    def cells(self) -> Cells:
        return Cells(self.plans, self.arms)

    @cached_property
    def used(self) -> list[LastUse]:
        """The newest campaign first; a reference has a tick of its own."""
        campaigns = Campaign.objects.outside_trash().filter(project=self.project)
        with_start = campaigns.filter(started_at__isnull=False)
        tests = Test.objects.filter(campaign__in=with_start.order_by("-pk").values("pk")[:_RECENT])
        columns = ("plan_version__plan", "endpoint__target", "endpoint", "connection_mode")
        rows = tests.order_by("-campaign", "position").values_list(*columns, "campaign__started_at")
        here = {each.pk for each in self.targets if not each.is_reference}
        return [use for use in map(LastUse._make, rows) if use.target in here]

    def endpoints_of(self, target: Target) -> list[Endpoint]:
        return list(
            dict.fromkeys(a.endpoint for a in self.arms if a.endpoint.target_id == target.pk)
        )

    def is_silent(self, endpoint: Endpoint) -> bool:
        return bool(endpoint.pk in self.answers and self.answers[endpoint.pk].error)

    @cached_property
    def recent_plans(self) -> list[GridPlan]:
        """Those used last first, then by name."""
        at = {use.plan: use.at.timestamp() for use in reversed(self.used)}
        return sorted(self.plans, key=lambda row: -at.get(row.version.plan_id, 0))

    @cached_property
    def measured_at(self) -> dict[int, datetime]:
        """When each target was measured last, by its key."""
        return {use.target: use.at for use in reversed(self.used)}

    @cached_property
    def recent_targets(self) -> list[Target]:
        at = {target: each.timestamp() for target, each in self.measured_at.items()}
        return sorted(self.targets, key=lambda each: -at.get(each.pk, 0))


def grid_of(project: Project, versions: Collection[int] = ()) -> Grid:
    """The latest version of each plan × each endpoint in each applicable connection mode. The plan
    of the project's reference has a tick of its own. `versions` are older ones that are wanted too.
    """
    live = Endpoint.objects.filter(archived_at=None)
    targets = [
        target
        for target in project.targets.filter(archived_at=None, is_kept=True).prefetch_related(
            Prefetch("endpoints", queryset=live, to_attr="live_endpoints")
        )
        if target.live_endpoints
    ]
    probes = Probe.objects.filter(endpoint__target__in=targets, finished_at__isnull=False)
    # What went wrong on our own side says nothing about the endpoint.
    probes = probes.exclude(result__error__in=list(CLIENT_KINDS))
    latest = probes.order_by("endpoint_id", "-pk").distinct("endpoint_id")
    answers = {
        probe.endpoint_id: LastReply(
            probe.finished_at, (probe.result or {"error": "none"}).get("error") or ""
        )
        for probe in latest.only("endpoint", "result", "finished_at")
    }
    arms = (
        Arm(endpoint, mode)
        for target in targets
        for endpoint in target.live_endpoints
        for mode in _MODES[endpoint.scheme]
    )
    return Grid(project, tuple(_plans(project, versions)), tuple(targets), tuple(arms), answers)


def _plans(project: Project, pks: Collection[int]) -> Iterator[GridPlan]:
    plans = SavedPlan.objects.filter(project=project, archived_at=None)
    versions = PlanVersion.objects.filter(plan__in=plans)
    order = ("plan__name", "plan_id")
    latest = versions.order_by(*order, "-number").distinct(*order).values("pk")
    rows = versions.filter(Q(pk__in=latest) | Q(pk__in=pks)).select_related("plan")
    own = reference_version(project)
    for version in rows.order_by(*order, "-number"):
        if version == own and version.pk not in pks:
            continue
        try:
            yield GridPlan(version, version.value())
        except InvalidPlan:
            continue  # stored by an older version; the plan's page says what is wrong


def picks_of(grid: Grid, keys: Collection[str]) -> Picks:
    """The pickers of a form that has these tests and no others."""
    cells = [grid.cells[key] for key in keys]
    plans = list(dict.fromkeys(str(row.version.pk) for row, _ in cells))
    endpoints = list(dict.fromkeys(str(arm.endpoint.pk) for _, arm in cells))
    modes = list(dict.fromkeys(str(arm.mode) for _, arm in cells))
    targets = list(dict.fromkeys(str(arm.endpoint.target_id) for _, arm in cells))
    picks = Picks(plans, targets, endpoints, modes)
    return picks._replace(left_out=[k for k in grid.cells.combined(picks) if k not in keys])


def proposal(
    grid: Grid, question: str = "", *, plan: int = 0, target: int = 0, schemes: Sequence[str] = ()
) -> Picks:
    """What a form starts with: the plan and target that are asked for, else those used last. Nobody
    loads a target that nobody has chosen: with several and none used, none is proposed."""
    place = _target(grid, target, plan)
    endpoints = grid.endpoints_of(place) if place else []
    row = _plan(grid, plan, endpoints)
    if row is None:
        return Picks(targets=[str(place.pk)] if place else [])
    plans = [str(row.version.pk)]
    last = [use for use in grid.used if use.plan == row.version.plan_id]
    modes = list(dict.fromkeys(u.mode for u in last if u.at == last[0].at))
    if question == "https":
        modes = list(map(str, ConnectionMode))
    modes = modes or [str(row.plan.connection_mode)]
    if place is None:
        return Picks(plans, modes=modes)
    endpoints_then = endpoints_to_propose(grid, place, [row], question, schemes)
    return Picks(plans, [str(place.pk)], [str(each.pk) for each in endpoints_then], modes)


def _target(grid: Grid, pk: int, plan: int) -> Target | None:
    """The one asked for; else that of the plan, or of any, that was measured last."""
    answering = [
        each
        for each in grid.targets
        if each.pk == pk or not all(map(grid.is_silent, grid.endpoints_of(each)))
    ]
    own = [each for each in answering if not each.is_reference] or answering
    if asked_for := next((each for each in answering if each.pk == pk), None):
        return asked_for
    by_key = {each.pk: each for each in own}
    uses = sorted(grid.used, key=lambda each: each.plan != plan)
    last = (by_key[each.target] for each in uses if each.target in by_key)
    return next(last, own[0] if len(own) == 1 else None)


def _plan(grid: Grid, pk: int, endpoints: Sequence[Endpoint]) -> GridPlan | None:
    """The one asked for; else of those that fit the one used last, else the newest, HTTP first."""
    if asked_for := next((row for row in grid.plans if row.version.plan_id == pk), None):
        return asked_for
    schemes = {each.scheme in WEBSOCKET_SCHEMES for each in endpoints}
    fitting = [row for row in grid.recent_plans if not endpoints or row.is_websocket in schemes]
    last = {use.plan for use in grid.used}
    use = next((row for row in fitting if row.version.plan_id in last), None)
    newest = sorted(fitting, key=lambda row: (row.is_websocket, -row.version.pk))
    return use or next(iter(newest), None)


def endpoints_to_propose(
    grid: Grid,
    target: Target,
    plans: Sequence[GridPlan],
    question: str,
    schemes: Sequence[str] = (),
) -> list[Endpoint]:
    """Of those that the plans can use and that answer: for HTTPS's cost a pair, without TLS
    profiles where it can be, for a ladder's rungs are endpoints of the same target; else those
    used last, else one of each of the schemes, else the first."""
    kinds = {row.is_websocket for row in plans}
    fitting = [
        each
        for each in grid.endpoints_of(target)
        if (each.scheme in WEBSOCKET_SCHEMES) in kinds and not grid.is_silent(each)
    ]
    if question == "https":
        web = [each for each in fitting if each.scheme in ("http", "https")]
        for candidates in ([each for each in web if not each.tls_profile], web):
            if len({each.scheme for each in candidates}) == len(TLS_TWINS):
                return candidates
    last = [use for use in grid.used if use.target == target.pk]
    endpoint_ids = {each.endpoint for each in last if each.at == last[0].at}
    if not schemes and (again := [each for each in fitting if each.pk in endpoint_ids]):
        return again
    if not schemes:
        return fitting[:1]
    one_each = {each.scheme: each for each in reversed(fitting)}
    return [one_each[scheme] for scheme in schemes if scheme in one_each]


@dataclass(frozen=True, slots=True)
class Again:
    """A campaign to be run again: what the form starts with, and what differs from then.
    `reference`: it measured the installation's own target, which has a tick of its own."""

    campaign: Campaign
    name: str
    ticks: tuple[str, ...]
    injectors: tuple[int, ...]
    sweep: Sweep | None  # of a number of the plan
    differences: tuple[str, ...]  # sentences: newer versions, cells that are gone
    reference: bool


def again_of(campaign: Campaign, grid: Grid) -> Again:
    """The campaign's tests in a new grid, with the plans' latest versions."""
    relations = ("plan_version__plan", "endpoint__target")
    tests = list(campaign.tests.select_related(*relations).order_by("position"))
    own = reference_version(campaign.project)
    tests = [test for test in tests if test.plan_version != own]
    latest = {row.version.plan_id: row.version for row in grid.plans}
    ticks, differences = [], []
    for test in tests:
        version = latest.get(test.plan_version.plan_id)
        key = f"{version.pk}.{test.endpoint_id}.{test.connection_mode}" if version else ""
        if key not in grid.cells:
            differences.append(f"{test} is left out: its plan or endpoint is archived.")
            continue
        ticks.append(key)
        if version.pk != test.plan_version_id:
            differences.append(f"{test.plan_version} has become version {version.number}.")
    names = set(campaign.project.campaigns.values_list("name", flat=True))
    return Again(
        campaign,
        next_name(campaign.name, names),
        tuple(dict.fromkeys(ticks)),
        tuple(sorted({test.injectors for test in tests})),
        sweep_of(tests),
        tuple(dict.fromkeys(differences)),
        has_own_reference(campaign),
    )

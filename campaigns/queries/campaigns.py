"""Reads for the campaign pages: the grid of a new campaign, a campaign's runs. What is archived of
what a campaign would need to run, in a sentence."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from django.db.models import Prefetch, Q, QuerySet

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.lifecycle import ACTIVE_STATES
from campaigns.domain.metrics.outcomes import CLIENT_KINDS
from campaigns.domain.plan.blocks import order_of_runs
from campaigns.domain.plan.estimates import Estimate
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.reference import REFERENCE_NAME, next_name
from campaigns.domain.plan.sweep import Sweep, value_text
from campaigns.domain.plan.target import TLS_TWINS, WEBSOCKET_SCHEMES
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.models import (
    Campaign,
    Endpoint,
    PlanVersion,
    Probe,
    Project,
    Run,
    SavedPlan,
    Target,
    Test,
)
from campaigns.queries.checks import (
    Check,
    checks_before_start,
    first_requests_check,
    machine_rule_checks,
    room_checks,
    room_of,
)
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.references import has_own_reference, reference_version
from campaigns.queries.runs import with_verdicts
from campaigns.queries.target_costs import perf_checks

_MODES = {
    "http": (ConnectionMode.NEW, ConnectionMode.KEEP_ALIVE),
    "https": (ConnectionMode.NEW, ConnectionMode.RESUMED, ConnectionMode.KEEP_ALIVE),
    "ws": (ConnectionMode.NEW,),
    "wss": (ConnectionMode.NEW, ConnectionMode.RESUMED),
}


@dataclass(frozen=True, slots=True)
class Arm:
    endpoint: Endpoint
    mode: ConnectionMode
    is_first: bool  # of its endpoint: starts a column group

    @property
    def key(self) -> str:
        return f"{self.endpoint.pk}.{self.mode}"

    @property
    def is_of_reference(self) -> bool:
        return self.endpoint.target.is_reference

    @property
    def is_websocket(self) -> bool:
        return self.endpoint.scheme in WEBSOCKET_SCHEMES


@dataclass(frozen=True, slots=True)
class GridPlan:
    version: PlanVersion
    plan: Plan

    @property
    def load_words(self) -> str:
        return plan_load_words(self.plan)

    @property
    def is_websocket(self) -> bool:
        return self.plan.exchange is not None

    def fits(self, arm: Arm) -> bool:
        """Whether the endpoint has the protocol that the plan needs, WebSocket or HTTP."""
        return self.is_websocket == arm.is_websocket

    def cell_key(self, arm: Arm) -> str:
        return f"{self.version.pk}.{arm.key}"


class Cells(Mapping[str, tuple[GridPlan, Arm]]):
    """Every possible cell by its key, in the order of the grid. They are many, plans × arms, so
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
            plan.cell_key(arm) for plan in self._plans.values() for arm in arms if plan.fits(arm)
        )

    def __len__(self) -> int:
        arms = Counter(arm.is_websocket for arm in self._arms.values())
        return sum(arms[plan.is_websocket] for plan in self._plans.values())

    def in_order(self, keys: Collection[str]) -> list[str]:
        """Those of the keys that are a cell's, in the order of the grid, each once."""
        plans, arms = ({key: n for n, key in enumerate(of)} for of in (self._plans, self._arms))

        def place(key: str) -> tuple[int, int]:
            version, _, arm = key.partition(".")
            return plans[version], arms[arm]

        return sorted({key for key in keys if key in self}, key=place)


@dataclass(frozen=True)
class Grid:
    """Plans × arms of a project; each ticked cell is one test. `answering` and `silent`: the
    endpoints whose latest single request was answered, and those where it failed."""

    plans: tuple[GridPlan, ...]
    targets: tuple[tuple[Target, tuple[tuple[Endpoint, int], ...], int], ...]
    arms: tuple[Arm, ...]
    answering: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()

    @cached_property
    def proposable(self) -> list[Arm]:
        """The arms that a form may tick by itself, those that have answered first; a reference
        only if there is nothing else."""
        arms = [arm for arm in self.arms if arm.endpoint.pk not in self.silent]
        arms = [arm for arm in arms if not arm.is_of_reference] or arms
        return sorted(arms, key=lambda arm: arm.endpoint.pk not in self.answering)

    @cached_property
    def spread(self) -> set[int]:
        """The targets with endpoints on several hosts, near and far: a port does not tell these
        apart."""
        hosts = {(arm.endpoint.target_id, arm.endpoint.host) for arm in self.arms}
        n_hosts = Counter(target for target, _ in hosts)
        return {target for target, n in n_hosts.items() if n > 1}

    @cached_property
    def cells(self) -> Cells:
        """Every possible cell by its key, in the order of the grid."""
        return Cells(self.plans, self.arms)


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
    failed = {
        probe.endpoint_id: bool((probe.result or {}).get("error", True))
        for probe in latest.only("endpoint", "result")
    }
    return Grid(
        plans=tuple(_grid_plans(project, versions)),
        targets=tuple(_column_group(target) for target in targets),
        arms=tuple(arm for target in targets for arm in _arms_of(target)),
        answering=frozenset(pk for pk, has_failed in failed.items() if not has_failed),
        silent=frozenset(pk for pk, has_failed in failed.items() if has_failed),
    )


def of_target(grid: Grid, target: int) -> Grid:
    """Only the arms of this target; the whole grid if it has none of them."""
    arms = tuple(arm for arm in grid.arms if arm.endpoint.target_id == target)
    targets = tuple(each for each in grid.targets if each[0].pk == target)
    return replace(grid, targets=targets, arms=arms) if arms else grid


MOST_SHOWN = 3000  # cells; tens of thousands of ticks take a browser seconds


def shown_of(grid: Grid, ticked: Collection[str], target: int = 0) -> Grid:
    """The part of the grid that a page shows. Too large a grid is reduced to the ticked targets and
    the requested one, or else to the first."""
    if len(grid.plans) * len(grid.arms) <= MOST_SHOWN:
        return grid
    wanted = {grid.cells[key][1].endpoint.target_id for key in ticked} | {target}
    targets = tuple(each for each in grid.targets if each[0].pk in wanted) or grid.targets[:1]
    shown = {each[0].pk for each in targets}
    arms = tuple(arm for arm in grid.arms if arm.endpoint.target_id in shown)
    return replace(grid, targets=targets, arms=arms)


def _grid_plans(project: Project, wanted: Collection[int]):
    plans = SavedPlan.objects.filter(project=project, archived_at=None)
    versions = PlanVersion.objects.filter(plan__in=plans)
    order = ("plan__name", "plan_id")
    latest = versions.order_by(*order, "-number").distinct(*order).values("pk")
    shown = versions.filter(Q(pk__in=latest) | Q(pk__in=wanted)).select_related("plan")
    own = reference_version(project)
    for version in shown.order_by(*order, "-number"):
        if version == own and version.pk not in wanted:
            continue
        try:
            yield GridPlan(version, version.value())
        except InvalidPlan:
            continue  # stored by an older version; the plan's page says what is wrong


def _column_group(target: Target):
    endpoints = tuple((each, len(_MODES[each.scheme])) for each in target.live_endpoints)
    return target, endpoints, sum(n for _, n in endpoints)


def _arms_of(target: Target):
    for endpoint in target.live_endpoints:
        for nth, mode in enumerate(_MODES[endpoint.scheme]):
            yield Arm(endpoint, mode, is_first=nth == 0)


def ticks_for(question: str, grid: Grid) -> list[str]:
    """The cells that answer a question: "https" all arms of a pair, HTTP's rather than WebSocket's,
    and of HTTPS those without a TLS profile where there are some, for a ladder's rungs are
    endpoints of the same target; "works" the first arm. None where several targets would do."""
    arms = _proposed(grid, lambda arm: any(plan.fits(arm) for plan in grid.plans))
    if question == "works":
        cells = (plan.cell_key(arm) for arm in arms for plan in grid.plans if plan.fits(arm))
        return list(islice(cells, 1))
    if question != "https":
        return []
    for plan in grid.plans:
        fitting = [
            arm for arm in arms if plan.fits(arm) and arm.endpoint.scheme in ("http", "https")
        ]
        usual = [arm for arm in fitting if not arm.endpoint.tls_profile]
        for chosen in (usual, fitting):
            if len({arm.endpoint.scheme for arm in chosen}) == len(TLS_TWINS):
                return [plan.cell_key(arm) for arm in chosen]
    return []


def _proposed(grid: Grid, fits: Callable[[Arm], bool]) -> list[Arm]:
    """None where several targets would do: nobody loads a target that nobody has chosen."""
    arms = [arm for arm in grid.proposable if fits(arm)]
    return arms if len({arm.endpoint.target_id for arm in arms}) == 1 else []


def ticks_for_plan(grid: Grid, plan: int, schemes: Sequence[str] = ()) -> list[str]:
    """The arms on which the plan last ran. One that never did: in its own connection mode on the
    only target that fits, on these schemes or on the first endpoint."""
    row = next((each for each in grid.plans if each.version.plan_id == plan), None)
    if row is None:
        return []
    tests = Test.objects.outside_trash()
    of_plan = tests.filter(plan_version__plan=plan, campaign__started_at__isnull=False)
    last = of_plan.order_by("-campaign").values("campaign")[:1]
    used = set(of_plan.filter(campaign__in=last).values_list("endpoint", "connection_mode"))
    again = [arm for arm in grid.proposable if (arm.endpoint.pk, arm.mode) in used]
    if again:
        return [row.cell_key(arm) for arm in again if row.fits(arm)]
    mode = row.plan.connection_mode
    arms = _proposed(grid, lambda arm: arm.mode == mode and row.fits(arm))
    if not schemes:
        return [row.cell_key(arm) for arm in arms[:1]]
    one_each = {arm.endpoint.scheme: arm for arm in reversed(arms)}
    return [row.cell_key(one_each[scheme]) for scheme in schemes if scheme in one_each]


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
    related = ("plan_version__plan", "endpoint__target")
    tests = list(campaign.tests.select_related(*related).order_by("position"))
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
        _sweep_of(tests),
        tuple(dict.fromkeys(differences)),
        has_own_reference(campaign),
    )


def _sweep_of(tests: Sequence[Test]) -> Sweep | None:
    fields = {test.swept for test in tests}
    values = tuple(dict.fromkeys(test.swept_value for test in tests))
    return Sweep(fields.pop(), values) if len(fields) == 1 and fields != {""} else None


def current_run_of(campaign: Campaign) -> Run | None:
    """The active run; None between two runs."""
    return current_runs_of([campaign]).get(campaign.pk)


def current_runs_of(campaigns: Sequence[Campaign]) -> dict[int, Run]:
    """The active run of each campaign that has one, by campaign, in one query."""
    known = {campaign.pk: campaign for campaign in campaigns}
    active = Run.objects.filter(campaign__in=known, state__in=ACTIVE_STATES)
    runs = active.order_by("campaign_id", "-position").distinct("campaign_id")
    current = {run.campaign_id: run for run in runs.select_related("test__endpoint")}
    for pk, run in current.items():
        run.campaign = known[pk]
    return current


def runs_of(campaign: Campaign) -> QuerySet[Run]:
    """All runs of a campaign in order. Many are of the same few tests, which are read once."""
    tests = Test.objects.select_related("endpoint", "plan_version__plan")
    runs = campaign.runs.prefetch_related(Prefetch("test", queryset=tests))
    return with_verdicts(runs).order_by("position")


@dataclass(frozen=True, slots=True)
class PreviewTurn:
    """One run in the preview of the order; `shade` distinguishes plans. `point`: its value in a
    sweep, "" without one. The reference has no scheme."""

    scheme: str
    mode: str
    plan: str
    shade: int
    point: str = ""


_MOST_BLOCKS, _MOST_TURNS = 10, 24


def order_preview(
    grid: Grid,
    keys: list[str],
    *,
    repeats: int,
    is_random: bool,
    seed: int,
    sweep: Sequence[float] = (1,),
    has_reference: bool = False,
) -> list[list[PreviewTurn]]:
    """The first blocks in the actual order of the runs; [] if there are too many tests to show."""
    tests = [(*grid.cells[key], value) for key in keys for value in sweep]
    if not tests or len(tests) > _MOST_TURNS:
        return []
    shades = {plan: n for n, plan in enumerate(dict.fromkeys(plan for plan, _, _ in tests))}
    shown = [
        PreviewTurn(
            arm.endpoint.scheme,
            str(arm.mode),
            plan.version.plan.name,
            shades[plan] % 4,
            value_text(value) if len(sweep) > 1 else "",
        )
        for plan, arm, value in tests
    ]
    shown += [PreviewTurn("", "reference", REFERENCE_NAME, 0)] if has_reference else []
    turns = order_of_runs(len(shown), min(repeats, _MOST_BLOCKS), is_random=is_random, seed=seed)
    blocks: dict[int, list[PreviewTurn]] = {}
    for turn in turns:
        blocks.setdefault(turn.repeat, []).append(shown[turn.test])
    return list(blocks.values())


def why_archived(campaign: Campaign, tests: Iterable[Test]) -> str:
    """The first that is archived of what its runs would need, in a sentence; "" if all is there."""
    if campaign.archived_at:
        return "This campaign is archived. Restore it first."
    missing = (archived_part(test.plan_version.plan, test.endpoint) for test in tests)
    return next(filter(None, missing), "")


def archived_part(plan: SavedPlan, endpoint: Endpoint) -> str:
    """As of `why_archived`."""
    target = endpoint.target
    if plan.archived_at:
        return f"The plan {plan.name} is archived. Restore it first."
    if target.archived_at:
        return f"The target {target.name} is archived. Restore it first."
    if endpoint.archived_at:
        return f"The endpoint {endpoint} is archived. Add it to {target.name} again first."
    return ""


def checks_of_campaign(
    project: Project,
    requests: Sequence[tuple[Plan, Endpoint]],
    estimate: Estimate,
    *,
    injectors: int,
    perf: str,
) -> list[Check]:
    """What a start would say of these plans on these endpoints."""
    endpoints = [endpoint for _, endpoint in requests]
    return [
        first_requests_check(requests),
        *checks_before_start(project, endpoints, injectors),
        *machine_rule_checks(requests),
        *perf_checks(endpoints, perf),
        *room_checks(estimate, room_of(hosts())),
    ]

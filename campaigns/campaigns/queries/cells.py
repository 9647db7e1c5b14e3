"""The cells of a campaign's table: which of them take turns, and how long they take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from campaigns.domain.errors import Refused
from campaigns.domain.plan.estimates import (
    Estimate,
    TestEstimate,
    estimate_campaign,
    estimate_side_by_side,
    estimate_test,
)
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.sweep import INJECTORS, MAX_POINTS, Sweep, swept_plan
from campaigns.domain.plan.turns import (
    ArmsOfPlan,
    plan_in_turns,
    turns_limit_s,
    why_not_side_by_side,
)
from campaigns.models import Campaign, Endpoint, Exporter, PlanVersion, Test

MAX_REPEATS = 50


@dataclass(frozen=True, slots=True)
class CampaignCell:
    """One plan on one arm with a number of injectors, and in a sweep with one number of the plan
    replaced (`swept`): becomes a test of a campaign."""

    plan_version: PlanVersion
    endpoint: Endpoint
    connection_mode: str
    injectors: int = 1
    swept: str = ""
    swept_value: float = 0.0

    def plan(self) -> Plan:
        """Raises Refused if the plan cannot have the swept value."""
        plan = self.plan_version.value()
        return swept_plan(plan, self.swept, self.swept_value) if self.swept else plan


CELL_FIELDS = tuple(each.name for each in fields(CampaignCell))  # of a Test, too


def cell_of(test: Test) -> CampaignCell:
    return CampaignCell(**{name: getattr(test, name) for name in CELL_FIELDS})


def cells_of_sweep(
    cells: Sequence[CampaignCell], injectors: int, sweep: Sweep | None
) -> list[CampaignCell]:
    """A cell for each of these and each value; all with `injectors`, unless the sweep varies them.
    Raises Refused for values that nothing can have."""
    if sweep is None:
        return [replace(cell, injectors=injectors) for cell in cells]
    if not 1 <= len(sweep.values) <= MAX_POINTS and sweep.field != INJECTORS:
        raise Refused(f"A sweep has at most {MAX_POINTS} values; these are {len(sweep.values)}.")
    if sweep.field == INJECTORS:
        if not all(float(value).is_integer() for value in sweep.values):
            raise Refused("Numbers of injector processes are whole.")
        return [replace(each, injectors=int(n)) for each in cells for n in sweep.values]
    return [
        replace(each, injectors=injectors, swept=sweep.field, swept_value=float(value))
        for each in cells
        for value in sweep.values
    ]


def sweep_of(tests: Sequence[Test]) -> Sweep | None:
    """Of a number of the plan."""
    fields = {test.swept for test in tests}
    values = tuple(dict.fromkeys(test.swept_value for test in tests))
    return Sweep(fields.pop(), values) if len(fields) == 1 and fields != {""} else None


# What rungs of a ladder differ in.
_SPOKEN = {"http_version": HttpVersion.HTTP_1_1, "streams": 1}


def arms_by_plan(cells: Iterable[CampaignCell | Test]) -> dict[Any, list[Any]]:
    """The arms that send the same at the same load, in their order: the rungs of a ladder differ in
    what they speak."""
    cells = list(cells)
    versions = {cell.plan_version.pk: cell.plan_version for cell in cells}
    content = {pk: str(replace(each.value(), **_SPOKEN).to_json()) for pk, each in versions.items()}
    groups: dict[Any, list[Any]] = {}
    for cell in cells:
        same = (content[cell.plan_version.pk], cell.injectors, cell.swept, cell.swept_value)
        groups.setdefault(same, []).append(cell)
    return groups


def why_in_blocks(cells: Sequence[CampaignCell], limit_s: float | None) -> str:
    """Why these are not measured side by side; "" where they are."""
    main_cells = [cell for cell in cells if not cell.endpoint.target.is_reference]
    if len({cell.injectors for cell in main_cells}) > 1:
        return "A sweep over injector processes needs whole runs of one arm."
    groups = [
        ArmsOfPlan(cell.plan_version.plan.name, cell.plan(), len(each), cell.injectors)
        for each in arms_by_plan(main_cells).values()
        for cell in {cell.plan_version.pk: cell for cell in each}.values()
    ]
    return why_not_side_by_side(groups, limit_s)


def estimate_cells(
    cells: Sequence[CampaignCell],
    *,
    in_turns: bool,
    limit_s: float | None,
    until_settled: bool,
    perf: str = "",
    **values: Any,
) -> Estimate:
    """What a campaign of these would take; `values` as of `estimate_campaign`."""
    groups = [list(map(_of_estimate, group)) for group in arms_by_plan(cells).values()]
    if not in_turns or not groups:
        return estimate_campaign([each for group in groups for each in group], **values)
    alone = list(map(_of_estimate, watched_cells(cells, perf)))
    values |= {"limit_s": limit_s, "until_settled": until_settled, "watched": alone}
    return estimate_side_by_side(groups, **values)


def _of_estimate(cell: CampaignCell) -> tuple[Plan, ConnectionMode, int]:
    return cell.plan(), ConnectionMode(cell.connection_mode), cell.injectors


def watched_cells(cells: Iterable[CampaignCell | Test], perf: str) -> list[Any]:
    """Arms that take turns on a machine of which an exporter tells, or on which perf counts. Whose
    CPU it was only runs of single arms tell."""
    arms = [arm for group in arms_by_plan(cells).values() if len(group) > 1 for arm in group]
    targets = {arm.endpoint.target_id for arm in arms}
    reporting = Exporter.objects.filter(target__in=targets).values_list("target", flat=True)
    targets_with_agents = targets if perf else set(reporting)
    return [arm for arm in arms if arm.endpoint.target_id in targets_with_agents]


def estimates_of_runs(campaign: Campaign, tests: Sequence[Test]) -> dict[int, TestEstimate]:
    """What one run of each test will take."""
    sizes = {}
    if campaign.order == Campaign.Order.SIDE_BY_SIDE:
        groups = arms_by_plan(tests).values()
        sizes = {test.pk: len(group) for group in groups for test in group if len(group) > 1}
    estimates = {}
    for test in tests:
        plan = test.plan().for_injectors(test.injectors)
        if n_arms := sizes.get(test.pk):
            limit_s = turns_limit_s(plan, n_arms, test.campaign.limit_s, test.injectors)
            plan = plan_in_turns(plan, n_arms, limit_s)
        mode = ConnectionMode(test.connection_mode)
        estimates[test.pk] = estimate_test(plan, mode, campaign.pause_s, test.injectors)
    return estimates

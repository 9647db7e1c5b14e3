"""The cells of a campaign's table, and what must hold before they are measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaigns.domain.errors import Refused
from campaigns.domain.plan.injectors import share_fault
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.sweep import INJECTORS, MAX_POINTS, Sweep, swept_plan
from campaigns.domain.plan.target import TLS_SCHEMES, WEBSOCKET_SCHEMES
from campaigns.models import Endpoint, PlanVersion, Project, Test
from campaigns.queries.campaigns import archived_part
from campaigns.queries.caps import why_never
from campaigns.queries.injector_hosts import total_slots

# More would occupy the injector hosts for days and no longer fit on one page.
MAX_RUNS = 2000


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


def cell_of(test: Test) -> CampaignCell:
    return CampaignCell(
        test.plan_version,
        test.endpoint,
        test.connection_mode,
        test.injectors,
        test.swept,
        test.swept_value,
    )


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


def check_cells(project: Project, cells: list[CampaignCell], repeats: int) -> None:
    """Raises Refused, with what to change, for cells that cannot be measured."""
    if not cells:
        raise Refused("Choose at least one plan and one endpoint.")
    if len(cells) * repeats > MAX_RUNS:
        raise Refused(
            f"{len(cells)} tests × {repeats} repeats make {len(cells) * repeats} runs; at most "
            f"{MAX_RUNS} are allowed. Split this into two campaigns."
        )
    keys = {
        (
            *(cell.plan_version.pk, cell.endpoint.pk, cell.connection_mode, cell.injectors),
            *(cell.swept, cell.swept_value),
        )
        for cell in cells
    }
    if len(keys) < len(cells):
        raise Refused(
            "A plan is listed twice with the same endpoint and connection mode. Remove one."
        )
    for cell in cells:
        plan, endpoint = cell.plan_version.plan, cell.endpoint
        if plan.project_id != project.pk or endpoint.target.project_id != project.pk:
            raise Refused("A campaign can only use plans and targets of its own project.")
        if refusal := archived_part(plan, endpoint):
            raise Refused(refusal)
        if cell.connection_mode not in list(ConnectionMode):
            raise Refused(f"Choose a connection mode: {', '.join(ConnectionMode)}.")
        if cell.connection_mode == ConnectionMode.RESUMED and endpoint.scheme not in TLS_SCHEMES:
            raise Refused(f"{endpoint} has no TLS session to resume. Choose new or keep-alive.")
        _check_protocol(cell)
        # Every injector must get a share of the connections and requests.
        fault = share_fault(cell.plan().load, cell.injectors)
        if fault:
            raise Refused(f"{cell.plan_version} {fault}.")


def _check_protocol(cell: CampaignCell) -> None:
    """Exchanges need WebSocket endpoints, steps need HTTP endpoints."""
    is_exchange = cell.plan_version.value().exchange is not None
    if is_exchange != (cell.endpoint.scheme in WEBSOCKET_SCHEMES):
        wanted = "a ws or wss" if is_exchange else "an http or https"
        raise Refused(f"{cell.plan_version} needs {wanted} endpoint; {cell.endpoint} is not one.")
    if is_exchange and cell.connection_mode == ConnectionMode.KEEP_ALIVE:
        raise Refused("WebSockets cannot be kept alive between attempts. Choose new or resumed.")


def check_slots(project: Project, cells: list[CampaignCell]) -> None:
    """A run that needs too many slots would expire. With no host yet, pass: one may still start."""
    most, slots = max(cell.injectors for cell in cells), total_slots()
    if 0 < slots < most:
        raise Refused(
            f"A run of this campaign needs {most} injector slots at once, but there are {slots}. "
            "Add slots to a host (BENCHSITE_INJECTOR_SLOTS), start another host, or use fewer "
            "injector processes."
        )
    if why := why_never(project, most):
        raise Refused(why)

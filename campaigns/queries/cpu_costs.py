"""What the tests of a campaign cost their target in CPU time, as its agents told it.

Checks no permissions: callers pass campaigns found with visible_to.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import OuterRef, Subquery

from campaigns.domain.judged.cpu_cost import TICK_S, RunCost, cost_difference
from campaigns.domain.judged.repeats import mean_interval
from campaigns.domain.lifecycle import RunState
from campaigns.domain.measured.machine_use import (
    MachineUse,
    cpu_s_per_1000,
    is_inner,
    n_whole_seconds,
)
from campaigns.domain.shown.cpu_cost_tables import (
    MACHINE,
    WATCHED,
    ComparedCost,
    TestCost,
    compared_costs_table,
    cost_sentence,
    costs_table,
)
from campaigns.domain.shown.ladder import RungStep
from campaigns.domain.shown.results import Answer, OverheadAnswer
from campaigns.models import Campaign, MachineSecond, Run, RunSummary, RunUse

# CPU time of the chosen processes is told where every run has it, else that of the machine.
_OF = {"watched_s": WATCHED, "busy_s": MACHINE}


@dataclass(slots=True)
class _Told:
    """The CPU time of one machine in a run; None where one of its seconds does not have it."""

    lasted_s: float = 0.0
    busy_s: float | None = 0.0
    watched_s: float | None = 0.0

    def add(self, lasted_s: float, busy_s: float | None, watched_s: float | None) -> None:
        self.lasted_s += lasted_s
        self.busy_s = _plus(self.busy_s, busy_s)
        self.watched_s = _plus(self.watched_s, watched_s)


@dataclass(slots=True)
class _RunTold:
    """A run with the machines that told something of it."""

    n: int
    duration_s: float
    machines: dict[str, _Told] = field(default_factory=lambda: defaultdict(_Told))

    @property
    def whole_seconds(self) -> int:
        return n_whole_seconds(self.duration_s)

    def cores(self, of: str) -> float | None:
        """CPU seconds per second of all machines together; `of`: busy_s or watched_s."""
        told = [(getattr(each, of), each.lasted_s) for each in self.machines.values()]
        if not told or any(cpu_s is None or not lasted_s for cpu_s, lasted_s in told):
            return None
        return sum(cpu_s / lasted_s for cpu_s, lasted_s in told)

    def cost(self, of: str) -> RunCost | None:
        cores = self.cores(of)
        if cores is None:
            return None
        per_1000_s = cpu_s_per_1000(cores, 1.0, self.n / self.duration_s)
        return RunCost(per_1000_s, 1000 * TICK_S * len(self.machines) / self.n)


def cpu_costs(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """{"sentence", "note": what is counted, "tables"}; None where no agent told anything of a run
    that counts."""
    counted = {pk for test in answer.tests for pk in test.counted}
    told = {pk: run for pk, run in _told(campaign).items() if pk in counted}
    of = next((each for each in _OF if all(run.cost(each) for run in told.values())), "busy_s")
    costs = {pk: cost for pk, run in told.items() if (cost := run.cost(of))}
    if not costs:
        return None
    names_plan = len({test.plan_label for test in answer.tests}) > 1
    rows = [
        TestCost(
            f"{test.plan_label}, {test.label}" if names_plan else test.label,
            mean_interval([costs[pk].per_1000_s for pk in test.counted if pk in costs]),
            mean_interval([told[pk].cores(of) for pk in test.counted if pk in costs]),
        )
        for test in answer.tests
        if costs.keys() & set(test.counted)
    ]
    steps = answer.ladder.steps if answer.ladder else []
    compared = [_compared(campaign, each, costs) for each in (*answer.overheads, *steps)]
    both = [each for each in compared if None not in each.difference.means]
    tables = [costs_table(rows), *([compared_costs_table(both)] if both else [])]
    # Of a ladder the table tells each rung; one sentence for each would be a page.
    sentence = [] if answer.ladder else cost_sentence(both)
    return {"sentence": sentence, "note": _OF[of], "tables": tables}


def _compared(
    campaign: Campaign, overhead: OverheadAnswer | RungStep, costs: Mapping[int, RunCost]
) -> ComparedCost:
    arms = [
        {repeat: costs[pk] for repeat, pk in arm.items() if pk in costs} for arm in overhead.counted
    ]
    difference = cost_difference(
        *arms,
        paired=overhead.is_paired,
        threshold=campaign.practical_threshold,
        blocker=overhead.blocker,
    )
    return ComparedCost(overhead.title, overhead.names, difference)


def _told(campaign: Campaign) -> dict[int, _RunTold]:
    """The runs with ok requests and a summary, by number."""
    newest = RunSummary.objects.filter(run=OuterRef("pk")).order_by("-revision")
    runs = Run.objects.filter(campaign=campaign, state=RunState.DONE, n__gt=0)
    runs = runs.annotate(duration_s=Subquery(newest.values("duration_s")[:1]))
    rows = runs.filter(duration_s__gt=0).values_list("pk", "n", "duration_s")
    told = {pk: _RunTold(n, duration_s) for pk, n, duration_s in rows}
    seconds = MachineSecond.objects.filter(run__in=told, second__gte=0)
    fields = ("run", "source", "second", "lasted_s", "busy_s", "watched_s")
    for pk, source, second, *times in seconds.values_list(*fields).iterator(chunk_size=2000):
        n_seconds = told[pk].whole_seconds
        if second < n_seconds and is_inner(second, n_seconds):
            told[pk].machines[source].add(*times)
    for pk, kept in RunUse.objects.filter(run__in=told, kept__has_key="machines").values_list(
        "run", "kept"
    ):
        for use in map(MachineUse.from_json, kept["machines"]):
            told[pk].machines[use.source] = _Told(use.lasted_s, use.busy_s, use.watched_s)
    return {pk: run for pk, run in told.items() if run.machines}


def _plus(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more

"""What the tests of a campaign cost their target in CPU time and network bytes, as its agents and
exporters told it. Checks no permissions: callers pass campaigns found with visible_to."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from campaigns.domain.judged.repeats import MeanInterval, mean_interval
from campaigns.domain.judged.target_cost import TICK_S, RunCost, cost_difference
from campaigns.domain.lifecycle import RunState
from campaigns.domain.measured.machine import MOVED, moved_bytes
from campaigns.domain.measured.machine_use import (
    MachineUse,
    cpu_s_per_1000,
    is_inner,
    n_whole_seconds,
)
from campaigns.domain.plan.target import counted_in
from campaigns.domain.shown.ladder import RungStep
from campaigns.domain.shown.results import Answer, OverheadAnswer, Sentence
from campaigns.domain.shown.tables import Table
from campaigns.domain.shown.target_cost_tables import (
    BYTES,
    CPU,
    MACHINE,
    NETWORK,
    WATCHED,
    ComparedCost,
    CostKind,
    TestCost,
    compared_costs_table,
    cost_sentence,
    costs_table,
)
from campaigns.models import Campaign, MachineSecond, Run, RunUse
from campaigns.queries.measurements import of_latest_summaries

# CPU time of the chosen processes is told where every run has it, else that of the machine.
_CPU = {"watched_s": WATCHED, "busy_s": MACHINE}
_MOVED = "moved_bytes"


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one kind: a sentence on the comparisons, what is counted, and the tables. Of a ladder also
    what each rung's test costs, and how that compares with what the rung is compared with."""

    sentence: Sentence
    note: str
    tables: list[Table]
    by_test: Mapping[int, MeanInterval]
    of_rungs: Mapping[int, ComparedCost]


@dataclass(frozen=True, slots=True)
class TargetCosts:
    """None for what no agent or exporter told of a run that counts."""

    cpu: Costs | None
    network: Costs | None


@dataclass(slots=True)
class _Told:
    """What one machine did in a run; None for what one of its seconds does not have."""

    lasted_s: float = 0.0
    busy_s: float | None = 0.0
    watched_s: float | None = 0.0
    moved_bytes: float | None = 0.0

    def add(
        self, lasted_s: float, busy_s: float | None, watched_s: float | None, moved: float | None
    ) -> None:
        self.lasted_s += lasted_s
        self.busy_s = _sum(self.busy_s, busy_s)
        self.watched_s = _sum(self.watched_s, watched_s)
        self.moved_bytes = _sum(self.moved_bytes, moved)


@dataclass(slots=True)
class _RunTold:
    """A run with the machines that told something of it."""

    n: int
    duration_s: float
    machines: dict[str, _Told] = field(default_factory=lambda: defaultdict(_Told))

    @property
    def whole_seconds(self) -> int:
        return n_whole_seconds(self.duration_s)

    def per_s(self, of: str) -> float | None:
        """CPU seconds (`busy_s`, `watched_s`) or bytes (`moved_bytes`) per second of all machines
        together; None if one of them did not tell them."""
        told = [(getattr(each, of), each.lasted_s) for each in self.machines.values()]
        if not told or any(amount is None or not lasted_s for amount, lasted_s in told):
            return None
        return sum(amount / lasted_s for amount, lasted_s in told)

    def cpu_cost(self, of: str) -> RunCost | None:
        cores = self.per_s(of)
        if cores is None:
            return None
        per_1000_s = cpu_s_per_1000(cores, 1.0, self.n / self.duration_s)
        return RunCost(per_1000_s, 1000 * TICK_S * len(self.machines) / self.n)

    def byte_cost(self) -> RunCost | None:
        """None also where nothing was moved: then the load went past what was counted."""
        bytes_per_s = self.per_s(_MOVED)
        return RunCost(bytes_per_s * self.duration_s / self.n, 1 / self.n) if bytes_per_s else None


def target_costs(campaign: Campaign, answer: Answer) -> TargetCosts:
    counted = {pk for test in answer.tests for pk in test.counted}
    told = {pk: run for pk, run in _told(campaign).items() if pk in counted}
    of = next((each for each in _CPU if all(run.cpu_cost(each) for run in told.values())), "busy_s")
    cpu = {pk: (cost, run.per_s(of)) for pk, run in told.items() if (cost := run.cpu_cost(of))}
    moved = {pk: (cost, run.per_s(_MOVED)) for pk, run in told.items() if (cost := run.byte_cost())}
    network = {pk: (cost, bytes_per_s / 1000) for pk, (cost, bytes_per_s) in moved.items()}
    return TargetCosts(
        _costs(campaign, answer, CPU, cpu, _CPU[of]),
        _costs(campaign, answer, BYTES, network, NETWORK),
    )


def _costs(
    campaign: Campaign,
    answer: Answer,
    kind: CostKind,
    told: Mapping[int, tuple[RunCost, float]],
    note: str,
) -> Costs | None:
    """`told`: by run, what it cost and how much of that there was in a second."""
    if not told:
        return None
    kind = kind.said_of(counted_in(test.scheme for test in answer.tests))
    costs = {pk: cost for pk, (cost, _) in told.items()}
    names_plan = len({test.plan_label for test in answer.tests}) > 1
    rows = [
        TestCost(
            f"{test.plan_label}, {test.label}" if names_plan else test.label,
            mean_interval([costs[pk].amount for pk in test.counted if pk in costs]),
            mean_interval([told[pk][1] for pk in test.counted if pk in told]),
        )
        for test in answer.tests
        if costs.keys() & set(test.counted)
    ]
    climbed = answer.ladder.compared if answer.ladder else []
    of_rungs = {rung.test_id: _compared(campaign, step, costs) for rung, step in climbed}
    compared = [
        *(_compared(campaign, each, costs) for each in answer.overheads),
        *of_rungs.values(),
    ]
    both = [each for each in compared if None not in each.difference.means]
    tables = [costs_table(kind, rows), *([compared_costs_table(kind, both)] if both else [])]
    # Of a ladder the table tells each rung; one sentence for each would be a page.
    sentence = [] if answer.ladder else cost_sentence(kind, both)
    by_test = {
        test.test_id: mean_interval(known)
        for test in answer.tests
        if (known := [costs[pk].amount for pk in test.counted if pk in costs])
    }
    return Costs(sentence, note, tables, by_test, of_rungs)


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
    runs = Run.objects.filter(campaign=campaign, state=RunState.DONE, n__gt=0)
    runs = runs.annotate(duration_s=of_latest_summaries("duration_s"))
    rows = runs.filter(duration_s__gt=0).values_list("pk", "n", "duration_s")
    told = {pk: _RunTold(n, duration_s) for pk, n, duration_s in rows}
    seconds = MachineSecond.objects.filter(run__in=told, second__gte=0)
    of_moved = [f"did__{name}" for name in MOVED]
    fields = ("run", "source", "second", "lasted_s", "busy_s", "watched_s", *of_moved)
    for pk, source, second, *amounts in seconds.values_list(*fields).iterator(chunk_size=2000):
        n_seconds = told[pk].whole_seconds
        if second < n_seconds and is_inner(second, n_seconds):
            moved = moved_bytes(dict(zip(MOVED, amounts[3:], strict=True)))
            told[pk].machines[source].add(*amounts[:3], moved)
    for pk, kept in RunUse.objects.filter(run__in=told, kept__has_key="machines").values_list(
        "run", "kept"
    ):
        for use in map(MachineUse.from_json, kept["machines"]):
            told[pk].machines[use.source] = _Told(
                use.lasted_s, use.busy_s, use.watched_s, use.moved_bytes
            )
    return {pk: run for pk, run in told.items() if run.machines}


def _sum(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more

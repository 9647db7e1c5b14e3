"""What the tests of a campaign cost their target in CPU time and network bytes, as its exporters
told it, and what perf counted in its runs. Checks no permissions: callers pass campaigns found with
visible_to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import F, QuerySet

from campaigns.domain.analysis.messages import Sentence
from campaigns.domain.analysis.pair import TICK_S, PairResult, RunCost, amount_row, cost_difference
from campaigns.domain.analysis.ratio import mean_interval
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.machine import (
    MOVED,
    MachineUse,
    cpu_s_per_1000,
    is_inner,
    moved_bytes,
    n_whole_seconds,
)
from campaigns.domain.metrics.profiles import PerfUse, perf_together, perf_use
from campaigns.domain.presentation.ladder import RungStep
from campaigns.domain.presentation.overhead_table import OverheadAnswer
from campaigns.domain.presentation.results import Answer, labels_of
from campaigns.domain.presentation.tables import Table
from campaigns.domain.presentation.target_cost_tables import (
    BYTES,
    CPU,
    MACHINE,
    NETWORK,
    WATCHED,
    ComparedCost,
    CostKind,
    compared_costs_table,
    compared_counters_table,
    cost_sentence,
    costs_table,
    counter_means_table,
    figures_of_perf,
)
from campaigns.domain.units import common_nouns
from campaigns.models import Campaign, MachineSecond, Run, RunUse
from campaigns.runs.queries.measurements import OK_LATE

# CPU time of the chosen processes is told where every run has it, else that of the machine.
_CPU = {"watched_s": WATCHED, "busy_s": MACHINE}
_MOVED = "moved_bytes"


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one kind: a sentence on the comparisons, what is counted, and the tables."""

    sentence: Sentence
    note: str
    tables: list[Table]


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
class RunSize:
    """A run with the machines that told something of it."""

    n: int
    late: int
    duration_s: float
    machines: dict[str, _Told] = field(default_factory=lambda: defaultdict(_Told))

    @property
    def whole_seconds(self) -> int:
        return n_whole_seconds(self.duration_s)

    @property
    def rate_per_s(self) -> float:
        """At least of one request: of those that all came late the cost is not zero."""
        return max(1, self.n - self.late) / self.duration_s

    def per_s(self, of: str) -> float | None:
        """CPU seconds (`busy_s`, `watched_s`) or bytes (`moved_bytes`) per second of all machines
        together; None if one of them did not tell them."""
        sums = [(getattr(each, of), each.lasted_s) for each in self.machines.values()]
        if not sums or any(amount is None or not lasted_s for amount, lasted_s in sums):
            return None
        return sum(amount / lasted_s for amount, lasted_s in sums)

    def cpu_cost(self, of: str) -> RunCost | None:
        cores = self.per_s(of)
        if cores is None:
            return None
        per_1000_s = cpu_s_per_1000(cores, 1.0, self.rate_per_s)
        return RunCost(per_1000_s, 1000 * TICK_S * len(self.machines) / self.n)

    def byte_cost(self) -> RunCost | None:
        """None also where nothing was moved: then the load went past what was counted."""
        bytes_per_s = self.per_s(_MOVED)
        return RunCost(bytes_per_s / self.rate_per_s, 1 / self.n) if bytes_per_s else None


def target_costs(campaign: Campaign, answer: Answer) -> TargetCosts:
    pks = {pk for test in answer.tests for pk in test.counted}
    sizes = {pk: run for pk, run in _runs_with_seconds(campaign).items() if pk in pks}
    of = next(
        (each for each in _CPU if all(run.cpu_cost(each) for run in sizes.values())), "busy_s"
    )
    cpu = {pk: (cost, run.per_s(of)) for pk, run in sizes.items() if (cost := run.cpu_cost(of))}
    bytes_by_run = {
        pk: (cost, run.per_s(_MOVED)) for pk, run in sizes.items() if (cost := run.byte_cost())
    }
    network = {pk: (cost, bytes_per_s / 1000) for pk, (cost, bytes_per_s) in bytes_by_run.items()}
    return TargetCosts(
        _costs(campaign, answer, CPU, cpu, _CPU[of]),
        _costs(campaign, answer, BYTES, network, NETWORK),
    )


def _costs(
    campaign: Campaign,
    answer: Answer,
    kind: CostKind,
    uses: Mapping[int, tuple[RunCost, float]],
    note: str,
) -> Costs | None:
    """`told`: by run, what it cost and how much of that there was in a second."""
    if not uses:
        return None
    kind = kind.said_of(common_nouns(test.nouns for test in answer.tests))
    costs = {pk: cost for pk, (cost, _) in uses.items()}
    rows = [
        (
            label,
            mean_interval([costs[pk].amount for pk in test.counted if pk in costs]),
            mean_interval([uses[pk][1] for pk in test.counted if pk in uses]),
        )
        for label, test in zip(labels_of(answer.tests), answer.tests, strict=True)
        if costs.keys() & set(test.counted)
    ]
    steps = [step for _, step in answer.ladder.compared] if answer.ladder else []
    costs_of_pairs = [_cost_of_pair(campaign, each, costs) for each in (*answer.overheads, *steps)]
    both = [each for each in costs_of_pairs if each.difference.difference is not None]
    tables = [costs_table(kind, rows), *([compared_costs_table(kind, both)] if both else [])]
    # Of a ladder the table tells each rung; one sentence for each would be a page.
    sentence = [] if answer.ladder else cost_sentence(kind, both)
    return Costs(sentence, note, tables)


def _cost_of_pair(
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


def _runs_with_seconds(campaign: Campaign) -> dict[int, RunSize]:
    """The runs with ok requests and a summary, by number."""
    runs = Run.objects.filter(campaign=campaign, state=RunState.DONE, n__gt=0)
    sizes = sizes_of(runs)
    seconds = MachineSecond.objects.filter(run__in=sizes, second__gte=0)
    of_moved = [f"did__{name}" for name in MOVED]
    fields = ("run", "source", "second", "lasted_s", "busy_s", "watched_s", *of_moved)
    for pk, source, second, *amounts in seconds.values_list(*fields).iterator(chunk_size=2000):
        n_seconds = sizes[pk].whole_seconds
        if second < n_seconds and is_inner(second, n_seconds):
            moved = moved_bytes(dict(zip(MOVED, amounts[3:], strict=True)))
            sizes[pk].machines[source].add(*amounts[:3], moved)
    for pk, uses in kept_machines(sizes):
        for use in uses:
            sizes[pk].machines[use.source] = _Told(
                use.lasted_s, use.busy_s, use.watched_s, use.moved_bytes
            )
    return {pk: run for pk, run in sizes.items() if run.machines}


def kept_machines(runs: Iterable[int]) -> Iterator[tuple[int, list[MachineUse]]]:
    """What each machine did in those of these runs whose seconds retention removed."""
    rows = RunUse.objects.filter(run__in=runs, kept__has_key="machines").order_by("run__position")
    for pk, machines in rows.values_list("run", "kept__machines"):
        yield pk, list(map(MachineUse.from_json, machines))


def _sum(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more


# The value of each figure by run.
ByRun = dict[int, dict[str, float]]


@dataclass(frozen=True, slots=True)
class CampaignCounters:
    """`means` of every test; `compared`: the same figures of two tests."""

    means: Table
    compared: list[Table]

    @property
    def tables(self) -> list[Table]:
        return [*self.compared, self.means]


def perf_counters(campaign: Campaign, answer: Answer) -> CampaignCounters | None:
    """None where nothing was counted in a run that counts."""
    pks = {pk for test in answer.tests for pk in test.counted}
    by_run: ByRun = {}
    if campaign.perf:
        sizes = sizes_of(Run.objects.filter(pk__in=pks, n__gt=0))
        nouns = common_nouns(test.nouns for test in answer.tests)
        by_run = {  # those of several machines added up
            pk: figures_of_perf(perf_together(uses), sizes[pk].rate_per_s, nouns)
            for pk, uses in _uses(sizes).items()
        }
    if not by_run:
        return None
    means = []
    for test in answer.tests:
        values: dict[str, list[float]] = defaultdict(list)
        for pk in test.counted:
            for words, value in by_run.get(pk, {}).items():
                values[words].append(value)
        means.append({words: mean_interval(each) for words, each in values.items()})
    return CampaignCounters(
        counter_means_table(list(zip(labels_of(answer.tests), means, strict=True))),
        [
            compared_counters_table(number, overhead.title, overhead.names, rows)
            for number, overhead in enumerate(answer.overheads)
            if (rows := list(_compared_counts(overhead, by_run)))
        ],
    )


def sizes_of(runs: QuerySet[Run]) -> dict[int, RunSize]:
    """Those that have a summary, by number."""
    runs = runs.annotate(duration_s=F("summary__duration_s"), late=F(f"summary__{OK_LATE}"))
    rows = runs.filter(duration_s__gt=0).values_list("pk", "n", "late", "duration_s")
    return {pk: RunSize(n, late or 0, duration_s) for pk, n, late, duration_s in rows}


def _uses(sizes: dict[int, RunSize]) -> dict[int, list[PerfUse]]:
    """By run, of each machine that counted something; from what is kept, if its seconds are
    gone."""
    by_run = defaultdict(list)
    seconds = MachineSecond.objects.filter(run__in=sizes, second__gte=0, did__has_key="perf")
    rows = seconds.order_by("run_id", "source", "second").values_list(
        "run", "source", "second", "did__perf"
    )
    for pk, source, second, perf in rows.iterator(chunk_size=2000):
        n_seconds = sizes[pk].whole_seconds
        if second < n_seconds and is_inner(second, n_seconds):
            by_run[pk, source].append(perf)
    uses = defaultdict(list)
    for (pk, _), perfs in by_run.items():
        uses[pk].append(perf_use(perfs))
    for pk, machines in kept_machines(sizes):
        uses[pk] += [use.perf for use in machines if use.perf]
    with_rates = {pk: [use for use in of_run if use.rates] for pk, of_run in uses.items()}
    return {pk: of_run for pk, of_run in with_rates.items() if of_run}


def _compared_counts(overhead: OverheadAnswer, by_run: ByRun) -> Iterator[PairResult]:
    """Of the figures that both tests have."""
    rows = [
        {repeat: by_run[pk] for repeat, pk in sorted(arm.items()) if pk in by_run}
        for arm in overhead.counted
    ]
    words = dict.fromkeys(each for arm in rows for values in arm.values() for each in values)
    for each in words:
        arms = (
            {nth: values[each] for nth, values in arm.items() if each in values} for arm in rows
        )
        row = amount_row(each, *arms, paired=overhead.is_paired)
        if row.difference is not None:
            yield row

"""What the target's machine did over all runs of a campaign, as its agent told it. Checks no
permissions: callers pass campaigns found with visible_to. What a campaign's page has of the
target's machines, as tables for programs. What the target's machines did in a run, as their agents
told it. Checks no permissions: callers pass runs found with visible_to."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add, or_
from typing import Any

from django.conf import settings
from django.db.models import Aggregate, Avg, F, FloatField, Q, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Left, Length, NullIf

from campaigns.domain.analysis.judgement import LimitsByCode
from campaigns.domain.analysis.limit import limit_of, observed_vitals
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.metrics.machine import (
    CPU,
    MachinePoint,
    MachineRun,
    MachineRuns,
    MachineStep,
    MachineUse,
    machine_use,
    n_whole_seconds,
)
from campaigns.domain.metrics.profiles import PerfOf
from campaigns.domain.presentation.capacity_words import limit_table
from campaigns.domain.presentation.machine_table import (
    RunResources,
    machine_columns,
    machine_means_table,
    machine_runs_table,
    machine_table,
    namer_of_runs,
    resource_tables,
)
from campaigns.domain.presentation.results import Answer
from campaigns.domain.presentation.tables import Table
from campaigns.domain.presentation.target_cost_tables import (
    no_perf_table,
    no_profile_table,
    perf_table,
    profile_table,
)
from campaigns.machines.queries.target_costs import (
    kept_machines,
    perf_counters,
    sizes_of,
    target_costs,
)
from campaigns.models import Campaign, MachineSecond, Run, ToolOutput
from campaigns.runs.queries.measurements import OK_LATE, machines_of_run, of_summary, whole_seconds
from campaigns.runs.queries.runs import kept_of

MOST_STEPS = 600  # that are drawn, of all runs together
_NETWORK = {"received": "received_bytes", "sent": "sent_bytes", "loopback": "loopback_bytes"}


def machine_runs(campaign: Campaign) -> MachineRuns | None:
    """Of the first machine by name; None where nobody told anything. The database adds the seconds
    up, so that long campaigns are read as quickly as short ones."""
    seconds = measured_seconds(campaign)
    source = seconds.order_by("source").values_list("source", flat=True).first()
    if source is None:
        return None
    seconds = seconds.filter(source=source)
    step_s = max(1, -(-seconds.count() // MOST_STEPS))
    steps = seconds.annotate(step=F("second") / Value(step_s)).order_by("run__position", "step")
    rows = steps.values(
        "run", "step", test=F("run__test"), position=F("run__position"), repeat=F("run__repeat")
    ).annotate(
        **_machine_sums(),
        busy=Sum("busy_s"),
        watched=Sum("watched_s"),
        system=Sum(told_figure("system_s")),
        **{name: Sum(told_figure(figure)) for name, figure in _NETWORK.items()},
    )
    runs = []
    for _, some in groupby(rows, lambda row: row["run"]):
        first, *others = some
        place = first["run"], first["test"], first["position"], first["repeat"]
        runs.append(MachineRun(*place, tuple(map(_step, [first, *others]))))
    return MachineRuns(source, step_s, tuple(runs))


def measured_seconds(campaign: Campaign) -> QuerySet[MachineSecond]:
    """Those of each run up to the end of its measurement: agents tell more, until the run has
    ended."""
    runs = Run.objects.filter(campaign=campaign, state=RunState.DONE)
    ends = runs.annotate(duration_s=F("summary__duration_s")).exclude(duration_s=None)
    return seconds_of_measurements(
        {pk: n_whole_seconds(end_s) for pk, end_s in ends.values_list("pk", "duration_s")}
    )


def seconds_of_measurements(n_seconds: Mapping[int, int]) -> QuerySet[MachineSecond]:
    """The first seconds of these runs: most have as many."""
    runs: dict[int, list[int]] = defaultdict(list)
    for pk, n in n_seconds.items():
        runs[n].append(pk)
    alike = (Q(run__in=pks, second__range=(0, n - 1)) for n, pks in runs.items())
    return MachineSecond.objects.filter(reduce(or_, alike, Q(pk__in=[])))


def runs_beside_each_other(campaign: Campaign) -> MachineRuns | None:
    """Of two runs or more: one run's curves are its own."""
    runs = machine_runs(campaign)
    return runs if runs and len(runs.runs) > 1 else None


def _machine_sums() -> dict[str, Aggregate]:
    """The time that the seconds took, the CPU time there was in it, and the memory in use."""
    memory = told_figure("memory_used_bytes") / NullIf(told_figure("memory_bytes"), Value(0.0))
    whole = reduce(add, (Coalesce(told_figure(state), 0.0) for state in CPU))
    return {"took_s": Sum("lasted_s"), "whole": Sum(whole), "memory": Avg(memory)}


def told_figure(name: str) -> Cast:
    """A figure of a machine's second, NULL where it was not told."""
    return Cast(KeyTextTransform(name, "did"), FloatField())


def _step(row: dict[str, Any]) -> MachineStep:
    def share(name: str) -> float | None:
        return None if row[name] is None or not row["whole"] else 100 * row[name] / row["whole"]

    def mb_per_s(name: str) -> float | None:
        return None if row[name] is None or not row["took_s"] else row[name] / row["took_s"] / 1e6

    return MachineStep(
        row["step"],
        cpu=share("busy"),
        system=share("system"),
        watched=share("watched"),
        memory=None if row["memory"] is None else 100 * row["memory"],
        **{name: mb_per_s(name) for name in _NETWORK},
    )


@dataclass(frozen=True, slots=True)
class TargetSide:
    """`cpu`: CPU time per request; `network`: bytes per request; `resources`: of the servers beside
    one another; `machine_means` and `machine_runs`: the means of each test and of every run, None
    with fewer than two runs; `counters`: of perf. In the order of the page."""

    cpu: list[Table]
    network: list[Table]
    resources: list[Table]
    machine_means: Table | None
    machine_runs: Table | None
    counters: list[Table]

    @property
    def tables(self) -> list[Table]:
        machine = [each for each in (self.machine_means, self.machine_runs) if each]
        return [*self.cpu, *self.network, *self.resources, *machine, *self.counters]


def target_side(campaign: Campaign, answer: Answer) -> TargetSide:
    costs, counters = target_costs(campaign, answer), perf_counters(campaign, answer)
    runs = runs_beside_each_other(campaign)
    return TargetSide(
        costs.cpu.tables if costs.cpu else [],
        costs.network.tables if costs.network else [],
        resource_tables(target_resources(campaign, answer), answer.tests),
        machine_means_table(runs, answer.tests) if runs else None,
        machine_runs_table(runs, namer_of_runs(answer.tests)) if runs else None,
        counters.tables if counters else [],
    )


# By the name of a resource: the figures of a second that it is the sum of.
_SUMMED = {
    "user": ("user_s",),
    "system": ("system_s", "interrupts_s"),
    "sent_packets": ("sent_packets",),
    "received_packets": ("received_packets",),
    "loopback_packets": ("loopback_packets",),
    "sent": ("sent_bytes",),
    "received": ("received_bytes",),
    "loopback": ("loopback_bytes",),
}


def target_resources(campaign: Campaign, answer: Answer) -> list[RunResources]:
    """Of each run that counts and each machine that told something of it, from its stored seconds
    or from what is kept of them."""
    test_by_run = {pk: test.test_id for test in answer.tests for pk in test.counted}
    runs = Run.objects.filter(pk__in=test_by_run, n__gt=0)
    rates = {pk: size.rate_per_s for pk, size in sizes_of(runs).items()}
    names = {name for figures in _SUMMED.values() for name in figures}
    rows = measured_seconds(campaign).filter(run__in=rates).order_by("run__position", "source")
    sums = rows.values("run", "source").annotate(
        **_machine_sums(), **{f"sum_{name}": Sum(told_figure(name)) for name in names}
    )
    with_seconds = [_resources(row, test_by_run[row["run"]], rates[row["run"]]) for row in sums]
    return with_seconds + [
        _kept_resources(use, test_by_run[pk], rates[pk])
        for pk, uses in kept_machines(rates)
        for use in uses
    ]


def _resources(row: dict[str, Any], test: int, rate_per_s: float) -> RunResources:
    per_s = {}
    for name, figures in _SUMMED.items():
        values = [row[f"sum_{figure}"] for figure in figures]
        if None not in values and row["took_s"]:
            per_s[name] = sum(values) / row["took_s"]
    cores = row["whole"] / row["took_s"] if row["took_s"] else 0.0
    return RunResources(test, row["source"], per_s, cores, row["memory"], rate_per_s)


def _kept_resources(use: MachineUse, test: int, rate_per_s: float) -> RunResources:
    means = {name: mean for name, (mean, _) in use.figures.items()}
    per_s = {name: means[name] * use.cores for name in ("user", "system") if name in means}
    for name, (figure, *_) in _SUMMED.items():
        if figure in means:
            per_s[name] = means[figure]
    used_bytes, whole_bytes = means.get("memory_used_bytes"), means.get("memory_bytes")
    memory = used_bytes / whole_bytes if whole_bytes and used_bytes is not None else None
    return RunResources(test, use.source, per_s, use.cores, memory, rate_per_s)


MOST_SHOWN = 20_000  # characters of a tool's output on the run's page


def measured_machines(run: Run, duration_s: float) -> dict[str, list[MachinePoint]]:
    """The stored seconds of a measurement of this duration, by machine."""
    end = n_whole_seconds(duration_s)
    machines = {
        name: _measured_points(seconds, end) for name, seconds in machines_of_run(run).items()
    }
    return {name: points for name, points in machines.items() if points}


def uses_of(run: Run, points: dict[str, list[MachinePoint]]) -> list[MachineUse]:
    """What each machine did in the measured seconds; from what is kept, if its seconds are gone."""
    if not points:
        brief = (run.is_done and kept_of(run)) or {}
        return [MachineUse.from_json(each) for each in brief.get("machines", ())]
    end = whole_seconds(run)
    uses = (
        machine_use(source, _measured_points(points_of_source, end), end)
        for source, points_of_source in points.items()
    )
    return [use for use in uses if use]


def _measured_points(points: list[MachinePoint], end: int | None) -> list[MachinePoint]:
    return [each for each in points if each.second >= 0 and (end is None or each.second < end)]


def outputs_of_run(run: Run) -> list[ToolOutput]:
    """What people added, in that order, with the `beginning` of each text: ten may be 10 MB."""
    rows = run.tool_outputs.defer("text")
    return list(rows.annotate(beginning=Left("text", MOST_SHOWN), n_characters=Length("text")))


def machine_report(run: Run) -> dict[str, Any]:
    """{"limit": the table of who was the limit, None until it is judged, "tables": a table for each
    machine, "perf": one for each perf stat, "profiles": one for each perf record, "columns": what
    the charts draw of the first machine, "source": its name}; columns are None without seconds."""
    points = machines_of_run(run)
    source = next(iter(points), "")
    limit, machines, perfs = _tables(run, points)
    return {
        "profiles": _profiles(run),
        "source": source,
        "columns": machine_columns(points[source]) if points else None,
        "limit": limit,
        "tables": machines,
        "perf": perfs,
    }


def machine_columns_between(run: Run, first: int, until: int) -> dict[str, list[Any]] | None:
    """What the charts draw of the machine of `machine_report` from second `first` to the one before
    `until`."""
    seconds = next(iter(machines_of_run(run).values()), [])
    points = [each for each in seconds if first <= each.second < until]
    return machine_columns(points) if points else None


def machine_tables(run: Run) -> list[Table]:
    """Who was the limit, and the tables of each machine that told something of the measurement."""
    limit, machines, perfs = _tables(run, machines_of_run(run))
    return [*([limit] if limit else []), *machines, *perfs, *_profiles(run)]


def _tables(
    run: Run, points: dict[str, list[MachinePoint]]
) -> tuple[Table | None, list[Table], list[Table]]:
    """Who was the limit, the tables of the machines, and those of their perf stat."""
    # Ok requests/s of a run that has ended.
    duration_s = of_summary(run, "duration_s") if run.is_done else None
    n_in_time = (run.n or 0) - (of_summary(run, OK_LATE) or 0) if duration_s else 0
    rate = n_in_time / duration_s if n_in_time else None
    uses, seconds = uses_of(run, points), whole_seconds(run)
    nouns = run.frozen.plan.nouns
    machines = [machine_table(use, rate, seconds, nouns) for use in uses]
    perfs = [perf_table(use, rate, seconds) for use in uses if use.perf]
    if run.is_done and not perfs and (perf := PerfOf(run.campaign.perf)):
        perfs = [no_perf_table(perf)]
    limit = None
    if run.is_done and run.judged is not None:
        plan, judgement = run.frozen.plan, run.judged
        vitals = of_summary(run, "vitals")
        limit = limit_table(
            limit_of(judgement, uses, plan, ended_early=run.outcome != Outcome.COMPLETE),
            judgement,
            observed_vitals(vitals or []),
            uses,
            (rate, plan.planned_rate_per_s),
            LimitsByCode.with_overrides(settings.JUDGEMENT_LIMITS),
            plan.nouns,
        )
    return limit, machines, [each.said_of(nouns) for each in perfs]


def _profiles(run: Run) -> list[Table]:
    """Of perf record."""
    duration_s = of_summary(run, "duration_s") if run.is_done else None
    profiles = [
        profile_table(each.source, each.value(), duration_s)
        for each in run.profiles.order_by("source")
    ]
    is_missing = run.is_done and run.campaign.profile and run.frozen.turns is None
    return profiles or ([no_profile_table(run.campaign.perf_scope)] if is_missing else [])

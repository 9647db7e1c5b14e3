"""What the target's machine did over all runs of a campaign, as its agent told it. Checks no
permissions: callers pass campaigns found with visible_to. What a campaign's page has of the
target's machines, as tables for programs. Checks no permissions: callers pass campaigns found with
visible_to."""

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add, or_
from typing import Any

from django.db.models import Avg, F, FloatField, Q, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, NullIf

from campaigns.domain.lifecycle import RunState
from campaigns.domain.measured.machine import CPU
from campaigns.domain.measured.machine_runs import MachineRun, MachineRuns, MachineStep
from campaigns.domain.measured.machine_use import n_whole_seconds
from campaigns.domain.shown.machine_runs_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.shown.results import Answer
from campaigns.domain.shown.tables import Table
from campaigns.models import Campaign, MachineSecond, Run
from campaigns.queries.measurements import of_latest_summaries
from campaigns.queries.perf_counts import perf_counters
from campaigns.queries.target_costs import target_costs

MOST_STEPS = 600  # that are drawn, of all runs together
_NETWORK = {"received": "received_bytes", "sent": "sent_bytes", "loopback": "loopback_bytes"}


def machine_runs(campaign: Campaign) -> MachineRuns | None:
    """Of the first machine by name; None where nobody told anything. The database adds the seconds
    up, so that long campaigns are read as quickly as short ones."""
    told = MachineSecond.objects.filter(_measured(campaign), second__gte=0)
    source = told.order_by("source").values_list("source", flat=True).first()
    if source is None:
        return None
    told = told.filter(source=source)
    step_s = max(1, -(-told.count() // MOST_STEPS))
    by_run = groupby(_summed(told, step_s), lambda row: row["run"])
    return MachineRuns(source, step_s, tuple(_run(list(rows)) for _, rows in by_run))


def _measured(campaign: Campaign) -> Q:
    """The seconds of each run up to the end of its measurement: agents tell more, until the run has
    ended."""
    runs = Run.objects.filter(campaign=campaign, state=RunState.DONE)
    ends = runs.annotate(duration_s=of_latest_summaries("duration_s"))
    alike: dict[int, list[int]] = defaultdict(list)
    for pk, duration_s in ends.exclude(duration_s=None).values_list("pk", "duration_s"):
        alike[n_whole_seconds(duration_s)].append(pk)
    return reduce(or_, (Q(run__in=of, second__lt=n) for n, of in alike.items()), Q(pk__in=[]))


def runs_beside_each_other(campaign: Campaign) -> MachineRuns | None:
    """Of two runs or more: one run's curves are its own."""
    told = machine_runs(campaign)
    return told if told and len(told.runs) > 1 else None


def _summed(told: QuerySet[MachineSecond], step_s: int) -> QuerySet[MachineSecond, dict[str, Any]]:
    steps = told.annotate(step=F("second") / Value(step_s)).order_by("run__position", "step")
    named = steps.values(
        "run", "step", test=F("run__test"), position=F("run__position"), repeat=F("run__repeat")
    )
    memory = told_figure("memory_used_bytes") / NullIf(told_figure("memory_bytes"), Value(0.0))
    return named.annotate(
        took_s=Sum("lasted_s"),
        busy=Sum("busy_s"),
        watched=Sum("watched_s"),
        system=Sum(told_figure("system_s")),
        whole=Sum(reduce(add, (Coalesce(told_figure(state), 0.0) for state in CPU))),
        memory=Avg(memory),
        **{name: Sum(told_figure(counted)) for name, counted in _NETWORK.items()},
    )


def told_figure(name: str) -> Cast:
    """A figure of a machine's second, NULL where it was not told."""
    return Cast(KeyTextTransform(name, "did"), FloatField())


def _run(rows: list[dict[str, Any]]) -> MachineRun:
    first = rows[0]
    steps = tuple(map(_step, rows))
    return MachineRun(first["run"], first["test"], first["position"], first["repeat"], steps)


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
    """`cpu`: CPU time per request; `network`: bytes per request; `machine_means` and
    `machine_runs`: the means of each test and of every run, None with fewer than two runs;
    `counters`: of perf. In the order of the page."""

    cpu: list[Table]
    network: list[Table]
    machine_means: Table | None
    machine_runs: Table | None
    counters: list[Table]

    @property
    def tables(self) -> list[Table]:
        machine = [each for each in (self.machine_means, self.machine_runs) if each]
        return [*self.cpu, *self.network, *machine, *self.counters]


def target_side(campaign: Campaign, answer: Answer) -> TargetSide:
    costs, counters = target_costs(campaign, answer), perf_counters(campaign, answer)
    told = runs_beside_each_other(campaign)
    return TargetSide(
        costs.cpu.tables if costs.cpu else [],
        costs.network.tables if costs.network else [],
        machine_means_table(told, answer.tests) if told else None,
        machine_runs_table(told, namer_of_runs(answer.tests)) if told else None,
        counters.tables if counters else [],
    )

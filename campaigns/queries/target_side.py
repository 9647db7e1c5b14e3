"""What a campaign's page has of the target's machines, as tables for programs.

Checks no permissions: callers pass campaigns found with visible_to.
"""

from dataclasses import dataclass

from campaigns.domain.shown.machine_runs_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.shown.results import Answer
from campaigns.domain.shown.tables import Table
from campaigns.models import Campaign
from campaigns.queries.machine_runs import runs_beside_each_other
from campaigns.queries.perf_counts import perf_counters
from campaigns.queries.target_costs import target_costs


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

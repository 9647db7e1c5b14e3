"""What tools printed on the target's machine, and what its agent's perf counted, over the runs of
a campaign that count.

Checks no permissions: callers pass campaigns found with visible_to.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from campaigns.domain.judged.ratio import ratio_interval
from campaigns.domain.judged.repeats import mean_interval
from campaigns.domain.plan.target import counted_in
from campaigns.domain.printed.output import PrintedOutput
from campaigns.domain.shown.counter_tables import (
    ComparedCounter,
    TestCounters,
    compared_counters_table,
    counter_means_table,
)
from campaigns.domain.shown.printed_table import chief_values, figures_of_output, words_of_value
from campaigns.domain.shown.results import Answer, OverheadAnswer, TestAnswer
from campaigns.domain.shown.tables import Table
from campaigns.models import Campaign, ToolOutput
from campaigns.queries.perf_counts import BY_AGENT, perf_by_run

# Of one tool: the value of each figure by run. A run's newest output counts.
ByRun = dict[int, dict[str, float]]


@dataclass(frozen=True, slots=True)
class CampaignCounters:
    """`means`: a table for each tool; `compared`: the same figures of two tests."""

    means: list[Table]
    compared: list[Table]

    @property
    def tables(self) -> list[Table]:
        return [*self.compared, *self.means]


def tool_counters(campaign: Campaign, answer: Answer) -> CampaignCounters | None:
    """None where nothing was added to a run that counts, and nothing counted in one."""
    counted = {pk for test in answer.tests for pk in test.counted}
    told = dict(_told(campaign, counted))
    nouns = counted_in(test.scheme for test in answer.tests)
    if by_agent := perf_by_run(campaign, counted, nouns):
        told[BY_AGENT] = by_agent
    if not told:
        return None
    names_plan = len({test.plan_label for test in answer.tests}) > 1
    means = [
        counter_means_table(
            tool.replace(" ", "-"),
            tool,
            [_of_test(test, by_run, names_plan=names_plan) for test in answer.tests],
        )
        for tool, by_run in told.items()
    ]
    compared = [
        compared_counters_table(
            f"{tool.replace(' ', '-')}-{number}", f"{tool}: {overhead.title}", overhead.names, rows
        )
        for tool, by_run in told.items()
        for number, overhead in enumerate(answer.overheads)
        if (rows := list(_compared(overhead, by_run)))
    ]
    return CampaignCounters(means, compared)


def _told(campaign: Campaign, counted: set[int]) -> Mapping[str, ByRun]:
    rows = ToolOutput.objects.filter(run__campaign=campaign, run__in=counted).order_by("pk")
    told: dict[str, ByRun] = defaultdict(dict)
    for run, tool, read in rows.values_list("run", "tool", "read"):
        output = PrintedOutput.from_json(tool, read)
        told[tool][run] = {
            words_of_value(output.tool, each): each.value
            for each in chief_values(list(figures_of_output(output)))
            if each.value is not None
        }
    return told


def _of_test(test: TestAnswer, by_run: ByRun, *, names_plan: bool) -> TestCounters:
    values: dict[str, list[float]] = defaultdict(list)
    for pk in test.counted:
        for words, value in by_run.get(pk, {}).items():
            values[words].append(value)
    label = f"{test.plan_label}, {test.label}" if names_plan else test.label
    return TestCounters(label, {words: mean_interval(each) for words, each in values.items()})


def _compared(overhead: OverheadAnswer, by_run: ByRun) -> Iterator[ComparedCounter]:
    """Of the figures that both tests have."""
    told = [
        {repeat: by_run[pk] for repeat, pk in sorted(arm.items()) if pk in by_run}
        for arm in overhead.counted
    ]
    words = dict.fromkeys(each for arm in told for values in arm.values() for each in values)
    for each in words:
        arms = [
            {nth: values[each] for nth, values in arm.items() if each in values} for arm in told
        ]
        if overhead.is_paired:
            shared = arms[0].keys() & arms[1].keys()
            arms = [{nth: arm[nth] for nth in arm if nth in shared} for arm in arms]
        if all(arms):
            baseline, candidate = ([*arm.values()] for arm in arms)
            interval = ratio_interval(
                baseline,
                candidate,
                paired=overhead.is_paired,
                repeats=tuple(list(arm) for arm in arms),
            )
            yield ComparedCounter(each, fmean(baseline), fmean(candidate), interval)

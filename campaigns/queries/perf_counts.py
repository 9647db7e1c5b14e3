"""What agents are to count by perf stat, and what they counted in the runs of a campaign. Checks no
permissions: callers pass campaigns found with visible_to, or an agent's own target."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from campaigns.domain.judged.ratio import ratio_interval
from campaigns.domain.judged.repeats import mean_interval
from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.domain.measured.machine_use import MachineUse, is_inner, n_whole_seconds
from campaigns.domain.measured.perf_counts import PerfOf, PerfUse, perf_together, perf_use
from campaigns.domain.plan.target import counted_in
from campaigns.domain.shown.perf_table import (
    ComparedCounter,
    TestCounters,
    compared_counters_table,
    counter_means_table,
    figures_of_perf,
)
from campaigns.domain.shown.results import Answer, OverheadAnswer, TestAnswer
from campaigns.domain.shown.tables import Table
from campaigns.models import Campaign, Endpoint, MachineSecond, Run, RunUse
from campaigns.queries.checks import Check
from campaigns.queries.measurements import of_latest_summaries
from campaigns.queries.targets import live_agents

# The value of each figure by run.
ByRun = dict[int, dict[str, float]]


def perf_wanted(target: int) -> PerfOf:
    """What an agent of this target is to count now: that of its run under way, from before its load
    begins."""
    loading = Run.objects.filter(target=target, state__in=ACTIVE_STATES - {RunState.FINALIZING})
    return PerfOf(loading.values_list("campaign__perf", flat=True).first() or "")


def perf_checks(endpoints: Sequence[Endpoint], perf: str) -> Iterator[Check]:
    """Before a start: whether somebody will count what the campaign asks for."""
    targets = {each.target_id: each.target for each in endpoints if each.target_id} if perf else {}
    for target in targets.values():
        heard = [agent for agent in live_agents(target) if agent.is_heard]
        if not heard:
            yield Check(
                "warn",
                f"No agent of {target.name} reports now: perf stat counts nothing there. Start one "
                "on its machine; the target's page says how.",
            )
        elif perf == PerfOf.PROCESSES and not any(agent.watched for agent in heard):
            yield Check(
                "warn",
                f"The agent of {target.name} watches no processes: perf stat counts nothing there. "
                "Start it with --watch, or count the whole machine.",
            )


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
    counted = {pk for test in answer.tests for pk in test.counted}
    by_run = _perf_by_run(campaign, counted, counted_in(test.scheme for test in answer.tests))
    if not by_run:
        return None
    names_plan = len({test.plan_label for test in answer.tests}) > 1
    return CampaignCounters(
        counter_means_table(
            [_test_counters(test, by_run, names_plan=names_plan) for test in answer.tests]
        ),
        [
            compared_counters_table(number, overhead.title, overhead.names, rows)
            for number, overhead in enumerate(answer.overheads)
            if (rows := list(_compared(overhead, by_run)))
        ],
    )


def _perf_by_run(campaign: Campaign, counted: Collection[int], nouns: str) -> ByRun:
    """Of the runs among `counted` with counts: figures by their words, those of several machines
    added up. `nouns`: what the campaign's tests count."""
    if not campaign.perf:
        return {}
    runs = Run.objects.filter(pk__in=counted, n__gt=0)
    runs = runs.annotate(duration_s=of_latest_summaries("duration_s"))
    rows = runs.filter(duration_s__gt=0).values_list("pk", "n", "duration_s")
    durations_s = {pk: (n, duration_s) for pk, n, duration_s in rows}
    return {
        pk: figures_of_perf(perf_together(uses), durations_s[pk][0] / durations_s[pk][1], nouns)
        for pk, uses in _uses(durations_s).items()
    }


def _uses(durations_s: dict[int, tuple[int, float]]) -> dict[int, list[PerfUse]]:
    """By run, of each machine that counted something; from what is kept, if its seconds are
    gone."""
    told = defaultdict(list)
    seconds = MachineSecond.objects.filter(run__in=durations_s, second__gte=0, did__has_key="perf")
    rows = seconds.order_by("run_id", "source", "second").values_list(
        "run", "source", "second", "did__perf"
    )
    for pk, source, second, perf in rows.iterator(chunk_size=2000):
        n_seconds = n_whole_seconds(durations_s[pk][1])
        if second < n_seconds and is_inner(second, n_seconds):
            told[pk, source].append(perf)
    uses = defaultdict(list)
    for (pk, _), perfs in told.items():
        uses[pk].append(perf_use(perfs))
    kept = RunUse.objects.filter(run__in=durations_s, kept__has_key="machines")
    for pk, machines in kept.values_list("run", "kept__machines"):
        uses[pk] += [use.perf for use in map(MachineUse.from_json, machines) if use.perf]
    with_rates = {pk: [use for use in of_run if use.rates] for pk, of_run in uses.items()}
    return {pk: of_run for pk, of_run in with_rates.items() if of_run}


def _test_counters(test: TestAnswer, by_run: ByRun, *, names_plan: bool) -> TestCounters:
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

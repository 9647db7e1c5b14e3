"""What agents are to count by perf stat, and what they counted in the runs of a campaign.

Checks no permissions: callers pass campaigns found with visible_to, or an agent's own target.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from campaigns.domain.lifecycle import ACTIVE_STATES, RunState
from campaigns.domain.measured.machine_use import MachineUse, is_inner, n_whole_seconds
from campaigns.domain.measured.perf_counts import PerfOf, PerfUse, perf_together, perf_use
from campaigns.domain.shown.perf_table import figures_of_perf
from campaigns.models import Campaign, Endpoint, MachineSecond, Run, RunUse
from campaigns.queries.checks import Check
from campaigns.queries.measurements import of_latest_summaries
from campaigns.queries.targets import live_agents

BY_AGENT = "perf stat by the agent"


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


def perf_by_run(
    campaign: Campaign, counted: Collection[int], nouns: str
) -> dict[int, dict[str, float]]:
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

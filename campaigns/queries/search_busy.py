"""How busy everyone was in each trial of a search. No permissions: the caller found its campaign,
and says whether its reader may see the target's machines. What limited a search, from its trials.
No permissions: the caller found its campaign."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Avg, F, Func, IntegerField, Max, Q
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Coalesce, NullIf

from campaigns.domain.analysis.busy import (
    Busy,
    MachineLoad,
    busy_of,
    link_share,
    mean_busy,
    observed_vitals,
)
from campaigns.domain.analysis.capacity import Ending, TrialResult
from campaigns.domain.analysis.criteria import LimitsByCode
from campaigns.domain.metrics.machine import BUSY, CPU
from campaigns.domain.metrics.machine_use import MachineUse, n_whole_seconds
from campaigns.domain.presentation.capacity_words import Limiter, limiter_of, signs_of
from campaigns.domain.units import rate
from campaigns.models import MachineSecond, RunSummary, RunUse
from campaigns.queries.machine_runs import told_figure
from campaigns.queries.searches import MadeTrial, SearchReport

BusyByRun = Mapping[int, Busy]


def busy_by_run(made: Sequence[MadeTrial], *, with_machines: bool = True) -> BusyByRun:
    """By the number of each trial's run. Without machines nothing is said of the target's."""
    pks = [each.run.pk for each in made]
    stored = RunSummary.objects.filter(run__in=pks)
    rows = stored.values_list("run_id", "vitals", "duration_s")
    summaries = {pk: (vitals, duration_s) for pk, vitals, duration_s in rows}
    machines = {}
    if with_machines:
        measured = {pk: n_whole_seconds(duration_s) for pk, (_, duration_s) in summaries.items()}
        machines = _stored_loads(measured) | _kept_loads(pks)
    return {
        pk: busy_of(summaries[pk][0] if pk in summaries else [], machines.get(pk, [])) for pk in pks
    }


def _stored_loads(n_seconds: Mapping[int, int]) -> dict[int, list[MachineLoad]]:
    """Of the runs with so many measured seconds each, added up by the database: a search may have
    tens of thousands of seconds. The figures are those of `machine_use`."""
    if not n_seconds:
        return {}
    seconds = MachineSecond.objects.filter(_measured(n_seconds)).values("run_id", "source")
    rows = seconds.annotate(
        cpu=Coalesce(
            *(Avg(used / NullIf(_sum_of(CPU), 0.0)) for used in (F("watched_s"), _sum_of(BUSY)))
        ),
        n_cores=Max(_length_of("cores")),
        received=Avg(told_figure("received_bytes") / F("lasted_s")),
        sent=Avg(told_figure("sent_bytes") / F("lasted_s")),
        speed=Avg(told_figure("link_bytes_per_s")),
    )
    loads = defaultdict(list)
    for row in rows.order_by("run_id", "source"):
        link = link_share((row["received"], row["sent"]), row["speed"])
        loads[row["run_id"]].append(MachineLoad(row["cpu"], row["n_cores"] or 0, link))
    return dict(loads)


def _kept_loads(pks: Sequence[int]) -> dict[int, list[MachineLoad]]:
    """Of the runs whose seconds retention removed."""
    kept = RunUse.objects.filter(run__in=pks, kept__has_key="machines").values_list("run", "kept")
    return {
        pk: [MachineLoad.of_use(MachineUse.from_json(each)) for each in found["machines"]]
        for pk, found in kept
        if found["machines"]
    }


def _measured(n_seconds: Mapping[int, int]) -> Q:
    """The seconds of the measurements: most trials have as many."""
    runs = defaultdict(list)
    for pk, n in n_seconds.items():
        runs[n].append(pk)
    return reduce(or_, (Q(run__in=pks, second__range=(0, n - 1)) for n, pks in runs.items()))


def _length_of(name: str) -> Func:
    listed = KeyTransform(name, "did")
    return Func(listed, function="jsonb_array_length", output_field=IntegerField())


def _sum_of(states: Sequence[str]):
    first, *others = (Coalesce(told_figure(state), 0.0) for state in states)
    return sum(others, first)


_NEAR = 1.03  # the answer, as a factor


def busy_near(report: SearchReport, busy: BusyByRun) -> Busy:
    """How busy everyone was on average in the trials near the answer."""
    return mean_busy([busy[each.run.pk] for each in near_the_answer(report)])


def limiter_beside(report: SearchReport, near: Busy, *, with_machines: bool = True) -> Limiter:
    """With what the target's machine told of the trials near the answer. That is read each time:
    an agent may tell it after the search has ended."""
    limiter = limiter_of_search(report)
    return limiter.beside_machine(near) if with_machines else limiter.without_machine(report.host)


def limiter_of_search(report: SearchReport) -> Limiter:
    """Without the target's machine: as it was stored with the answer; else from the trials."""
    if report.search.answer is not None:
        return Limiter.from_json(report.search.answer["limiter"])
    return limiter_of(
        report.ending,
        [signs_of(each.run.verdicts, each.run.judged) for each in _failed(report)],
        [each.trial.reason for each in _open(report)],
        _vitals_of(near_the_answer(report)),
        f"{rate(report.search.limit_per_s)} requests/s",
        LimitsByCode.with_overrides(settings.JUDGEMENT_LIMITS),
        [judged for each in _open(report) if (judged := each.run.judged) and judged.is_in_doubt],
    )


def near_the_answer(report: SearchReport) -> list[MadeTrial]:
    """The trials that say how busy everyone was: those that passed within 3 % of the answer, or at
    the highest rate; where none passed, the one that failed; those that do not count where the
    injectors were the limit."""
    if report.ending == Ending.INJECTOR:
        return _open(report)
    passed = [each for each in report.made if each.trial.result == TrialResult.PASSED]
    passed.sort(key=lambda each: each.trial.rate_per_s)
    found = report.capacity
    rates = (found.rate_per_s / _NEAR, found.rate_per_s * _NEAR) if found else (0.0, 0.0)
    near = [each for each in passed if rates[0] <= each.trial.rate_per_s <= rates[1]]
    return near or passed[-1:] or _failed(report)[:1]


def _failed(report: SearchReport) -> list[MadeTrial]:
    return [each for each in report.made if each.trial.result == TrialResult.FAILED]


def _open(report: SearchReport) -> list[MadeTrial]:
    """The last trials that do not count."""
    return [each for each in report.made if each.trial.result == TrialResult.UNTRUSTED][-2:]


def _vitals_of(made: Sequence[MadeTrial]) -> list[dict[str, float]]:
    summaries = RunSummary.objects.filter(run__in=[each.run for each in made])
    return [
        {code: seen.value for code, seen in observed_vitals(vitals).items()}
        for vitals in summaries.order_by("run_id").values_list("vitals", flat=True)
    ]

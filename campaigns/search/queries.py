"""What is known of a search: its trials, and what follows from them, which is stored when it ends;
how busy everyone was in each trial, and what limited it. No permissions: the callers found its
campaign with `visible_to` and say whether its reader may see the target's machines, or are the
dispatcher."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings
from django.db.models import Avg, F, Func, IntegerField, Max
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Coalesce, NullIf

from campaigns.domain.analysis.capacity import (
    CapacityAnswer,
    CapacityInterval,
    CapacitySearch,
    Ending,
    NextTrial,
    SearchRules,
    Trial,
    TrialResult,
    next_action,
    trial_of,
    without_machine,
)
from campaigns.domain.analysis.judgement import LimitsByCode
from campaigns.domain.analysis.limit import (
    Busy,
    MachineLoad,
    busy_of,
    link_share,
    mean_busy,
    observed_vitals,
)
from campaigns.domain.analysis.messages import Sentence
from campaigns.domain.lifecycle import Outcome, RunState, Trust
from campaigns.domain.metrics.machine import BUSY, CPU, n_whole_seconds
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.capacity_words import (
    Limiter,
    limiter_of,
    objective_words,
    search_sentence,
    signs_of,
)
from campaigns.machines.queries.machine_runs import seconds_of_measurements, told_figure
from campaigns.machines.queries.target_costs import kept_machines
from campaigns.models import Endpoint, PlanVersion, Probe, Run, RunSummary, Search
from campaigns.runs.queries.runs import with_verdicts

# A target that does not answer for so long after a trial has ended the search.
SILENT_AFTER_S = 60
# Somebody or something ended these from outside, and the search with them.
FROM_OUTSIDE = (Outcome.STOPPED, Outcome.KILLED, Outcome.EXPIRED)


@dataclass(frozen=True, slots=True)
class MadeTrial:
    """A trial with its run. `search`: 0 on the way to the first answer, then the number."""

    run: Run
    trial: Trial
    search: int


@dataclass(frozen=True, slots=True)
class SearchReport:
    """A search with all that its page, CSV and JSON say. `rules`: its objective. `ending`: None
    while it goes on; `answer` is then what would be known if it were stopped now."""

    search: Search
    made: list[MadeTrial]
    answer: CapacityAnswer
    rules: tuple[Threshold, ...]
    ending: Ending | None

    def without_machine(self) -> "SearchReport":
        """For readers who may know neither the target's machine nor what it did."""
        for each in self.made:
            each.run.shows_machine = False
        trials = [replace(each, trial=without_machine(each.trial, self.host)) for each in self.made]
        return replace(self, made=trials)

    @property
    def host(self) -> str:
        """The target's; "" before the first trial."""
        return self.made[0].run.snapshot["endpoint"]["host"] if self.made else ""

    @property
    def capacity(self) -> CapacityInterval | None:
        """None as well of a target that drifted, and where only a bound is known."""
        has_none = self.ending in (Ending.LIMIT, Ending.INJECTOR, Ending.DRIFTED)
        return None if has_none else self.answer.capacity

    @property
    def found(self) -> Answers:
        """What its badge tells: trials break rules and overload the target to find the answer."""
        is_known = self.answer.capacity or self.answer.at_least or self.answer.below
        return Answers() if is_known else Answers(trust=Trust.NO_ANSWER)

    @property
    def sentence(self) -> Sentence:
        words = objective_words(self.rules)
        return search_sentence(self.answer, words, is_going_on=self.ending is None)


def report_of_search(search: Search) -> SearchReport:
    """The stored answer; by the rule of today only what is under way."""
    if search.answer is None:
        return replayed_report(search, None)
    row_by_trial = {each["trial"]: each for each in search.answer["trials"]}
    trials = [
        MadeTrial(
            run, Trial(_rate_of(run), TrialResult(row["result"]), row["reason"]), row["search"]
        )
        for run in trial_runs(search)
        if (row := row_by_trial.get(run.repeat))
    ]
    answer = CapacityAnswer.from_json(search.answer)
    return SearchReport(search, trials, answer, objective_of(search), answer.ending)


def replayed_report(search: Search, ending: Ending | None) -> SearchReport:
    """What follows from the trials by the rule of today, if the search ends like this."""
    state, trials = CapacitySearch(rules_of(search)), []
    for run in trial_runs(search):
        action = state.next_action()
        trial = _trial(run)
        trials.append(MadeTrial(run, trial, action.search if isinstance(action, NextTrial) else 0))
        state.take(trial)
    answer = state.answer(ending or Ending.STOPPED)
    return SearchReport(search, trials, answer, objective_of(search), ending)


def to_store(report: SearchReport, limiter: Limiter) -> dict[str, Any]:
    """The answer of a search that ends, with what came of each trial and what limited it."""
    trials = [
        {
            "trial": each.run.repeat,
            "search": each.search,
            "result": str(each.trial.result),
            "reason": each.trial.reason,
        }
        for each in report.made
    ]
    return {**report.answer.to_json(), "trials": trials, "limiter": asdict(limiter)}


def objective_of(search: Search) -> tuple[Threshold, ...]:
    first = search.campaign.runs.order_by("position").first()
    return first.frozen.plan.thresholds if first else ()


def first_response_us(version: PlanVersion, endpoint: Endpoint) -> float | None:
    """How long the endpoint's latest single request took, rather one of this plan's path; None if
    none was answered."""
    plan = version.value()
    path = plan.exchange.path if plan.exchange else plan.steps[0].path
    probes = Probe.objects.filter(endpoint=endpoint, finished_at__isnull=False).order_by("-pk")[:20]
    with_response = [each for each in probes if each.result and each.result.get("response_us")]
    with_response = [each for each in with_response if not each.result.get("error")]
    same = [each for each in with_response if each.request.get("path") == path]
    latest = next(iter(same or with_response), None)
    return latest and latest.result["response_us"]


def rules_of(search: Search) -> SearchRules:
    return SearchRules(search.start_per_s, search.limit_per_s, search.campaign.seed)


def trial_runs(search: Search) -> list[Run]:
    """The runs that count as trials, by their numbers."""
    runs = search.campaign.runs.filter(state=RunState.DONE).exclude(outcome__in=FROM_OUTSIDE)
    return list(with_verdicts(runs.order_by("repeat")))


def unreported_rules(search: Search) -> list[str]:
    """The rules about the target's machine that nobody told a figure for in the last trial."""
    last = next(reversed(trial_runs(search)), None)
    return [each.rule for each in last.verdicts if each.lacks_agent] if last else []


def action_of(search: Search, halt: Ending | None = None) -> NextTrial | CapacityAnswer:
    return next_action(rules_of(search), map(_trial, trial_runs(search)), halt)


def _trial(run: Run) -> Trial:
    return trial_of(_rate_of(run), run.outcome, run.reason, run.judged, run.verdicts)


def _rate_of(run: Run) -> float:
    return run.snapshot["plan"]["load"]["rate_per_s"]


BusyByRun = Mapping[int, Busy]


def busy_by_run(trials: Sequence[MadeTrial], *, with_machines: bool = True) -> BusyByRun:
    """By the number of each trial's run. Without machines nothing is said of the target's."""
    pks = [each.run.pk for each in trials]
    stored = RunSummary.objects.filter(run__in=pks)
    rows = stored.values_list("run_id", "vitals", "duration_s")
    summaries = {pk: (vitals, duration_s) for pk, vitals, duration_s in rows}
    machines = {}
    if with_machines:
        n_seconds_by_run = {
            pk: n_whole_seconds(duration_s) for pk, (_, duration_s) in summaries.items()
        }
        machines = _stored_loads(n_seconds_by_run) | {
            pk: list(map(MachineLoad.of_use, uses)) for pk, uses in kept_machines(pks) if uses
        }
    return {
        pk: busy_of(summaries[pk][0] if pk in summaries else [], machines.get(pk, [])) for pk in pks
    }


def _stored_loads(n_seconds: Mapping[int, int]) -> dict[int, list[MachineLoad]]:
    """Of the runs with so many measured seconds each, added up by the database: a search may have
    tens of thousands of seconds. The figures are those of `machine_use`."""
    if not n_seconds:
        return {}
    seconds = seconds_of_measurements(n_seconds).values("run_id", "source")
    cores = KeyTransform("cores", "did")
    rows = seconds.annotate(
        cpu=Coalesce(
            *(Avg(use / NullIf(_sum_of(CPU), 0.0)) for use in (F("watched_s"), _sum_of(BUSY)))
        ),
        n_cores=Max(Func(cores, function="jsonb_array_length", output_field=IntegerField())),
        received=Avg(told_figure("received_bytes") / F("lasted_s")),
        sent=Avg(told_figure("sent_bytes") / F("lasted_s")),
        speed=Avg(told_figure("link_bytes_per_s")),
    )
    loads = defaultdict(list)
    for row in rows.order_by("run_id", "source"):
        link = link_share((row["received"], row["sent"]), row["speed"])
        loads[row["run_id"]].append(MachineLoad(row["cpu"], row["n_cores"] or 0, link))
    return dict(loads)


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
    summaries = RunSummary.objects.filter(run__in=[each.run for each in near_the_answer(report)])
    return limiter_of(
        report.ending,
        [signs_of(each.run.verdicts, each.run.judged) for each in _failed(report)],
        [each.trial.reason for each in _open(report)],
        [
            {code: observation.value for code, observation in observed_vitals(vitals).items()}
            for vitals in summaries.order_by("run_id").values_list("vitals", flat=True)
        ],
        LimitsByCode.with_overrides(settings.JUDGEMENT_LIMITS),
        [
            judgement
            for each in _open(report)
            if (judgement := each.run.judged) and judgement.is_in_doubt
        ],
    )


def near_the_answer(report: SearchReport) -> list[MadeTrial]:
    """The trials that say how busy everyone was: those that passed within 3 % of the answer, or at
    the highest rate; where none passed, the one that failed; those that do not count where the
    injectors were the limit."""
    if report.ending == Ending.INJECTOR:
        return _open(report)
    successes = [each for each in report.made if each.trial.result == TrialResult.PASSED]
    successes.sort(key=lambda each: each.trial.rate_per_s)
    interval = report.capacity
    rates = (interval.rate_per_s / _NEAR, interval.rate_per_s * _NEAR) if interval else (0.0, 0.0)
    near = [each for each in successes if rates[0] <= each.trial.rate_per_s <= rates[1]]
    return near or successes[-1:] or _failed(report)[:1]


def _failed(report: SearchReport) -> list[MadeTrial]:
    return [each for each in report.made if each.trial.result == TrialResult.FAILED]


def _open(report: SearchReport) -> list[MadeTrial]:
    """The last trials that do not count."""
    return [each for each in report.made if each.trial.result == TrialResult.UNTRUSTED][-2:]

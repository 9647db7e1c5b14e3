"""What is known of a search: its trials, and what follows from them. No permissions: the callers
found its campaign with `visible_to`, or are the dispatcher."""

from dataclasses import dataclass

from campaigns.domain.judged.capacity import (
    CapacityAnswer,
    CapacitySearch,
    Ending,
    NextTrial,
    SearchRules,
    Trial,
    next_action,
)
from campaigns.domain.judged.capacity_trial import trial_of
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.plan.threshold import Threshold
from campaigns.domain.shown.capacity_words import objective_words, search_sentence
from campaigns.domain.shown.results import Sentence
from campaigns.models import Endpoint, PlanVersion, Probe, Run, Search
from campaigns.queries.runs import with_verdicts

# Somebody or something ended these from outside, and the search with them.
_FROM_OUTSIDE = (Outcome.STOPPED, Outcome.KILLED, Outcome.EXPIRED)


@dataclass(frozen=True, slots=True)
class MadeTrial:
    """A trial with its run. `search`: 0 on the way to the first answer, then the number."""

    run: Run
    trial: Trial
    search: int


@dataclass(frozen=True, slots=True)
class SearchReport:
    """A search with all that its page, CSV and JSON say. `rules`: its objective."""

    search: Search
    made: list[MadeTrial]
    answer: CapacityAnswer
    rules: tuple[Threshold, ...]
    sentence: Sentence


def report_of_search(search: Search) -> SearchReport:
    made = made_trials(search)
    answer = answer_of(search, made)
    rules = objective_of(search)
    sentence = search_sentence(answer, objective_words(rules), is_going_on=search.ending is None)
    return SearchReport(search, made, answer, rules, sentence)


def objective_of(search: Search) -> tuple[Threshold, ...]:
    first = search.campaign.runs.order_by("position").first()
    return first.frozen.plan.thresholds if first else ()


def first_response_us(version: PlanVersion, endpoint: Endpoint) -> float | None:
    """How long the endpoint's latest single request took, rather one of this plan's path; None if
    none was answered."""
    plan = version.value()
    path = plan.exchange.path if plan.exchange else plan.steps[0].path
    done = Probe.objects.filter(endpoint=endpoint, finished_at__isnull=False).order_by("-pk")[:20]
    answered = [each for each in done if each.result and each.result.get("response_us")]
    answered = [each for each in answered if not each.result.get("error")]
    same = [each for each in answered if each.request.get("path") == path]
    latest = next(iter(same or answered), None)
    return latest and latest.result["response_us"]


def rules_of(search: Search) -> SearchRules:
    return SearchRules(search.start_per_s, search.limit_per_s, search.campaign.seed)


def trial_runs(search: Search) -> list[Run]:
    """The runs that count as trials, by their numbers."""
    done = search.campaign.runs.filter(state=RunState.DONE).exclude(outcome__in=_FROM_OUTSIDE)
    return list(with_verdicts(done.order_by("repeat")))


def made_trials(search: Search) -> list[MadeTrial]:
    state, made = CapacitySearch(rules_of(search)), []
    for run in trial_runs(search):
        action = state.next_action()
        trial = _trial(run)
        made.append(MadeTrial(run, trial, action.search if isinstance(action, NextTrial) else 0))
        state.take(trial)
    return made


def was_ended_from_outside(search: Search) -> bool:
    return search.campaign.runs.filter(outcome__in=_FROM_OUTSIDE).exists()


def action_of(search: Search, halt: Ending | None = None) -> NextTrial | CapacityAnswer:
    return next_action(rules_of(search), map(_trial, trial_runs(search)), halt)


def answer_of(search: Search, made: list[MadeTrial]) -> CapacityAnswer:
    """What is known now, if it ended as it has, or by hand at this moment."""
    state = CapacitySearch(rules_of(search))
    for each in made:
        state.take(each.trial)
    return state.answer(Ending(search.ending) if search.ending else Ending.STOPPED)


def _trial(run: Run) -> Trial:
    rate = run.snapshot["plan"]["load"]["rate_per_s"]
    return trial_of(rate, run.outcome, run.reason, run.judged, run.verdicts)

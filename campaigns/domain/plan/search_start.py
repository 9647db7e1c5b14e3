"""A search for a capacity before its first trial: what its form starts with, what it will cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Annotated, Any

from campaigns.domain.plan.estimates import SET_UP_S
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import Plan

# What an open load keeps for its trials; the rest of the load is the trial's own.
_KEPT = ("distribution", "arrival_unit", "max_in_flight", "when_saturated", "shares")


def trial_plan(
    plan: Plan, rate_per_s: float, trial_s: float, objective: Sequence[dict[str, Any]] = ()
) -> Plan:
    """`objective`: rules as JSON that replace the plan's own, if there are any. Raises InvalidPlan
    if its requests cannot be sent like this."""
    spec = plan.to_json()
    if objective:
        spec["thresholds"] = list(objective)
    load = spec["load"] if plan.load.model == Model.OPEN else {}
    kept = {name: load[name] for name in _KEPT if load.get(name) is not None}
    trial = {"model": "open", "rate_per_s": rate_per_s, "duration_s": trial_s}
    return Plan.from_json({**spec, "load": {**kept, **trial}})


# A search usually takes so many trials; see "The search for a capacity" in docs/measuring.md.
USUAL_TRIALS = 35
USUAL_LIMIT_PER_S = 5000
PAUSE_S = 2.0  # after each trial
_ERRORS = "errors < 1 %"
_STEPS = (1, 2, 5, 10)


def objective_for(first_us: float | None) -> str:
    """Ten times as long as the first request took, which had the service to itself, and at least
    100 ms; `first_us` None: nobody has tried one."""
    limit_ms = 500 if first_us is None else max(100, _round_up(first_us / 100))
    return f"p95 < {limit_ms:g} ms, {_ERRORS}"


def start_for(first_us: float | None) -> float:
    """A rate in requests/s that should be kept easily: a fifth of what requests one after another
    would make, 1 to 100."""
    return 10 if not first_us else min(100, max(1, _round_down(2e5 / first_us)))


def limit_for(most_per_s: float | None) -> float:
    """`most_per_s`: the cap of the installation, None without one."""
    return min(USUAL_LIMIT_PER_S, most_per_s or USUAL_LIMIT_PER_S)


def _round_down(value: float) -> float:
    decade = 10 ** floor(log10(value))
    return max(step * decade for step in _STEPS if step * decade <= value)


def _round_up(value: float) -> float:
    decade = 10 ** floor(log10(value)) if value > 0 else 1
    return min(step * decade for step in _STEPS if step * decade >= value)


def rules_of_text(text: str) -> Sequence[str]:
    """The rules of "p95 < 300 ms, errors < 1 %", or of lines."""
    return [rule.strip() for rule in text.replace("\n", ",").split(",") if rule.strip()]


@dataclass(frozen=True, slots=True)
class SearchCost:
    trials: Annotated[int, "About how many."]
    lasts_s: Annotated[float, "With warm-ups and pauses."]
    load_s: Annotated[float, "How much of it is load."]
    missing_s: Annotated[
        float,
        "How much more time than it has a search usually takes. Above 0 the answer may have no "
        "interval.",
    ]

    @property
    def each_s(self) -> float:
        """Of a trial, from its set-up to the end of its pause."""
        return self.lasts_s / self.trials


def search_cost(
    *, trial_s: float, warm_up_s: float, pause_s: float, longest_s: float
) -> SearchCost:
    each_s = warm_up_s + trial_s + pause_s + SET_UP_S
    usual_s = USUAL_TRIALS * each_s
    trials = min(USUAL_TRIALS, max(1, ceil(longest_s / each_s) - 1))
    return SearchCost(
        trials, trials * each_s, trials * (warm_up_s + trial_s), max(0.0, usual_s - longest_s)
    )

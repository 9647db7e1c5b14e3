"""What a search for a capacity will cost, and whether it can start: for its form and REST."""

from collections.abc import Sequence
from contextlib import suppress

from campaigns.domain.caps import LOAD_HOURS
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.search_start import PAUSE_S, SearchCost, search_cost
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.models import Endpoint, Project
from campaigns.queries.caps import use_of
from campaigns.queries.checks import Check, checks_before_start, first_requests_check
from campaigns.queries.machine_rules import untold_rule


def cost_of_search(plan: Plan, *, trial_s: float, longest_s: float) -> SearchCost:
    return search_cost(
        trial_s=trial_s, warm_up_s=plan.warm_up_s, pause_s=PAUSE_S, longest_s=longest_s
    )


def checks_of_search(
    project: Project,
    plan: Plan,
    endpoint: Endpoint,
    injectors: int,
    cost: SearchCost,
    objective: Sequence[str] = (),
) -> list[Check]:
    """In the order in which a start would fail, then what the project's cap has left. `objective`:
    the rules that are searched by, as far as they can be read; else the plan's."""
    rules = _known_rules(objective) or plan.thresholds
    untold = untold_rule(endpoint.target, rules)
    refusals = [use.refusal(project.name, cost.load_s) for use in use_of(project, {LOAD_HOURS})]
    return [
        first_requests_check([(plan, endpoint)]),
        *([Check("bad", untold)] if untold else []),
        *checks_before_start(project, [endpoint], injectors),
        *(Check("warn", refusal) for refusal in refusals if refusal),
    ]


def _known_rules(objective: Sequence[str]) -> list[Threshold]:
    """What is still being typed is left out; the form says what is wrong with it."""
    found = []
    for text in objective:
        with suppress(ValueError):
            found.append(Threshold(**parse_rule(text)))
    return found

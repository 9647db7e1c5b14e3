"""Rules about a target's machine whose figures nobody would tell. Checks no permissions."""

from collections.abc import Iterable, Iterator, Sequence

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import Threshold
from campaigns.models import Endpoint, Target
from campaigns.queries.checks import Check
from campaigns.queries.targets import is_watched

_UNTOLD = (
    "{rule} needs an agent or an exporter on the machine of {target}, and none tells anything now. "
    "Start one as the target's page says, or leave the rule out."
)


def unreported_rule(target: Target, rules: Sequence[Threshold]) -> str:
    """What to do about the first rule that nobody would tell in the target's next run; "" if all
    are told."""
    rule = next((each for each in rules if each.is_of_machine), None)
    if rule is None or is_watched(target):
        return ""
    return _UNTOLD.format(rule=rule.rule, target=target.name)


def machine_rule_checks(cells: Iterable[tuple[Plan, Endpoint]]) -> Iterator[Check]:
    """Before a start; of each target and rule once."""
    said = (
        unreported_rule(endpoint.target, plan.thresholds)
        for plan, endpoint in cells
        if endpoint.target_id
    )
    for text in dict.fromkeys(filter(None, said)):
        yield Check("warn", text)

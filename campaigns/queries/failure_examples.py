"""Examples of failures, for those who may read the plan: a share link's visitor sees none."""

from campaigns.models import FailureExample
from campaigns.permissions import Actor

MOST_SHOWN = 3
_MOST_READ = 600
Key = tuple[str, str, int]  # (the step's label, kind, status)


def examples_of(actor: Actor, **runs) -> dict[Key, list[FailureExample]]:
    """Up to three of each kind, status and step: the first, one between, and the last.

    `runs` selects them, such as run=…, or run__campaign=….
    """
    found: dict[Key, list[FailureExample]] = {}
    seen = FailureExample.objects.visible_to(actor).filter(**runs).select_related("run")
    for each in seen.order_by("run__position", "at_us", "pk")[:_MOST_READ]:
        labels = each.run.frozen.plan.labels
        label = labels[each.step] if each.step < len(labels) else ""
        found.setdefault((label, each.kind, each.status), []).append(each)
    return {key: _spread(each) for key, each in found.items()}


def _spread(examples: list[FailureExample]) -> list[FailureExample]:
    if len(examples) <= MOST_SHOWN:
        return examples
    return [examples[0], examples[len(examples) // 2], examples[-1]]

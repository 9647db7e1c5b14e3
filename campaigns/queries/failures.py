"""A campaign's failures: those of its measured runs together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaigns.domain.measured.failures import FailureRow, most_frequent_first
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.shown.errors_table import Errors, errors_of
from campaigns.models import FailureExample
from campaigns.permissions import Actor
from campaigns.queries.measured import MeasuredRun, pooled_total

_SHOWN = ("failed_reply",)


@dataclass(frozen=True, slots=True)
class CampaignFailures:
    """`rows` have numbers of `labels`, the campaign's different steps, as their steps."""

    rows: list[FailureRow]
    labels: list[str]
    steps: list[Total]
    attempts: int
    length_s: float

    @property
    def errors(self) -> Errors:
        return errors_of(self.rows, self.labels, self.steps, self.attempts, self.length_s)


def failures_of(runs: Sequence[MeasuredRun]) -> CampaignFailures:
    """The failures of all measured runs, usable or not."""
    measured = [each for each in runs if each.measurement]
    numbers: dict[str, int] = {}
    of_step: dict[int, list[MeasuredRun]] = {}
    rows: dict[tuple[int, str, int], FailureRow] = {}
    for each in measured:
        seen = each.measurement
        places = [numbers.setdefault(label, len(numbers)) for label in seen.plan.labels]
        if len(places) == 1:
            of_step.setdefault(places[0], []).append(each)
        for row in seen.failures:
            place = places[row.step] if row.step < len(places) else -1
            key = (place, row.kind, row.status)
            if key in rows:
                rows[key].merge(row)
            else:
                rows[key] = replace(row, step=place, bins=list(row.bins))
    return CampaignFailures(
        rows=most_frequent_first(rows.values()),
        labels=list(numbers),
        steps=[pooled_total(of_step.get(n, ()), _SHOWN) for n in range(len(numbers))],
        attempts=sum(each.figures.attempts for each in measured),
        length_s=max((each.figures.duration_s for each in measured), default=0.0),
    )


MOST_SHOWN = 3
_MOST_READ = 600
Key = tuple[str, str, int]  # (the step's label, kind, status)


def examples_of(actor: Actor, **runs) -> dict[Key, list[FailureExample]]:
    """Up to three of each kind, status and step: the first, one between, and the last. `runs`
    selects them, such as run=…, or run__campaign=…."""
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

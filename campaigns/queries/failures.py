"""A campaign's failures: those of its measured runs together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaigns.domain.measured.failures import FailureRow, most_frequent_first
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.shown.errors_table import Errors, errors_of
from campaigns.queries.measured import MeasuredRun, with_timings

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
    measured = [each.measurement for each in runs if each.measurement]
    numbers: dict[str, int] = {}
    steps: dict[int, Total] = {}
    rows: dict[tuple[int, str, int], FailureRow] = {}
    for seen in measured:
        places = [numbers.setdefault(label, len(numbers)) for label in seen.plan.labels]
        if len(places) == 1:
            total = with_timings(seen.total, _SHOWN)
            steps.setdefault(places[0], Total()).add(total)
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
        steps=[steps.get(number, Total()) for number in range(len(numbers))],
        attempts=sum(seen.figures.attempts for seen in measured),
        length_s=max((seen.duration_s for seen in measured), default=0.0),
    )

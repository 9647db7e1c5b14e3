"""What a campaign's arms are drawn as together, if anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.shown.ladder import MEAN, Ladder
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.target_matrix import TargetMatrix
from campaigns.models import Campaign
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.ladders import ladder_of
from campaigns.queries.overheads import Overhead
from campaigns.queries.sweeps import sweep_answers
from campaigns.queries.target_matrix import target_matrix


@dataclass(frozen=True)
class Shapes:
    """Sweeps, several targets side by side, or a ladder.

    `rungs` is the ladder by its means, which the sentence tells, and `climbed` its comparisons;
    `ladder` is the one that is asked for.
    """

    sweeps: Sequence[SweepAnswer]
    matrix: TargetMatrix | None
    rungs: Ladder | None
    climbed: Sequence[Overhead]
    ladder: Ladder | None

    @property
    def has_word(self) -> bool:
        return self.rungs is not None and self.rungs.has_word


def shapes_of(
    campaign: Campaign, arms: list[MeasuredTest], relative: int, metric: str, *, is_final: bool
) -> Shapes:
    """`relative`, `metric`: as in `campaign_answer`."""
    sweeps = sweep_answers(campaign, arms, relative)
    # A sweep's tables and curves tell its targets apart at each value.
    matrix = None if sweeps else target_matrix(campaign, arms, relative)
    rungs, climbed = ladder_of(campaign, arms, is_final=is_final)
    ladder = rungs
    if rungs and metric != MEAN:
        ladder, _ = ladder_of(campaign, arms, is_final=is_final, metric=metric)
    return Shapes(sweeps, matrix, rungs, climbed, ladder)

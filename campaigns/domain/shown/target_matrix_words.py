"""The matrix of several targets in one sentence: who is the fastest where."""

from campaigns.domain.shown.results import Sentence
from campaigns.domain.shown.target_matrix import TargetMatrix
from campaigns.domain.units import and_joined


def matrix_sentence(matrix: TargetMatrix) -> Sentence:
    """Who is the fastest where; [] where no row can say it yet."""
    settled = [row for row in matrix.rows if row.first_two is not None]
    if not settled:
        return []
    plans: dict[str, list[str]] = {}
    for row in settled:
        plans.setdefault(row.best, []).append(row.plan)
    open_plans = plans.pop("", [])
    if not plans:
        return [("No target is clearly ahead", True), (f" at {and_joined(open_plans)}.", False)]
    if len(plans) == 1 and not open_plans:
        (name, at) = next(iter(plans.items()))
        return [(f"{name} is the fastest", True), (f" at {and_joined(at)}.", False)]
    said = [f"{name} takes the least time at {and_joined(at)}" for name, at in plans.items()]
    words = f" {', '.join(said)}"
    if open_plans:
        words += f"; none is clearly ahead at {and_joined(open_plans)}"
    return [("No target is the fastest everywhere.", True), (f"{words}.", False)]

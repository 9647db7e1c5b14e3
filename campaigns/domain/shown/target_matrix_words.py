"""The matrix of several targets in one sentence: who is the fastest where."""

from collections.abc import Sequence

from campaigns.domain.shown.results import Sentence
from campaigns.domain.shown.target_matrix import TargetMatrix


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
        return [("No target is clearly ahead", True), (f" at {_listed(open_plans)}.", False)]
    if len(plans) == 1 and not open_plans:
        (name, at) = next(iter(plans.items()))
        return [(f"{name} is the fastest", True), (f" at {_listed(at)}.", False)]
    said = [f"{name} takes the least time at {_listed(at)}" for name, at in plans.items()]
    words = f" {', '.join(said)}"
    if open_plans:
        words += f"; none is clearly ahead at {_listed(open_plans)}"
    return [("No target is the fastest everywhere.", True), (f"{words}.", False)]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

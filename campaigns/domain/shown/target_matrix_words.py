"""The matrix of several targets in one sentence: who is the fastest where."""

from collections import Counter

from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.shown.results import Sentence
from campaigns.domain.shown.target_matrix import TargetMatrix
from campaigns.domain.units import and_joined


def matrix_sentence(matrix: TargetMatrix) -> Sentence:
    """Who is the fastest where, and where nobody can tell; [] where no row can say it yet."""
    rows = list(zip(_row_names(matrix), matrix.rows, strict=True))
    plans: dict[str, list[str]] = {}
    for name, row in rows:
        if row.first_two is not None:
            plans.setdefault(row.best, []).append(name)
    if not plans:
        return []
    unknown = [name for name, row in rows if row.first_two is None]
    return _who(plans, plans.pop("", [])) + _not_judged(unknown)


def _row_names(matrix: TargetMatrix) -> list[str]:
    """Their plans, with the place of one that was measured in two."""
    times = Counter(row.plan for row in matrix.rows)
    return [f"{row.plan} ({row.place})" if times[row.plan] > 1 else row.plan for row in matrix.rows]


def _who(plans: dict[str, list[str]], open_plans: list[str]) -> Sentence:
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


def _not_judged(names: list[str]) -> Sentence:
    if not names:
        return []
    takes = f"that takes {MIN_REPEATS} trusted repeats of two targets"
    return [(f" Who is the fastest at {and_joined(names)} is not known: {takes}.", False)]

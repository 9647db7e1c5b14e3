"""Are changes found, and only where there are some? Simulated histories of 200 campaigns with 2 %
of noise, 400 histories a cell, by the product's own function.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.figures import GoalRow
from campaigns.domain.judged.changes import Change, course_of

TITLE = "Changes in histories, by simulation: 200 campaigns, CV 2 %, 400 histories a cell"
TRIALS = 400
CAMPAIGNS, STEP_AT = 200, 100
_CV = 0.02
_NEAR = 4  # campaigns: by how much a change may be misplaced, or come late
_OUTLIERS = (0.7, 1.3, 1.6, 3.0)
_MOST_FALSE, _LEAST_FOUND = 1.0, 0.90


@dataclass(frozen=True, slots=True)
class HistoryCase:
    """A kind of history: `step` up in its middle, a share of `outliers`, an even `drift` from its
    first campaign to its last, and a `weekend` of two days in seven, each as a share of the level.
    """

    step: float = 0.0
    outliers: float = 0.0
    drift: float = 0.0
    weekend: float = 0.0


_CALM = {
    "flat": HistoryCase(),
    "3 % outliers × 0.7 to 3": HistoryCase(outliers=0.03),
    "weekends +3 %": HistoryCase(weekend=0.03),
    "drift of 2 %": HistoryCase(drift=0.02),
    "drift of 5 %": HistoryCase(drift=0.05),
}
_STEPS = {
    "step of 2 %": (HistoryCase(step=0.02), None),
    "step of 5 %": (HistoryCase(step=0.05), _LEAST_FOUND),
    "… with 3 % outliers": (HistoryCase(step=0.05, outliers=0.03), _LEAST_FOUND),
    "… with weekends +3 %": (HistoryCase(step=0.05, weekend=0.03), _LEAST_FOUND),
    "… with a drift of 2 %": (HistoryCase(step=0.05, drift=0.02), _LEAST_FOUND),
    "step of 10 %": (HistoryCase(step=0.10), _LEAST_FOUND),
}


def measure() -> Iterator[GoalRow]:
    source = np.random.default_rng(20_261_122)
    for name, case in _CALM.items():
        yield _false_alarms(name, case, _MOST_FALSE, source)
    yield _false_alarms("drift of 10 %", HistoryCase(drift=0.10), None, source)
    for name, (case, goal) in _STEPS.items():
        yield _found(name, case, goal, source)
    for step, goal in ((0.05, _LEAST_FOUND), (0.10, _LEAST_FOUND)):
        for late in (3, _NEAR, 6):
            yield _in_time(step, late, goal if late == _NEAR else None, source)


def simulated(case: HistoryCase, source: np.random.Generator) -> np.ndarray:
    """One value for each campaign, shape (200,)."""
    nights = np.arange(CAMPAIGNS)
    values = 20.0 * np.exp(source.normal(0, _CV, CAMPAIGNS))
    values *= 1 + case.step * (nights >= STEP_AT)
    values *= 1 + case.drift * nights / CAMPAIGNS
    values *= 1 + case.weekend * (nights % 7 >= 5)
    is_odd = source.random(CAMPAIGNS) < case.outliers
    return np.where(is_odd, values * source.choice(_OUTLIERS, CAMPAIGNS), values)


def _false_alarms(
    name: str, case: HistoryCase, goal: float | None, source: np.random.Generator
) -> GoalRow:
    found = [len(_changes(simulated(case, source))) for _ in range(TRIALS)]
    false = float(np.mean(found))
    return GoalRow(
        f"no step, {name}",
        f"{false:.2f} changes in 200 campaigns",
        f"≤ {goal:g}" if goal else "",
        None if goal is None else false <= goal,
    )


def _found(
    name: str, case: HistoryCase, goal: float | None, source: np.random.Generator
) -> GoalRow:
    found = false = inside = covered = 0
    for _ in range(TRIALS):
        changes = _changes(simulated(case, source))
        near = next((each for each in changes if _is_near(each)), None)
        false += len(changes) - bool(near)
        if near:
            found += 1
            inside += near.earliest <= STEP_AT <= near.latest
            covered += near.low <= 1 + case.step <= near.high
    share = found / TRIALS
    sure = f", range right {inside / found:.0%}, size right {covered / found:.0%}" if found else ""
    return GoalRow(
        name,
        f"found {share:.1%}, {false / TRIALS:.2f} false{sure}",
        f"≥ {goal:.0%}, ≤ {_MOST_FALSE:g}" if goal else "",
        None if goal is None else share >= goal and false / TRIALS <= _MOST_FALSE,
    )


def _in_time(step: float, late: int, goal: float | None, source: np.random.Generator) -> GoalRow:
    """Told when so many campaigns have the new level."""
    case = HistoryCase(step=step)
    told = sum(
        any(_is_near(each) for each in _changes(simulated(case, source)[: STEP_AT + late]))
        for _ in range(TRIALS)
    )
    return GoalRow(
        f"step of {step:.0%}, {late} campaigns after it",
        f"told {told / TRIALS:.1%}",
        f"≥ {goal:.0%}" if goal else "",
        None if goal is None else told / TRIALS >= goal,
    )


def _changes(values: np.ndarray) -> tuple[Change, ...]:
    return course_of(values.tolist()).changes


def _is_near(change: Change) -> bool:
    return abs(change.index - STEP_AT) <= _NEAR

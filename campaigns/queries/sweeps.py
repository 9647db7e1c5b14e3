"""A campaign's sweeps: tests that differ only in the number of injectors."""

from collections.abc import Sequence

from campaigns.domain.measured.figures import Figures
from campaigns.domain.percentiles import P95, Shown, shown
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.sweep_table import SweepLine, sweep_table
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.arms import arm_words
from campaigns.queries.measured import pooled_of, target_state_of, trust_of


def sweep_answers(arms: Sequence[MeasuredTest]) -> list[SweepAnswer]:
    """One per plan and arm with several numbers of injectors."""
    groups: dict[tuple, list[MeasuredTest]] = {}
    for arm in arms:
        test = arm.test
        key = (test.plan_version_id, test.endpoint_id, test.connection_mode)
        groups.setdefault(key, []).append(arm)
    names_target = len({arm.test.endpoint.target_id for arm in arms}) > 1
    return [_answer(group, names_target) for group in groups.values() if len(group) > 1]


def _answer(group: list[MeasuredTest], names_target: bool) -> SweepAnswer:
    group = sorted(group, key=lambda arm: arm.test.injectors)
    first = group[0]
    target = f", {first.test.endpoint.target.name}" if names_target else ""
    title = f"{first.plan_label}: {arm_words(first.test)}{target}, by number of injector processes"
    lines = [
        SweepLine(
            arm.test.injectors,
            pooled_of(arm.runs)[1],
            trust_of(arm.runs),
            target_state_of(arm.runs),
        )
        for arm in group
    ]
    table = sweep_table(f"sweep-{first.test.pk}", title, lines)
    points = [_point(line.injectors, line.figures) for line in lines]
    return SweepAnswer(title, first.plan_label, table, points)


def _point(injectors: int, figures: Figures | None) -> dict:
    if figures is None:
        return {"injectors": injectors, "rate": None, "mean_ms": None, "p95_ms": None}
    is_shown = shown(figures.n, P95) is not Shown.NO
    return {
        "injectors": injectors,
        "rate": figures.rate_per_s,
        "mean_ms": None if figures.mean_us is None else figures.mean_us / 1000,
        "p95_ms": figures.percentiles[P95] / 1000 if is_shown else None,
    }

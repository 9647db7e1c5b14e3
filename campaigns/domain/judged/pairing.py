"""Which tests of two campaigns belong together: the same plan on the same arm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PlanOnArm:
    """What identifies a test from one campaign to the next; plan, endpoint and target by id.

    `swept`: the number of the plan that it is one point of a sweep of, "" if of none. `number`:
    what its runs have of any such number.
    """

    plan: int
    version: int
    plan_name: str
    endpoint: int
    target: int
    scheme: str
    connection_mode: str
    injectors: int
    tls_profile: str = ""
    swept: str = ""
    number: Callable[[str], float | None] = field(default=lambda _: None, compare=False)


def partners(
    baseline: Sequence[PlanOnArm], candidate: Sequence[PlanOnArm]
) -> list[tuple[int, int]]:
    """The pairs as (index in baseline, index in candidate), in the order of the candidate.

    Closest first, each test once: the same version of the plan before another version before
    another plan of the same name; then the same endpoint before the same target before another
    target, and of either with the same TLS profile first. Scheme, connection mode, number of
    injectors and what either sweeps must be equal.
    """
    of_baseline: set[int] = set()
    found: dict[int, int] = {}
    candidates = [
        (distance, second, first)
        for second, theirs in enumerate(candidate)
        for first, ours in enumerate(baseline)
        if (distance := _distance(ours, theirs)) is not None
    ]
    for _, second, first in sorted(candidates):
        if first not in of_baseline and second not in found:
            of_baseline.add(first)
            found[second] = first
    return [(found[second], second) for second in sorted(found)]


def _distance(first: PlanOnArm, second: PlanOnArm) -> tuple[int, int] | None:
    """How far apart the plans are and how far the arms; None for tests that have no relation."""
    if any(
        getattr(first, name) != getattr(second, name)
        for name in ("scheme", "connection_mode", "injectors")
    ):
        return None
    swept = filter(None, (first.swept, second.swept))
    if any(first.number(each) != second.number(each) for each in swept):
        return None
    plan = _first_true(
        (first.plan, first.version) == (second.plan, second.version),
        first.plan == second.plan,
        first.plan_name == second.plan_name,
    )
    if plan is None:
        return None
    same_target = first.target == second.target
    same_profile = first.tls_profile == second.tls_profile
    arm = _first_true(
        first.endpoint == second.endpoint,
        same_target and same_profile,
        same_target,
        same_profile,
        True,
    )
    return plan, arm


def _first_true(*answers: bool) -> int | None:
    return next((index for index, answer in enumerate(answers) if answer), None)

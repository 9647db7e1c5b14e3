"""Which tests of two campaigns belong together: the same plan on the same arm."""

from collections.abc import Callable, Iterator, Sequence
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
    for _, second, first in sorted(_candidates(baseline, candidate)):
        if first not in of_baseline and second not in found:
            of_baseline.add(first)
            found[second] = first
    return [(found[second], second) for second in sorted(found)]


def _candidates(
    baseline: Sequence[PlanOnArm], candidate: Sequence[PlanOnArm]
) -> Iterator[tuple[tuple[int, int], int, int]]:
    for second, theirs in enumerate(candidate):
        for first, ours in enumerate(baseline):
            distance = _distance(ours, theirs)
            if distance is not None:
                yield distance, second, first


def _distance(first: PlanOnArm, second: PlanOnArm) -> tuple[int, int] | None:
    """How far apart the plans are and how far the arms; None for tests that have no relation."""
    if (first.scheme, first.connection_mode, first.injectors) != (
        second.scheme,
        second.connection_mode,
        second.injectors,
    ):
        return None
    if any(first.number(swept) != second.number(swept) for swept in _swept_by(first, second)):
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


def _swept_by(*keys: PlanOnArm) -> set[str]:
    return {each.swept for each in keys if each.swept}


def _first_true(*answers: bool) -> int | None:
    return next((index for index, answer in enumerate(answers) if answer), None)
